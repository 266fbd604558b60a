#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// start, start + step, ... as int64, without end.
StatusOr<std::shared_ptr<const Operator>> make_counter(std::int64_t start,
                                                       std::int64_t step);

}  // namespace penstock::ops
