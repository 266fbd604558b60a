#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// All but the first `count` elements; none when count is -1.
StatusOr<std::shared_ptr<const Operator>> make_skip(std::int64_t count);

}  // namespace penstock::ops
