// A value while a program runs: one tensor per row, or one for all rows.
#pragma once

#include <utility>
#include <vector>

#include "penstock/memory/tensor.h"

namespace penstock::expr {

struct Value {
  Tensor tensor;
  /// [rows, ...]; else the same for every row.
  bool batched = false;
  std::vector<Value> results;  // of a native operation, instead of `tensor`
  std::vector<Tensor> rows;    // where shapes differ, instead of `tensor`

  Shape element_shape() const {
    return batched ? tensor.shape().without_first() : tensor.shape();
  }
  std::int64_t element_size() const {
    std::int64_t n = 1;
    for (const std::int64_t d :
         tensor.shape().dims().subspan(batched ? 1 : 0)) {
      n *= d;
    }
    return n;
  }
};

/// (row, what went wrong), in any order.
using RowErrors = std::vector<std::pair<std::int64_t, Status>>;

}  // namespace penstock::expr
