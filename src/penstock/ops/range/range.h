#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// start, start + step, ... as int64, while before stop.
StatusOr<std::shared_ptr<const Operator>> make_range(std::int64_t start,
                                                     std::int64_t stop,
                                                     std::int64_t step);

}  // namespace penstock::ops
