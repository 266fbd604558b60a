// The strings of a block's only leaf, row by row.
#pragma once

#include <string_view>
#include <vector>

#include "penstock/memory/block.h"
#include "penstock/memory/spec.h"

namespace penstock::ops {

/// One view per row, empty where there is an error. InvalidArgument unless
/// every element is a scalar string. The views live as long as the block.
StatusOr<std::vector<std::string_view>> strings_of(const Block& block);
/// Rows with errors, rising.
std::vector<std::int64_t> error_rows(const Block& block);
/// OK if elements of `spec` may be scalar strings.
Status check_strings_spec(const Spec& spec);

}  // namespace penstock::ops
