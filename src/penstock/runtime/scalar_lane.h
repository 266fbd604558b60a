// The rest of the block that a consumer takes scalars from, one at a time: the
// shortest way, without the iterator's lock.
//
// Any number of threads may call take(). Whoever holds the iterator's lock, and
// only he, opens and closes the lane; while it is closed nobody takes from it,
// and the block may go.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "penstock/memory/scalar_rows.h"

namespace penstock {

class ScalarLane {
 public:
  /// The next row into `element`, which must be empty. False, and nothing done,
  /// if the lane is closed, has no more rows, or another thread takes one now.
  bool take(Element& element) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    const Freed freed{busy_};
    if (row_ >= end_) return false;
    rows_.read(row_, element);
    ++row_;
    return true;
  }

  /// Requires a closed lane. Whether open() may follow: the block, which must
  /// stay until the lane is closed, holds nothing but scalars.
  bool view(const Block& block) { return rows_.view(block); }
  /// Lets take() have the rows [row, end) of the block.
  void open(std::int64_t row, std::int64_t end) {
    const Freed freed{acquire()};
    row_ = row;
    end_ = end;
    open_ = true;
  }
  /// The row that take() would give next; `row` if the lane is closed.
  std::int64_t next_row(std::int64_t row) {
    if (!open_) return row;
    const Freed freed{acquire()};
    return row_;
  }
  /// Closes the lane. Gives next_row().
  std::int64_t close(std::int64_t row) {
    if (!open_) return row;
    const Freed freed{acquire()};
    open_ = false;
    end_ = 0;
    return row_;
  }

 private:
  struct Freed {
    std::atomic<bool>& busy;
    ~Freed() { busy.store(false, std::memory_order_release); }
  };
  std::atomic<bool>& acquire() {
    while (busy_.exchange(true, std::memory_order_acquire)) {
      std::this_thread::yield();  // held for some 20 ns, unless preempted
    }
    return busy_;
  }

  std::atomic<bool> busy_{false};
  std::int64_t row_ = 0;
  std::int64_t end_ = 0;
  ScalarRows rows_;
  bool open_ = false;  // the iterator's lock guards it
};

}  // namespace penstock
