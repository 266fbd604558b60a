#pragma once

#include <string>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// The input, kept in memory from its first complete pass on.
StatusOr<std::shared_ptr<const Operator>> make_cache();

}  // namespace penstock::ops
