// Loop nests over dense tensors that are read with strides.
//
// An operation over a block is one nest: rows first, then the element's
// dimensions, dimensions that are contiguous for every operand merged. Most
// nests end up as a single loop over all values of the block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "penstock/expr/value.h"

namespace penstock::expr {

template <std::size_t kOperands>
class Nest {
 public:
  /// Over `dims` (outermost first), with a stride per operand and dimension.
  void add(std::int64_t size, const std::array<std::int64_t, kOperands>& s) {
    if (size == 1) return;
    if (!dims_.empty()) {
      Dim& last = dims_.back();
      bool joins = true;
      for (std::size_t k = 0; k < kOperands; ++k) {
        joins = joins && last.strides[k] == s[k] * size;
      }
      if (joins) {
        last.size *= size;
        last.strides = s;
        return;
      }
    }
    dims_.push_back({size, s});
  }

  /// Calls f(offsets, inner strides, count, output offset) for each inner
  /// loop; offsets count values.
  template <class F>
  void run(F f) const {
    std::array<std::int64_t, kOperands> at{};
    if (dims_.empty()) {
      f(at, std::array<std::int64_t, kOperands>{}, std::int64_t{1},
        std::int64_t{0});
      return;
    }
    for (const Dim& dim : dims_) {
      if (dim.size == 0) return;
    }
    std::int64_t out = 0;
    recurse(0, at, out, f);
  }

  std::size_t depth() const { return dims_.size(); }

 private:
  struct Dim {
    std::int64_t size;
    std::array<std::int64_t, kOperands> strides;
  };

  template <class F>
  void recurse(std::size_t level, std::array<std::int64_t, kOperands> at,
               std::int64_t& out, F& f) const {
    const Dim& dim = dims_[level];
    if (level + 1 == dims_.size()) {
      f(at, dim.strides, dim.size, out);
      out += dim.size;
      return;
    }
    for (std::int64_t i = 0; i < dim.size; ++i) {
      recurse(level + 1, at, out, f);
      for (std::size_t k = 0; k < kOperands; ++k) at[k] += dim.strides[k];
    }
  }

  absl::InlinedVector<Dim, 4> dims_;
};

/// The nest over `rows` (if `batched`) and the element shape `out`, of
/// operands that broadcast to it.
template <std::size_t kOperands>
Nest<kOperands> broadcast_nest(
    bool batched, std::int64_t rows, const Shape& out,
    const std::array<const Value*, kOperands>& operands) {
  Nest<kOperands> nest;
  if (batched) {
    std::array<std::int64_t, kOperands> strides;
    for (std::size_t k = 0; k < kOperands; ++k) {
      strides[k] = operands[k]->batched ? operands[k]->element_size() : 0;
    }
    nest.add(rows, strides);
  }
  std::array<absl::InlinedVector<std::int64_t, 4>, kOperands> all;
  for (std::size_t k = 0; k < kOperands; ++k) {
    const Shape shape = operands[k]->element_shape();
    all[k].assign(out.rank(), 0);
    std::int64_t stride = 1;
    for (std::size_t i = shape.rank(); i-- > 0;) {
      if (shape[i] != 1) all[k][out.rank() - shape.rank() + i] = stride;
      stride *= shape[i];
    }
  }
  for (std::size_t i = 0; i < out.rank(); ++i) {
    std::array<std::int64_t, kOperands> strides;
    for (std::size_t k = 0; k < kOperands; ++k) strides[k] = all[k][i];
    nest.add(out[i], strides);
  }
  return nest;
}

}  // namespace penstock::expr
