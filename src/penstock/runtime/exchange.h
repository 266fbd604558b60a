// The ordered, byte-bounded hand-over between two pipes.
//
// Guarded by the Run's mutex. A producer appends a pending slot when it claims
// work (that fixes the order) and fills it when the work is done; the consumer
// sees only the prefix of filled slots. Results behind an unfinished slot wait
// without using up the producer's credit: that is what keeps workers busy
// while the head is slow.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <list>

#include "penstock/graph/rows.h"
#include "penstock/memory/ledger.h"

namespace penstock {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

struct Slot {
  Item item;
  bool ready = false;
  std::int64_t expected_rows = 0;  // while pending
  std::int64_t bytes = 0;
  std::int64_t ready_at = 0;
  // Of an unordered segment: the input rows it was made from.
  std::int64_t ordinal = 0;
  std::int64_t input_rows = 0;
  bool scripted = false;
};
using SlotRef = std::list<Slot>::iterator;

class Exchange {
 public:
  /// Reserves the next place in the order.
  SlotRef append(std::int64_t expected_rows);
  /// A place directly behind `slot`, which is pending.
  SlotRef append_after(SlotRef slot, std::int64_t expected_rows);
  /// A pending place will hold fewer rows.
  void shorten(SlotRef slot, std::int64_t expected_rows) {
    total_rows_ += expected_rows - slot->expected_rows;
    slot->expected_rows = expected_rows;
  }
  /// Fills a place; it may overtake pending ones when the stage is unordered.
  /// The slot must not be used afterwards.
  void fill(SlotRef slot, Item&& item, std::int64_t now, bool overtake = false);
  /// No more slots will be appended.
  void end() { ended_ = true; }

  /// Rows that can be taken now.
  std::int64_t ready_rows() const { return prefix_rows_; }
  std::int64_t ready_bytes() const { return prefix_bytes_; }
  std::int64_t ready_items() const { return prefix_items_; }
  /// Rows here or on their way.
  std::int64_t total_rows() const { return total_rows_; }
  /// The next element is being worked on.
  bool head_pending() const { return !slots_.empty() && prefix_items_ == 0; }
  bool empty() const { return slots_.empty(); }
  /// Nothing here and nothing to come.
  bool exhausted() const { return ended_ && slots_.empty(); }
  bool ended() const { return ended_; }

  /// The first item, at most `max` rows of it, cut at a multiple of
  /// `granularity` rows. Requires ready_rows() > 0.
  void take(std::int64_t max, std::int64_t granularity, Item& item);
  Item take(std::int64_t max, std::int64_t granularity = 1) {
    Item item;
    take(max, granularity, item);
    return item;
  }

  /// Rows to drop before the first one is seen (after a restore). With
  /// `no_errors` none of them was an error when they were seen.
  void drop_first(std::int64_t rows, bool no_errors) {
    drop_ += rows;
    no_errors_ = no_errors;
  }
  /// Of those, how many have not come yet.
  std::int64_t left_to_drop() const { return drop_; }

  /// Nanoseconds that finished results waited for an earlier one.
  std::int64_t order_wait() const { return order_wait_; }

  /// Called when a slot has its final place, before it can be taken.
  std::function<void(Slot&)> on_deliver;
  /// Rows that may be here beyond what the consumer asks for.
  std::int64_t limit = kUnlimited;

 private:
  void advance(std::int64_t now);
  void drop(SlotRef slot);
  void drop_seen(Item& item);

  bool ended_ = false;
  bool no_errors_ = false;
  std::int64_t drop_ = 0;
  // What each block changes, in two lines of the cache: mostly the other core
  // has changed them last.
  alignas(64) std::list<Slot> slots_;
  std::list<Slot> spare_;  // used up; a block costs no allocation here
  SlotRef frontier_ = slots_.end();  // first slot behind the ready prefix
  std::int64_t prefix_items_ = 0;
  std::int64_t prefix_rows_ = 0;
  std::int64_t prefix_bytes_ = 0;
  std::int64_t total_rows_ = 0;
  std::int64_t order_wait_ = 0;
};

/// Splits the first `rows` rows off `item`.
Item split_item(Item& item, std::int64_t rows);

}  // namespace penstock
