#pragma once

#include <vector>

#include "penstock/graph/operator.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

struct BucketOptions {
  /// Rising; bucket i takes lengths in [boundaries[i - 1], boundaries[i]).
  std::vector<std::int64_t> boundaries;
  /// One per bucket: one more than there are boundaries.
  std::vector<std::int64_t> batch_sizes;
  /// As padded_batch takes them.
  std::vector<PartialShape> padded_shapes;
  std::vector<Tensor> padding_values;
  const Structure* padded_shapes_as = nullptr;
  const Structure* padding_values_as = nullptr;
  /// Pads open dimensions to the longest length of the bucket.
  bool pad_to_bucket_boundary = false;
  bool no_padding = false;
  bool drop_remainder = false;
};

/// Batches of elements of similar length, over an input of `spec`.
StatusOr<std::shared_ptr<const Operator>> make_bucket_by_sequence_length(
    FunctionRef length, const Spec& spec, BucketOptions options);

}  // namespace penstock::ops
