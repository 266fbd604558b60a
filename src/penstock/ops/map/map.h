#pragma once

#include "penstock/graph/operator.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

struct MapOptions {
  std::int64_t num_parallel_calls = kAutotune;
  std::optional<bool> deterministic;
  ErrorPolicy on_error;
};

/// `fn` of every element.
StatusOr<std::shared_ptr<const Operator>> make_map(FunctionRef fn,
                                                   MapOptions options);

/// num_parallel_calls as a cap: 0 for AUTOTUNE, InvalidArgument below 1.
StatusOr<int> parallel_cap(std::string_view op, std::int64_t calls,
                           std::string_view parameter = "num_parallel_calls");

}  // namespace penstock::ops
