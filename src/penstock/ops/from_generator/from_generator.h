#pragma once

#include "penstock/ops/from_source/sequential.h"

namespace penstock::ops {

/// The elements of generators; `open` makes one for each iteration.
StatusOr<std::shared_ptr<const Operator>> make_from_generator(
    SequentialFactory open, std::string identity, Spec spec,
    Cardinality cardinality);

}  // namespace penstock::ops
