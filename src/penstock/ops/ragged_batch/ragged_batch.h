#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Consecutive elements as one, without padding: leaves whose shape is not
/// fixed become ragged. `input` is the spec of the input dataset, which says
/// which leaves those are.
StatusOr<std::shared_ptr<const Operator>> make_ragged_batch(
    std::int64_t batch_size, bool drop_remainder, const Spec& input);

}  // namespace penstock::ops
