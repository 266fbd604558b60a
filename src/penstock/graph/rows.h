// Rows that a sequencer passes on without touching their payload.
//
// Rows name elements of a block that exists, or elements of an indexed chain
// that nobody has computed yet. A sequencer slices and reorders Rows; the
// segment behind it turns them into a block, in parallel.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "penstock/base/ref.h"
#include "penstock/graph/mark.h"
#include "penstock/memory/block.h"

namespace penstock {

/// A run of output indices of an indexed chain.
struct IndexRun {
  PathRef path;
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
  /// When set, the indices themselves; begin and step do not count.
  std::shared_ptr<const std::vector<std::int64_t>> list;

  std::int64_t at(std::int64_t i) const {
    return list ? (*list)[static_cast<std::size_t>(i)] : begin + i * step;
  }
};

class Rows {
 public:
  Rows() = default;
  /// All rows of `block`.
  explicit Rows(BlockRef block)
      : block_(std::move(block)), count_(block_->block.size()) {}
  /// Chain indices [begin, begin + count), computed later.
  static Rows lazy(std::int64_t begin, std::int64_t count) {
    Rows rows;
    rows.begin_ = begin;
    rows.count_ = count;
    return rows;
  }
  /// Listed rows of `block`, or of the chain when `block` is null.
  static Rows listed(BlockRef block, std::vector<std::int64_t> list) {
    Rows rows;
    rows.block_ = std::move(block);
    rows.count_ = static_cast<std::int64_t>(list.size());
    rows.list_ =
        std::make_shared<const std::vector<std::int64_t>>(std::move(list));
    return rows;
  }

  std::int64_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool is_lazy() const { return !block_; }
  /// Requires !is_lazy().
  const Block& block() const { return block_->block; }
  const BlockRef& block_ref() const { return block_; }
  /// Row number inside the block (or chain index) of row `i`.
  std::int64_t at(std::int64_t i) const {
    return list_ ? (*list_)[static_cast<std::size_t>(begin_ + i)] : begin_ + i;
  }
  bool contiguous() const { return list_ == nullptr; }
  Rows slice(std::int64_t begin, std::int64_t end) const {
    Rows out = *this;
    out.begin_ += begin;
    out.count_ = end - begin;
    return out;
  }
  /// Rough payload bytes of these rows.
  std::int64_t byte_size() const {
    if (!block_ || block_->block.empty()) return 8 * count_;
    return block_->charge.bytes() * count_ / block_->block.size();
  }
  /// The rows as a block of their own (contiguous ones share memory).
  StatusOr<Block> materialize() const;
  /// The same, where these rows are not used any more: a whole block that
  /// nobody else holds is moved. Its bytes stay charged until the rows are
  /// gone.
  StatusOr<Block> take_block();
  /// The block itself with its charge, to be changed, if these are all of its
  /// rows and nobody else holds it; they are gone then. Else null.
  Ref<SharedBlock> take_whole();
  /// As if it were new.
  void reset() {
    block_.reset();
    begin_ = count_ = 0;
    if (list_) list_.reset();
  }

 private:
  bool whole_and_unshared() const;

  BlockRef block_;
  std::int64_t begin_ = 0;
  std::int64_t count_ = 0;
  std::shared_ptr<const std::vector<std::int64_t>> list_;
};

/// One block of all rows of `parts`, in order; none may be lazy. For many short
/// pieces of a few blocks: a row costs one small copy, not a block.
StatusOr<Block> join_rows(std::span<const Rows> parts);

/// The pieces of an item: nearly always one, which costs no allocation and
/// little to move. Blocks change hands under the run's lock.
class RowParts {
 public:
  RowParts() = default;
  RowParts(const RowParts& other)
      : one_(other.one_),
        has_one_(other.has_one_),
        many_(other.many_ ? std::make_unique<std::vector<Rows>>(*other.many_)
                          : nullptr) {}
  RowParts& operator=(const RowParts& other) { return *this = RowParts(other); }
  RowParts(RowParts&& other) noexcept
      : one_(std::move(other.one_)),
        has_one_(std::exchange(other.has_one_, false)),
        many_(std::move(other.many_)) {}
  RowParts& operator=(RowParts&& other) noexcept {
    one_ = std::move(other.one_);
    has_one_ = std::exchange(other.has_one_, false);
    many_ = std::move(other.many_);
    return *this;
  }

  std::size_t size() const { return many_ ? many_->size() : has_one_; }
  bool empty() const { return size() == 0; }
  const Rows* data() const { return many_ ? many_->data() : &one_; }
  Rows* data() { return many_ ? many_->data() : &one_; }
  const Rows* begin() const { return data(); }
  const Rows* end() const { return data() + size(); }
  Rows* begin() { return data(); }
  Rows* end() { return data() + size(); }
  const Rows& operator[](std::size_t i) const { return data()[i]; }
  Rows& operator[](std::size_t i) { return data()[i]; }
  const Rows& front() const { return *data(); }
  Rows& front() { return *data(); }

  void push_back(Rows rows) {
    if (!many_ && !has_one_) {
      one_ = std::move(rows);
      has_one_ = true;
      return;
    }
    if (!many_) {
      many_ = std::make_unique<std::vector<Rows>>();
      many_->push_back(std::move(one_));
      has_one_ = false;
    }
    many_->push_back(std::move(rows));
  }
  void drop_first(std::size_t n) {
    if (n == size()) {
      clear();
    } else if (n > 0) {
      many_->erase(many_->begin(),
                   many_->begin() + static_cast<std::ptrdiff_t>(n));
    }
  }
  void clear() {
    if (has_one_) one_.reset();
    has_one_ = false;
    if (many_) many_.reset();
  }

 private:
  Rows one_;  // while there is no more than that
  bool has_one_ = false;
  std::unique_ptr<std::vector<Rows>> many_;
};

/// What moves through an exchange: rows, and where their first one is.
struct Item {
  RowParts parts;
  std::int64_t size = 0;
  Mark mark;
  /// Position of the first row, where the sequencer that emitted it counts.
  std::int64_t tag = 0;

  Item() = default;
  Item(Item&& other) noexcept
      : parts(std::move(other.parts)),
        size(std::exchange(other.size, 0)),
        mark(std::move(other.mark)),
        tag(other.tag) {}
  Item& operator=(Item&& other) noexcept {
    parts = std::move(other.parts);
    size = std::exchange(other.size, 0);
    mark = std::move(other.mark);
    tag = other.tag;
    return *this;
  }

  void add(Rows rows) {
    size += rows.size();
    parts.push_back(std::move(rows));
  }
  std::int64_t byte_size() const {
    std::int64_t n = 0;
    for (const Rows& r : parts) n += r.byte_size();
    return n;
  }
};

}  // namespace penstock
