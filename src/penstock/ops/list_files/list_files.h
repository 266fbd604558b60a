#pragma once

#include <string>
#include <vector>

#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

/// The names of the files that match, pattern after pattern, sorted within
/// each. NotFound if a pattern matches none.
StatusOr<std::shared_ptr<const Operator>> make_list_files(
    std::vector<std::string> patterns, FileSystem& fs = FileSystem::local());

/// The names as they are, under the operator's name.
std::shared_ptr<const Operator> make_file_names(std::vector<std::string> names);

}  // namespace penstock::ops
