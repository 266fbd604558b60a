#pragma once

#include "penstock/graph/operator.h"
#include "penstock/ops/flat_map/merge.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

/// The elements of the datasets that `fn` makes of each element, in order.
StatusOr<std::shared_ptr<const Operator>> make_flat_map(DatasetFunctionRef fn);

/// The parts that flat_map, interleave and group_by_window share.
std::vector<Part> nested_parts(const DatasetFunctionRef& fn, int max_parallel,
                               const MergeOptions& options);

/// How many elements the datasets made from `outer` elements have together.
Cardinality nested_cardinality(Cardinality outer);

}  // namespace penstock::ops
