#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

using IndexFunction = std::function<StatusOr<Element>(std::int64_t)>;

/// fn(0), fn(1), ... fn(size - 1).
StatusOr<std::shared_ptr<const Operator>> make_from_indexable(
    std::int64_t size, IndexFunction fn, std::string identity, Spec spec);

}  // namespace penstock::ops
