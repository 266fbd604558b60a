#pragma once

#include <string>

#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

/// A file of at most so many bytes is checked before its first element is given
/// out; of a larger one each block is checked when it is read.
constexpr std::int64_t kCheckedBytes = std::int64_t{1} << 30;

/// The input, kept in memory from its first complete pass on.
StatusOr<std::shared_ptr<const Operator>> make_cache();
/// The same in the file `path`, of which there is one writer at a time.
StatusOr<std::shared_ptr<const Operator>> make_file_cache(
    std::string path, FileSystem& fs = FileSystem::local(),
    std::int64_t max_checked = kCheckedBytes);
/// The same in the directory `path`; while one pass writes, others compute for
/// themselves.
StatusOr<std::shared_ptr<const Operator>> make_snapshot(
    std::string path, FileSystem& fs = FileSystem::local());

}  // namespace penstock::ops
