#include "arena.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "penstock/base/clock.h"
#include "penstock/memory/ledger.h"
#include "penstock/memory/trim.h"

namespace penstock::python {
namespace {

constexpr std::size_t kReserve = std::size_t{1} << 38;
constexpr std::size_t kLeastReserve = std::size_t{1} << 30;
constexpr std::size_t kGrow = std::size_t{32} << 20;
constexpr std::size_t kMaxIdle = std::size_t{128} << 20;
// A consumer takes in bursts what was made ahead. To let go of 8 MiB and to
// have it again, as zeros, takes 4 ms.
constexpr std::int64_t kPeriodNs = 1'000'000'000;
constexpr int kMinBits = 12;

Arena* g_arena = nullptr;
std::mutex* g_arena_mutex = new std::mutex;

// Four classes for each power of two, from 4 KiB on.
int class_of(std::size_t bytes) {
  bytes = std::max(bytes, std::size_t{1} << kMinBits);
  const int bits =
      std::bit_width(bytes - 1) - 1;  // 2^bits < bytes <= 2^(bits+1)
  if (bits < kMinBits) return 0;
  const std::size_t quarter = std::size_t{1} << (bits - 2);
  const auto steps = static_cast<int>(
      (bytes - (std::size_t{1} << bits) + quarter - 1) / quarter);
  return (bits - kMinBits) * 4 + steps;
}
std::size_t class_size(int size_class) {
  const int bits = kMinBits + size_class / 4;
  return (std::size_t{1} << bits) + static_cast<std::size_t>(size_class % 4) *
                                        (std::size_t{1} << (bits - 2));
}

Status system_error(const char* what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("worker processes: ", what, ": ", std::strerror(errno)));
}

}  // namespace

StatusOr<Arena*> Arena::instance() {
  static const bool registered = [] {
    pthread_atfork(nullptr, nullptr, [] {
      g_arena_mutex = new std::mutex;
      g_arena = nullptr;  // the parent's; its mapping stays valid
    });
    return true;
  }();
  (void)registered;
  std::lock_guard lock(*g_arena_mutex);
  if (g_arena == nullptr) {
    auto* arena = new Arena;
    const Status status = arena->open();
    if (!status.ok()) {
      delete arena;
      return status;
    }
    g_arena = arena;
    trim_too([](bool idle) {
      Arena* current = nullptr;
      {
        const std::lock_guard reading(*g_arena_mutex);
        current = g_arena;
      }
      if (current != nullptr) current->trim(idle);
    });
  }
  return g_arena;
}

Status Arena::open() {
  fd_ = memfd_create("penstock", MFD_CLOEXEC);
  if (fd_ < 0) return system_error("memfd_create");
  for (reserved_ = kReserve; reserved_ >= kLeastReserve; reserved_ /= 4) {
    void* at = mmap(nullptr, reserved_, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, fd_, 0);
    if (at != MAP_FAILED) {
      base_ = static_cast<std::byte*>(at);
      // What a consumer holds here is nothing a forked child should copy.
      limit_ = std::min<std::size_t>(
          reserved_, static_cast<std::size_t>(Account::process().budget()));
      return absl::OkStatus();
    }
  }
  Status status = system_error("mmap");
  ::close(fd_);
  return status;
}

StatusOr<Ref<Buffer>> Arena::allocate(std::size_t bytes) {
  const int size_class = class_of(bytes);
  const std::size_t size = class_size(size_class);
  std::size_t offset = 0;
  {
    std::lock_guard lock(mutex_);
    const auto c = static_cast<std::size_t>(size_class);
    Free& free = free_[c];
    if (!free.backed.empty()) {
      offset = free.backed.back().offset;
      free.backed.pop_back();
      idle_ -= size;
    } else if (!free.punched.empty()) {
      offset = free.punched.back();
      free.punched.pop_back();
    } else {
      if (next_ + size > reserved_) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "worker processes: no ", size, " bytes of shared memory are left"));
      }
      offset = next_;
      if (offset + size > file_size_) {
        const std::size_t grown =
            std::min(reserved_, (offset + size + kGrow - 1) / kGrow * kGrow);
        if (ftruncate(fd_, static_cast<off_t>(grown)) != 0) {
          return system_error("ftruncate");
        }
        file_size_ = grown;
      }
      next_ += size;
    }
    used_ += size;
    const std::int64_t now = Clock::real().now();
    if (now - period_began_ >= kPeriodNs) {
      last_peak_ = now - period_began_ < 2 * kPeriodNs ? peak_ : 0;
      peak_ = 0;
      period_began_ = now;
    }
    peak_ = std::max(peak_, used_);
  }
  return Buffer::external(
      base_ + offset, size,
      [this, offset, size_class] { give_back(offset, size_class); },
      /*writable=*/true);
}

void Arena::give_back(std::size_t offset, int size_class) {
  const std::size_t size = class_size(size_class);
  const std::int64_t now = Clock::real().now();
  {
    const std::lock_guard lock(mutex_);
    used_ -= size;
    idle_ += size;
    free_[static_cast<std::size_t>(size_class)].backed.push_back({offset, now});
  }
  trim(false);
}

void Arena::trim(bool idle) {
  const std::int64_t now = Clock::real().now();
  for (;;) {
    std::size_t offset = 0;
    Free* from = nullptr;
    std::size_t size = 0;
    {
      const std::lock_guard lock(mutex_);
      const bool asked_for = !idle && now - period_began_ < 2 * kPeriodNs;
      const std::size_t limit = asked_for ? std::max(peak_, last_peak_) : 0;
      if (idle_ <= kMaxIdle || used_ + idle_ <= limit) return;
      // What was given back first: its size may not be asked for any more.
      for (std::size_t c = 0; c < free_.size(); ++c) {
        if (free_[c].backed.empty()) continue;
        if (from == nullptr ||
            free_[c].backed.front().since < from->backed.front().since) {
          from = &free_[c];
          size = class_size(static_cast<int>(c));
        }
      }
      offset = from->backed.front().offset;
      from->backed.pop_front();
      idle_ -= size;
    }
    // The range stays ours; its pages go back to the system.
    fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(offset), static_cast<off_t>(size));
    const std::lock_guard lock(mutex_);
    from->punched.push_back(offset);
  }
}

std::size_t Arena::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

bool Arena::crowded() const { return used() > limit_ / 2; }

StatusOr<std::byte*> map_arena(int fd, std::size_t reserved) {
  void* at = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) return system_error("mmap");
  return static_cast<std::byte*>(at);
}

}  // namespace penstock::python
