#pragma once

#include <vector>

#include "penstock/graph/operator.h"

namespace penstock::ops {

struct SampleOptions {
  /// One per dataset, in any unit; empty: all equal.
  std::vector<double> weights;
  std::optional<std::uint64_t> seed;
  /// True: the first dataset found at its end ends everything.
  bool stop_on_empty_dataset = false;
  bool rerandomize_each_iteration = false;
};

/// Each element from one of `num_datasets` inputs, drawn at random.
StatusOr<std::shared_ptr<const Operator>> make_sample_from_datasets(
    std::size_t num_datasets, SampleOptions options);

/// The narrowest spec of elements that come from any of `specs`.
StatusOr<Spec> common_spec(std::span<const Spec> specs);

}  // namespace penstock::ops
