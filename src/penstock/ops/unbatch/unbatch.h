#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Every row of an element's first dimension as an element.
StatusOr<std::shared_ptr<const Operator>> make_unbatch(const Spec& input);

/// The rows of one element: its leaves, seen along their first dimension. No
/// payload is copied. InvalidArgument if they disagree about how many.
StatusOr<Block> rows_of(const Element& element, const PathRef& path);

/// Spec of the rows; `rows` becomes their number if the spec knows it.
StatusOr<Spec> row_spec(const Spec& spec, std::optional<std::int64_t>& rows);

}  // namespace penstock::ops
