#pragma once

#include <vector>

#include "penstock/graph/operator.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

struct RejectionResampleOptions {
  /// Share of each class in the result.
  std::vector<double> target_dist;
  /// Share of each class in the input; empty: estimated while it runs.
  std::vector<double> initial_dist;
  std::optional<std::uint64_t> seed;
};

/// (class, element) of elements drawn so that classes have the target shares.
StatusOr<std::shared_ptr<const Operator>> make_rejection_resample(
    FunctionRef class_func, RejectionResampleOptions options);

}  // namespace penstock::ops
