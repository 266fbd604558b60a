// Memory that the process shares with its workers: one memfd, mapped once by
// each side, into which arguments and results are written.
//
// A sparse reservation; the file grows as regions are handed out and is trimmed
// by hole punching: of what lies idle more than kMaxIdle is kept only while
// regions are asked for, and no more than were in use at once a moment ago.
// Free lists live here, in the parent's own memory, so no worker can damage
// them. Thread-safe. Leaked at exit: arrays over it may live longer than
// anything else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "penstock/base/ref.h"
#include "penstock/base/status.h"
#include "penstock/memory/buffer.h"

namespace penstock::python {

class Arena {
 public:
  /// The one of this process; the child of a fork gets a new one.
  static StatusOr<Arena*> instance();

  int fd() const { return fd_; }
  std::size_t reserved() const { return reserved_; }
  std::byte* base() const { return base_; }

  /// Memory of at least `bytes`, which goes back when the last handle is gone.
  StatusOr<Ref<Buffer>> allocate(std::size_t bytes);
  std::uint64_t offset_of(const Buffer& buffer) const {
    return static_cast<std::uint64_t>(buffer.data() - base_);
  }
  /// Bytes in regions that somebody holds.
  std::size_t used() const;
  /// More than half of what it may hold is in use: results are copied out.
  bool crowded() const;

 private:
  static constexpr std::size_t kSizeClasses = 4 * 52;  // 4 KiB to 2^64

  Arena() = default;
  Status open();
  void give_back(std::size_t offset, int size_class);
  /// Keeps kMaxIdle idle bytes, or, unless all pipelines are `idle`, as many as
  /// were in use besides those that are.
  void trim(bool idle);

  int fd_ = -1;
  std::byte* base_ = nullptr;
  std::size_t reserved_ = 0;
  mutable std::mutex mutex_;
  std::size_t limit_ = 0;
  std::size_t next_ = 0;  // beyond it nothing was handed out yet
  std::size_t file_size_ = 0;
  std::size_t used_ = 0;
  std::size_t idle_ = 0;  // bytes of free ranges that have pages
  // The most in use at once in this period of kPeriodNs and the one before.
  std::size_t peak_ = 0;
  std::size_t last_peak_ = 0;
  std::int64_t period_began_ = 0;
  struct Idle {
    std::size_t offset;
    std::int64_t since;
  };
  struct Free {
    std::deque<Idle> backed;  // the last one given back is used first
    std::vector<std::size_t> punched;
  };
  std::array<Free, kSizeClasses> free_;
};

/// The worker's view of it.
StatusOr<std::byte*> map_arena(int fd, std::size_t reserved);

}  // namespace penstock::python
