// The second half of flat_map, interleave and group_by_window: the order in
// which the elements of nested datasets follow each other.
#pragma once

#include <limits>
#include <optional>

#include "penstock/graph/operator.h"

namespace penstock::ops {

struct MergeOptions {
  /// Datasets that take turns.
  std::int64_t cycle_length = 1;
  /// Elements of one turn.
  std::int64_t block_length = std::numeric_limits<std::int64_t>::max();
  /// False: whichever dataset has an element goes first. Unset: as the options
  /// say.
  std::optional<bool> deterministic = true;
  /// Opened datasets that are worked on at once; 0 is no cap.
  int max_active = 0;
};

/// Takes what make_expand() gives.
std::shared_ptr<const Sequencer> make_merge(MergeOptions options);

}  // namespace penstock::ops
