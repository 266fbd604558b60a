#pragma once

#include <cstdint>
#include <vector>

#include "penstock/graph/operator.h"

namespace penstock::ops {

struct PackOptions {
  /// Of a row; one for each leaf, or one for all.
  std::vector<std::int64_t> lengths;
  /// Rows being filled at once.
  std::int64_t num_open = 1;
  bool split_long = false;
  /// As padded_batch takes them.
  std::vector<Tensor> padding_values;
  bool drop_remainder = false;
};

/// Several sequences per row, with segment ids and positions.
StatusOr<std::shared_ptr<const Operator>> make_pack(PackOptions options);

}  // namespace penstock::ops
