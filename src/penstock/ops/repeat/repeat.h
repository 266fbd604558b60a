#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// The input `count` times over; without end when count is -1.
StatusOr<std::shared_ptr<const Operator>> make_repeat(std::int64_t count);

}  // namespace penstock::ops
