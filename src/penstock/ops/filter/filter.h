#pragma once

#include "penstock/graph/operator.h"
#include "penstock/ops/function.h"
#include "penstock/ops/map/map.h"

namespace penstock::ops {

/// The elements for which `predicate` gives true.
StatusOr<std::shared_ptr<const Operator>> make_filter(FunctionRef predicate,
                                                      MapOptions options);

/// What `predicate` says about each row of `block`: 1, 0, or -1 for an error,
/// which is written into `block`.
StatusOr<std::vector<std::int8_t>> apply_predicate(const Function& predicate,
                                                   Block& block,
                                                   CallContext& context);

/// InvalidArgument unless the function may give a bool scalar.
Status check_predicate(const Function& predicate, const Spec& input);

}  // namespace penstock::ops
