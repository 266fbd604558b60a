// Names of files by pattern.
//
//   *   any characters but '/'      ?      one character but '/'
//   **  a whole part of the path:   [a-z]  one of these, [!a-z] none of these
//       any number of directories
//       (not through links)
// Names that begin with '.' match only patterns that do, as in a shell. The
// result is sorted by bytes, so it does not depend on the file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/io/file.h"

namespace penstock {

/// Whether `name` has characters that make it a pattern.
bool is_glob(std::string_view name);

/// Whether one part of a path (no '/') matches.
bool glob_match(std::string_view pattern, std::string_view name);

/// Files (not directories) that match, sorted; empty if there are none.
StatusOr<std::vector<std::string>> glob(FileSystem& fs,
                                        const std::string& pattern);

/// The files that `names` mean: a file of that very name, or else what matches
/// the pattern, in the order of `names`. NotFound if one of them has none,
/// InvalidArgument if it is a pattern of the net; a plain name is not looked
/// at.
StatusOr<std::vector<std::string>> expand_names(
    FileSystem& fs, const std::vector<std::string>& names);

}  // namespace penstock
