#pragma once

#include "penstock/graph/operator.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

/// The elements before the first for which `predicate` gives false.
StatusOr<std::shared_ptr<const Operator>> make_take_while(
    FunctionRef predicate);

}  // namespace penstock::ops
