#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Every element `times` times, one after the other. A template to copy: it is
/// built and tested, but no Dataset method leads to it.
StatusOr<std::shared_ptr<const Operator>> make_skeleton(std::int64_t times);

}  // namespace penstock::ops
