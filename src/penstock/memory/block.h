// Consecutive elements that travel together: the unit of scheduling.
//
// A block stores one Column per leaf. A column is packed where all values have
// one shape (one [n, ...] tensor) and loose otherwise (n tensors). Elements of
// different structure fall back to a list of elements. An error takes the
// place of its element. A block is written by one worker and immutable once it
// is shared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "penstock/base/ref.h"
#include "penstock/memory/element.h"
#include "penstock/memory/error.h"
#include "penstock/memory/ledger.h"
#include "penstock/memory/origin.h"

namespace penstock {

class Column {
 public:
  Column() = default;
  explicit Column(Tensor packed) : packed_(std::move(packed)) {}
  explicit Column(std::vector<Tensor> rows) : rows_(std::move(rows)) {}

  bool packed() const { return packed_.defined(); }
  /// [n, ...]; requires packed().
  const Tensor& tensor() const { return packed_; }
  Tensor& tensor() { return packed_; }
  /// Requires !packed().
  const std::vector<Tensor>& rows() const { return rows_; }
  std::vector<Tensor>& rows() { return rows_; }
  Tensor row(std::int64_t i) const {
    return packed() ? packed_.row(i) : rows_[static_cast<std::size_t>(i)];
  }
  void row_into(std::int64_t i, Tensor& out) const {
    if (packed()) {
      packed_.row_into(i, out);
    } else {
      out = rows_[static_cast<std::size_t>(i)];
    }
  }
  Column slice(std::int64_t begin, std::int64_t end) const;
  std::int64_t byte_size() const;

 private:
  Tensor packed_;
  std::vector<Tensor> rows_;
};

class Block {
 public:
  using Columns = absl::InlinedVector<Column, 1>;
  /// (row, error), rising.
  using Errors = std::vector<std::pair<std::int64_t, ErrorRef>>;

  Block() = default;
  Block(const Structure* structure, Columns columns, std::int64_t size,
        Origins origins)
      : structure_(structure),
        columns_(std::move(columns)),
        size_(size),
        origins_(std::move(origins)) {}

  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Null when elements differ in structure (mixed()), or all are errors.
  const Structure* structure() const { return structure_; }
  const Columns& columns() const { return columns_; }
  Columns& columns() { return columns_; }
  const Column& column(std::size_t i) const { return columns_[i]; }
  bool mixed() const { return !elements_.empty(); }
  const std::vector<Element>& elements() const { return elements_; }

  const Origins& origins() const { return origins_; }
  void set_origins(Origins origins) { origins_ = std::move(origins); }
  const Errors& errors() const { return errors_; }
  Errors& errors() { return errors_; }
  /// The error at `row`, or null.
  const ElementError* error_at(std::int64_t row) const;
  ErrorRef error_ref(std::int64_t row) const;

  /// Element `row`; undefined if there is an error in its place.
  Element element(std::int64_t row) const {
    Element out;
    read_element(row, out);
    return out;
  }
  /// The same into `out`, without moving tensors about.
  void read_element(std::int64_t row, Element& out) const;
  std::int64_t byte_size() const;

  /// Rows [begin, end), sharing memory.
  Block slice(std::int64_t begin, std::int64_t end) const;
  /// The given rows; copies small packed values, shares the rest.
  StatusOr<Block> gather(std::span<const std::int64_t> rows) const;
  /// The same elements in another order of storage: each column replaced.
  void replace(const Structure* structure, Columns columns) {
    structure_ = structure;
    columns_ = std::move(columns);
    elements_.clear();
  }
  /// Keeps only the rows listed, and copies them where they would keep much
  /// more alive.
  Status keep(std::span<const std::int64_t> rows);

 private:
  friend class BlockBuilder;
  friend StatusOr<Block> join_blocks(std::span<const Block> parts);

  const Structure* structure_ = nullptr;
  Columns columns_;
  std::vector<Element> elements_;  // only when structures differ
  std::int64_t size_ = 0;
  Origins origins_;
  Errors errors_;
};

/// A block that several hold, with the bytes charged for it. Behind a BlockRef
/// it does not change, but for its last holder, who may take the block out.
class SharedBlock final : public RefCounted<SharedBlock> {
 public:
  explicit SharedBlock(Block held, Charge charged = {})
      : block(std::move(held)), charge(std::move(charged)) {}
  Block block;
  /// The only holder may take it, with the block.
  mutable Charge charge;
};
using BlockRef = Ref<const SharedBlock>;

/// Collects elements one by one and packs what can be packed.
class BlockBuilder {
 public:
  void reserve(std::int64_t n);
  void add(Element element, Origin origin);
  void add_error(ErrorRef error, Origin origin);
  /// Without origins: set them on the finished block.
  void add(Element element);
  void add_error(ErrorRef error);
  std::int64_t size() const { return size_; }
  StatusOr<Block> finish();

 private:
  std::int64_t size_ = 0;
  bool uniform_ = true;
  const Structure* structure_ = nullptr;
  std::vector<Element> elements_;
  Block::Errors errors_;
  OriginsBuilder origins_;
};

/// One block of all parts' elements, in order. Copies packed values at most
/// once, and not at all where they already lie side by side in memory.
StatusOr<Block> join_blocks(std::span<const Block> parts);

/// The given rows of a [n, ...] tensor, copied. No objects.
StatusOr<Tensor> gather_rows(const Tensor& packed,
                             std::span<const std::int64_t> rows);

/// One [n, ...] tensor of n equal tensors; a view where they lie side by side.
/// Requires equal dtype and shape, no objects.
StatusOr<Tensor> stack_tensors(std::span<const Tensor> rows);

/// From this on a row or string is shared instead of copied.
constexpr std::int64_t kMaxCopiedRow = 16 * 1024;

/// `values` in one tensor: copied, or shared where they are long and fill at
/// least half of the memory that `owners` give.
StatusOr<Tensor> join_strings(
    std::span<const std::string_view> values, const Shape& shape,
    const std::function<std::vector<Ref<Buffer>>()>& owners);

}  // namespace penstock
