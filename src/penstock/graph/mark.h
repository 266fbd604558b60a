// A place in a stream from which it can be continued.
//
// The pipeline runs ahead of its consumer, so no operator's current state is
// the consumer's. Sequencers therefore attach snapshots to what they emit, and
// a Mark names a place by (the last snapshot before it, elements to drop after
// it). Snapshots are immutable and shared: attaching one costs a pointer.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "penstock/base/ref.h"

namespace penstock {

class Snapshot;

struct Mark {
  /// Null: the start of the stream.
  Ref<const Snapshot> snapshot;
  std::int64_t skip = 0;

  Mark after(std::int64_t elements) const {
    return {snapshot, skip + elements};
  }
};

/// A reference that is set at most once, perhaps while others read it.
template <class T>
class OnceRef {
 public:
  OnceRef() = default;
  OnceRef(const OnceRef&) = delete;
  OnceRef& operator=(const OnceRef&) = delete;
  ~OnceRef() {
    if (const T* held = get()) held->release();
  }
  const T* get() const { return ptr_.load(std::memory_order_acquire); }
  void set(Ref<const T> ref) const {
    const T* none = nullptr;
    const T* added = ref.detach();
    if (!ptr_.compare_exchange_strong(none, added)) added->release();
  }

 private:
  mutable std::atomic<const T*> ptr_{nullptr};
};

/// Lets a chain go link by link: long ones must not recurse.
template <class Link>
void release_chain(std::atomic<Link*>& next) {
  Link* link = next.exchange(nullptr, std::memory_order_acq_rel);
  while (link != nullptr && link->unique()) {
    Link* after = link->next.exchange(nullptr, std::memory_order_acq_rel);
    link->release();
    link = after;
  }
  if (link != nullptr) link->release();
}

/// The order in which an unordered stage handed its results on: input rows
/// [ordinal, ordinal + rows), then `next`. A restore repeats that order, so
/// that what was counted behind the stage is counted the same again.
class Delivery final : public RefCounted<Delivery> {
 public:
  Delivery(std::int64_t first, std::int64_t count)
      : ordinal(first), rows(count) {}
  ~Delivery() { release_chain(next); }
  const std::int64_t ordinal;
  const std::int64_t rows;
  /// Owns a reference; set once, when the next result was handed on.
  std::atomic<Delivery*> next{nullptr};
};

/// The nested datasets a stage opened, one after the other: where each began.
/// A restore opens them there again, so that unordered stages inside them
/// repeat their order too.
class Opening;

class Snapshot final : public RefCounted<Snapshot> {
 public:
  Snapshot() = default;
  /// Of the operator itself, as it wrote it.
  std::string own;
  /// The stage itself is as it was at the start: only what is noted below may
  /// tell the place from that.
  bool at_start = false;
  /// Where to continue each input.
  std::vector<Mark> inputs;
  /// Where to continue the nested datasets that were open.
  std::vector<Mark> opened;
  /// Of an unordered stage: what it handed on from here, in that order, as
  /// (offset from the first input, rows). Read from a state, it is what is to
  /// be repeated; `delivery` then follows what has been handed on since.
  std::vector<std::pair<std::int64_t, std::int64_t>> deliveries;
  OnceRef<Delivery> delivery;
  /// Ordinal of the first input.
  std::int64_t base = 0;
  /// Nested datasets opened since; as read from a state, and as they happen.
  std::vector<Mark> openings;
  OnceRef<Opening> opening;
};

class Opening final : public RefCounted<Opening> {
 public:
  explicit Opening(Mark begin) : first(std::move(begin)) {}
  ~Opening() { release_chain(next); }
  const Mark first;
  std::atomic<Opening*> next{nullptr};
};

}  // namespace penstock
