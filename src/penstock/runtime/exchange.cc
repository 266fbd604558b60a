#include "penstock/runtime/exchange.h"

#include <algorithm>

namespace penstock {
namespace {

/// The first of the first `rows` rows that must not be dropped as seen before:
/// an error that says that a restore failed, or means it.
struct Failure {
  std::int64_t row = 0;
  const ElementError* error = nullptr;
};

Failure find_failure(const Item& item, std::int64_t rows, bool no_errors) {
  std::int64_t before = 0;
  for (const Rows& part : item.parts) {
    if (before >= rows) break;
    const std::int64_t n = std::min(part.size(), rows - before);
    if (!part.is_lazy() && !part.block().errors().empty()) {
      for (std::int64_t i = 0; i < n; ++i) {
        const ElementError* error = part.block().error_at(part.at(i));
        if (error == nullptr) continue;
        if (error->restore_failed || (no_errors && error->loses_rows())) {
          return {before + i, error};
        }
      }
    }
    before += n;
  }
  return {rows, nullptr};
}

Rows failed_restore(const ElementError& error) {
  auto failed = std::make_shared<ElementError>(error);
  failed->restore_failed = true;
  Block block(nullptr, {}, 1, {});
  block.errors().emplace_back(0, std::move(failed));
  return Rows(BlockRef(make_ref<SharedBlock>(std::move(block))));
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

void Exchange::drop_seen(Item& item) {
  const std::int64_t wanted = std::min(drop_, item.size);
  const auto [row, error] = find_failure(item, wanted, no_errors_);
  drop_ = error != nullptr ? 0 : drop_ - wanted;
  total_rows_ -= row;
  Rows failed = error != nullptr ? failed_restore(*error) : Rows();
  if (row > 0) split_item(item, row);
  if (error == nullptr) return;
  Item rest = std::move(item);
  item = split_item(rest, 1);
  item.parts.clear();
  item.size = 0;
  item.add(std::move(failed));
  for (Rows& part : rest.parts) item.add(std::move(part));
}

void Exchange::advance(std::int64_t now) {
  while (frontier_ != slots_.end() && frontier_->ready) {
    Item& item = frontier_->item;
    if (on_deliver) on_deliver(*frontier_);
    // `now` is when a work ended; a later one may have been filed before.
    order_wait_ += std::max<std::int64_t>(0, now - frontier_->ready_at);
    if (drop_ > 0 && item.size > 0) drop_seen(item);
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
