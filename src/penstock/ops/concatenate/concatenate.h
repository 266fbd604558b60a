#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// The elements of the first input, then those of the second.
StatusOr<std::shared_ptr<const Operator>> make_concatenate();

}  // namespace penstock::ops
