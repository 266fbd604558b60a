// The operator behind every source of a user that is read by index.
#pragma once

#include <string>

#include "penstock/graph/operator.h"
#include "penstock/ops/from_source/source.h"

namespace penstock::ops {

/// `op` is the method that made it: "from_indexable".
StatusOr<std::shared_ptr<const Operator>> make_random_access(
    std::shared_ptr<const RandomAccessSource> source, std::string op);

}  // namespace penstock::ops
