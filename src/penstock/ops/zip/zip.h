#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Element i of every input as one, until the shortest input ends.
/// `structure` says how they nest: its leaves stand for the inputs, in order.
StatusOr<std::shared_ptr<const Operator>> make_zip(const Structure* structure);

}  // namespace penstock::ops
