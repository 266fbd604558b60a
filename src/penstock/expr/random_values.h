// Random values of one call inside a function, keyed to its element.
#pragma once

#include <cstdint>

#include "penstock/base/status.h"
#include "penstock/expr/op.h"
#include "penstock/memory/tensor.h"

namespace penstock::expr {

/// Fills `n` values at `out`: the `call`-th call of the function that runs
/// for the element with `key`. `bound` only for kBelow, where it is > 0. The
/// values depend on nothing else, so traced and plain functions agree.
void fill_random(RandomKind kind, DType dtype, std::uint64_t key,
                 std::uint64_t call, std::int64_t bound, std::int64_t n,
                 std::byte* out);

/// Key of the `call`-th call, for a native operation that draws by itself.
std::uint64_t native_key(std::uint64_t key, std::uint64_t call);

}  // namespace penstock::expr
