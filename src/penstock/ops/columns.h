// Elements widened by one value, and narrowed again.
#pragma once

#include "penstock/memory/block.h"

namespace penstock::ops {

enum class Side : std::uint8_t { kFront, kBack };

/// Every element x of `block` becomes (v, x) or (x, v), v from the rank-1
/// tensor `values`. Errors, their places and origins stay.
Status widen(Block& block, const Tensor& values, Side side);

/// The first component of every element, which must be a tuple.
Status narrow_to_first(Block& block);

}  // namespace penstock::ops
