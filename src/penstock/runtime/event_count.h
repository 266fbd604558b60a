// A condition that threads can wait for without a lock around it.
//
// Announce, re-check, wait: a waiter takes a ticket, looks once more whether
// there is work, and only then sleeps; a notify between the two steps makes
// the sleep return at once.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace penstock {

class EventCount {
 public:
  using Ticket = std::uint32_t;

  Ticket prepare() {
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    return epoch_.load(std::memory_order_seq_cst);
  }
  void cancel() { waiters_.fetch_sub(1, std::memory_order_seq_cst); }
  /// Sleeps unless a notify came after `ticket`; false when time ran out.
  bool wait(Ticket ticket, std::int64_t timeout_ns = -1) {
    timespec ts{};
    ts.tv_sec = timeout_ns / 1'000'000'000;
    ts.tv_nsec = timeout_ns % 1'000'000'000;
    const long result = syscall(
        SYS_futex, reinterpret_cast<std::uint32_t*>(&epoch_),
        FUTEX_WAIT_PRIVATE, ticket, timeout_ns < 0 ? nullptr : &ts, nullptr, 0);
    waiters_.fetch_sub(1, std::memory_order_seq_cst);
    return result == 0 || epoch_.load(std::memory_order_seq_cst) != ticket;
  }
  void notify(int count) {
    if (waiters_.load(std::memory_order_seq_cst) == 0) return;
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&epoch_),
            FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
  }
  int waiters() const {
    return static_cast<int>(waiters_.load(std::memory_order_seq_cst));
  }

 private:
  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::uint32_t> waiters_{0};
};

}  // namespace penstock
