#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

/// The names that `files` gives, in another order in each iteration: for a node
/// on that source, and under the same operator's name.
std::shared_ptr<const Operator> make_shuffled_files(
    const Operator& files, std::optional<std::uint64_t> seed);

}  // namespace penstock::ops
