#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

struct WindowOptions {
  std::int64_t size = 0;
  std::int64_t shift = 0;
  std::int64_t stride = 1;
  bool drop_remainder = false;
};

/// Windows of elements as nested datasets, one for each leaf.
StatusOr<std::shared_ptr<const Operator>> make_window(WindowOptions options);

}  // namespace penstock::ops
