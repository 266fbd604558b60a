#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// At most `n` elements ahead of the next stage; AUTOTUNE: within the budget.
StatusOr<std::shared_ptr<const Operator>> make_prefetch(std::int64_t n);

/// Carries options; changes no element.
StatusOr<std::shared_ptr<const Operator>> make_with_options(Options options);

}  // namespace penstock::ops
