#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// (start + position, element) for every element.
StatusOr<std::shared_ptr<const Operator>> make_enumerate(std::int64_t start);

}  // namespace penstock::ops
