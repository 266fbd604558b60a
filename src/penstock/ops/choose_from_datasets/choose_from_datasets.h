#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Elements of `num_datasets` inputs in the order that the one behind them, a
/// dataset of int64 numbers, says.
StatusOr<std::shared_ptr<const Operator>> make_choose_from_datasets(
    std::size_t num_datasets, bool stop_on_empty_dataset);

}  // namespace penstock::ops
