#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// One element.
StatusOr<std::shared_ptr<const Operator>> make_from_tensors(Element element);

}  // namespace penstock::ops
