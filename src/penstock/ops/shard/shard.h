#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Every num_shards-th element, beginning with element `index`.
StatusOr<std::shared_ptr<const Operator>> make_shard(std::int64_t num_shards,
                                                     std::int64_t index);

}  // namespace penstock::ops
