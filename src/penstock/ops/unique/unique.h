#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// The elements that have not been seen before.
StatusOr<std::shared_ptr<const Operator>> make_unique_op();

}  // namespace penstock::ops
