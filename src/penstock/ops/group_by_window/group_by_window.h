#pragma once

#include <functional>

#include "penstock/graph/operator.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

struct GroupByWindowOptions {
  /// Elements of one window.
  std::int64_t window_size = 0;
  /// Or a size for each key; called once per key.
  std::function<std::int64_t(std::int64_t)> window_size_func;
  /// Under which the stage is shown.
  std::string_view op = "group_by_window";
};

/// Elements of equal key are collected to windows; `reduce(key, window)`, a
/// function of an int64 and a nested dataset, makes a dataset of each.
StatusOr<std::shared_ptr<const Operator>> make_group_by_window(
    FunctionRef key, DatasetFunctionRef reduce, GroupByWindowOptions options);

}  // namespace penstock::ops
