#pragma once

#include <vector>

#include "penstock/graph/operator.h"

namespace penstock::ops {

struct PaddedBatchOptions {
  /// Shape of each leaf, in order; kUnknownDim pads to the longest of the
  /// batch. Empty, or unknown rank for a leaf: what the input's spec says,
  /// and the longest where that is open.
  std::vector<PartialShape> padded_shapes;
  /// Rank-0 value for each leaf, or one for all; an undefined one stands for
  /// 0 or "". Empty: that for every leaf.
  /// A number written without a dtype becomes the leaf's (literal_as).
  std::vector<Tensor> padding_values;
  /// How they nest, where the input's spec does not tell: by key, and one in
  /// place of a component for all of it. Null: leaf by leaf.
  const Structure* padded_shapes_as = nullptr;
  const Structure* padding_values_as = nullptr;
  bool drop_remainder = false;
};

/// Consecutive elements padded to one shape and stacked.
StatusOr<std::shared_ptr<const Operator>> make_padded_batch(
    std::int64_t batch_size, PaddedBatchOptions options);

}  // namespace penstock::ops
