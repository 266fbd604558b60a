// The second half of flat_map, interleave and group_by_window: the order in
// which the elements of nested datasets follow each other.
#pragma once

#include <limits>

#include "penstock/graph/operator.h"

namespace penstock::ops {

struct MergeOptions {
  /// Datasets that take turns.
  std::int64_t cycle_length = 1;
  /// Elements of one turn.
  std::int64_t block_length = std::numeric_limits<std::int64_t>::max();
};

/// Takes what make_expand() gives.
std::shared_ptr<const Sequencer> make_merge(MergeOptions options);

}  // namespace penstock::ops
