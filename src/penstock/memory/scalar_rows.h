// The rows of a block that holds nothing but numbers of rank 0, as elements:
// the shortest way from a block to a consumer who takes one element at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "penstock/memory/block.h"
#include "penstock/memory/element.h"

namespace penstock {

class ScalarRows {
 public:
  /// Looks at `block`, which must outlive all calls of read(). False, and none
  /// may follow, if it holds anything else, or an error.
  bool view(const Block& block) {
    columns_.clear();
    structure_ = block.structure();
    if (block.mixed() || !block.errors().empty()) return false;
    for (const Column& column : block.columns()) {
      if (!column.packed()) return false;
      const Tensor& packed = column.tensor();
      const std::size_t width = dtype_size(packed.dtype());
      if (packed.rank() != 1 || width == 0) return false;
      columns_.push_back({packed.data(), width, packed.dtype()});
    }
    return !columns_.empty();
  }

  /// Row `row` into `out`, which must be empty.
  void read(std::int64_t row, Element& out) const {
    out.set_structure(structure_);
    Element::Leaves& leaves = out.mutable_leaves();
    leaves.resize(columns_.size());
    auto leaf = leaves.begin();
    for (const Numbers& column : columns_) {
      leaf->become_scalar(
          column.dtype,
          column.first + static_cast<std::size_t>(row) * column.width);
      ++leaf;
    }
  }

 private:
  struct Numbers {
    const std::byte* first;
    std::size_t width;
    DType dtype;
  };
  const Structure* structure_ = nullptr;
  absl::InlinedVector<Numbers, 2> columns_;
};

}  // namespace penstock
