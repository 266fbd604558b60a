#pragma once

#include <vector>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Batches of other sizes, taken in turn: unbatch() and batch() in one.
StatusOr<std::shared_ptr<const Operator>> make_rebatch(
    std::vector<std::int64_t> batch_sizes, bool drop_remainder,
    const Spec& input);

}  // namespace penstock::ops
