// What a packed row looks like: which sequences lie in it, and how they become
// tensors. Immutable and without state; both parts of pack share it.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/graph/operator.h"
#include "penstock/ops/pack/pack.h"

namespace penstock::ops {

/// The sequences of one row in their order, on their way to the worker that
/// writes it.
class PackedRow final : public Object {
 public:
  struct Piece {
    Rows row;               // one element
    std::int64_t part = 0;  // of a sequence that was split
  };
  explicit PackedRow(std::vector<Piece> pieces) : pieces(std::move(pieces)) {}
  std::string to_string() const override { return "<packed row>"; }
  const std::vector<Piece> pieces;
};

class PackLayout {
 public:
  explicit PackLayout(PackOptions options) : options_(std::move(options)) {}

  const PackOptions& options() const { return options_; }
  std::int64_t length(std::size_t leaf) const {
    return options_.lengths.size() == 1 ? options_.lengths[0]
                                        : options_.lengths[leaf];
  }
  /// Spec of a row; InvalidArgument if elements of `input` cannot be packed.
  StatusOr<Spec> output_spec(const Spec& input) const;
  /// Lengths of the sequences of an element; fails if it cannot be packed.
  Status measure(const Element& element,
                 absl::InlinedVector<std::int64_t, 4>& lengths) const;
  /// How many pieces sequences of these lengths become; at least 1.
  std::int64_t parts(std::span<const std::int64_t> lengths) const;
  /// Values of leaf `i` in piece `part` of an element with these lengths.
  std::int64_t part_length(std::span<const std::int64_t> lengths,
                           std::size_t leaf, std::int64_t part) const;
  /// The row as an element.
  StatusOr<Element> write(const PackedRow& row) const;

 private:
  Status check_leaves(std::size_t leaves) const;
  const Tensor* padding(std::size_t leaf) const;
  StatusOr<Tensor> write_values(std::span<const Tensor> pieces,
                                std::size_t leaf) const;

  PackOptions options_;
};

/// Structure of the rows of packed elements.
StatusOr<const Structure*> packed_structure(const Structure* element);

}  // namespace penstock::ops
