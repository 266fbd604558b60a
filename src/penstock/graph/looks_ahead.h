// For sequencers that know how many rows of their first input are worth having.
#pragma once

#include <cstdint>

#include "penstock/graph/operator.h"

namespace penstock {

/// Where nothing else bounds the input it runs ahead as far as its bytes allow.
/// Rows that will hold more than their bytes say should wait there in such
/// numbers only as are needed soon.
class LooksAhead {
 public:
  static constexpr std::int64_t kAllRows = -1;

  virtual ~LooksAhead() = default;
  /// Rows of input 0 to have ready or under way, or kAllRows. Asked after each
  /// run of steps: must be cheap.
  virtual std::int64_t rows_worth_having(const SequencerState& state) const = 0;
};

}  // namespace penstock
