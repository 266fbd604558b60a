#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// The first `count` elements; all of them when count is -1.
StatusOr<std::shared_ptr<const Operator>> make_take(std::int64_t count);

}  // namespace penstock::ops
