#pragma once

#include <optional>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Random int64 in [0, 2^32), without end.
StatusOr<std::shared_ptr<const Operator>> make_random(
    std::optional<std::uint64_t> seed, bool rerandomize_each_iteration);

}  // namespace penstock::ops
