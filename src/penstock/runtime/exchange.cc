#include "penstock/runtime/exchange.h"

#include <algorithm>

namespace penstock {
namespace {

/// How many of the first `rows` rows may be dropped as seen before: all, or
/// those in front of an error that says that a restore failed.
std::int64_t droppable(const Item& item, std::int64_t rows) {
  std::int64_t before = 0;
  for (const Rows& part : item.parts) {
    if (before >= rows) break;
    const std::int64_t n = std::min(part.size(), rows - before);
    if (!part.is_lazy() && !part.block().errors().empty()) {
      for (std::int64_t i = 0; i < n; ++i) {
        const ElementError* error = part.block().error_at(part.at(i));
        if (error != nullptr && error->restore_failed) return before + i;
      }
    }
    before += n;
  }
  return rows;
}

}  // namespace

Item split_item(Item& item, std::int64_t rows) {
  Item head;
  head.mark = item.mark;
  head.tag = item.tag;
  std::size_t used = 0;
  while (head.size < rows) {
    Rows& part = item.parts[used];
    const std::int64_t want = rows - head.size;
    if (part.size() <= want) {
      head.add(std::move(part));
      ++used;
    } else {
      head.add(part.slice(0, want));
      part = part.slice(want, part.size());
    }
  }
  item.parts.drop_first(used);
  item.size -= rows;
  item.mark.skip += rows;
  item.tag += rows;
  return head;
}

SlotRef Exchange::append(std::int64_t expected_rows) {
  return append_after(slots_.end(), expected_rows);
}

SlotRef Exchange::append_after(SlotRef slot, std::int64_t expected_rows) {
  if (slot != slots_.end()) ++slot;
  if (spare_.empty()) spare_.emplace_back();
  const SlotRef added = spare_.begin();
  slots_.splice(slot, spare_, added);
  added->expected_rows = expected_rows;
  total_rows_ += expected_rows;
  if (frontier_ == slots_.end()) frontier_ = added;
  return added;
}

void Exchange::drop(SlotRef slot) {
  constexpr std::size_t kMaxSpare = 16;
  if (spare_.size() >= kMaxSpare) {
    slots_.erase(slot);
    return;
  }
  slot->item.parts.clear();
  slot->item.size = 0;
  slot->item.mark = {};
  slot->ready = slot->scripted = false;
  spare_.splice(spare_.begin(), slots_, slot);
}

void Exchange::fill(SlotRef slot, Item&& item, std::int64_t now,
                    bool overtake) {
  total_rows_ += item.size - slot->expected_rows;
  slot->item = std::move(item);
  slot->bytes = slot->item.byte_size();
  slot->ready = true;
  slot->ready_at = now;
  if (overtake && frontier_ != slot) {
    slots_.splice(frontier_, slots_, slot);
    frontier_ = slot;
  }
  advance(now);
}

void Exchange::advance(std::int64_t now) {
  while (frontier_ != slots_.end() && frontier_->ready) {
    Item& item = frontier_->item;
    if (on_deliver) on_deliver(*frontier_);
    // `now` is when a work ended; a later one may have been filed before.
    order_wait_ += std::max<std::int64_t>(0, now - frontier_->ready_at);
    if (drop_ > 0 && item.size > 0) {
      const std::int64_t wanted = std::min(drop_, item.size);
      const std::int64_t dropped = droppable(item, wanted);
      if (dropped > 0) split_item(item, dropped);
      drop_ = dropped < wanted ? 0 : drop_ - dropped;
      total_rows_ -= dropped;
    }
    if (item.size == 0) {
      drop(frontier_++);
      continue;
    }
    ++prefix_items_;
    prefix_rows_ += item.size;
    prefix_bytes_ += frontier_->bytes;
    ++frontier_;
  }
}

void Exchange::take(std::int64_t max, std::int64_t granularity, Item& item) {
  Slot& slot = slots_.front();
  std::int64_t rows = std::min(std::max(max, granularity), slot.item.size);
  if (rows < slot.item.size) rows -= rows % granularity;
  prefix_rows_ -= rows;
  total_rows_ -= rows;
  if (rows == slot.item.size) {
    item = std::move(slot.item);
    prefix_bytes_ -= slot.bytes;
    --prefix_items_;
    drop(slots_.begin());
    return;
  }
  const std::int64_t share = slot.bytes * rows / slot.item.size;
  slot.bytes -= share;
  prefix_bytes_ -= share;
  item = split_item(slot.item, rows);
}

}  // namespace penstock
