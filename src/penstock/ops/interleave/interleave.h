#pragma once

#include "penstock/graph/operator.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

/// cycle_length = AUTOTUNE: the same on every machine, because the order of
/// the elements depends on it.
constexpr std::int64_t kDefaultCycleLength = 16;

struct InterleaveOptions {
  std::int64_t cycle_length = kAutotune;
  std::int64_t block_length = 1;
  std::int64_t num_parallel_calls = kAutotune;
  std::optional<bool> deterministic;
};

/// The elements of the datasets that `fn` makes of each element, in turns.
StatusOr<std::shared_ptr<const Operator>> make_interleave(
    DatasetFunctionRef fn, InterleaveOptions options);

}  // namespace penstock::ops
