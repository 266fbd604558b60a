#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Slices along the first dimension of all tensors of `element`; of ragged
/// values their rows.
StatusOr<std::shared_ptr<const Operator>> make_from_tensor_slices(
    Element element);

}  // namespace penstock::ops
