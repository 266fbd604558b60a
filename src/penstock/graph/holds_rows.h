// For sequencers whose state keeps Rows.
#pragma once

#include <cstdint>

#include "penstock/graph/operator.h"

namespace penstock {

/// Rows are charged as long as they live, so Sequencer::held_bytes() leaves
/// them out. What a state keeps of them tells the runtime when only this stage
/// could let bytes go.
class HoldsRows {
 public:
  virtual ~HoldsRows() = default;
  /// Bytes of the rows kept. Asked as often as held_bytes(): must be cheap.
  virtual std::int64_t row_bytes(const SequencerState& state) const = 0;
};

}  // namespace penstock
