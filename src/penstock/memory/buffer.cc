#include "penstock/memory/buffer.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

#include "penstock/memory/ledger.h"
#include "penstock/memory/live_bytes.h"
#include "penstock/memory/trim.h"

namespace penstock {
namespace {

std::atomic<void (*)(bool)> g_trim_too{nullptr};

constexpr std::size_t kMaxClasses = 4 * 44;

// An eighth of what the process may hold.
std::size_t default_idle_limit() {
  return static_cast<std::size_t>(Account::process().budget() / 8);
}

constexpr std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

// Four classes per power of two: at most a quarter is wasted.
std::size_t class_of(std::size_t size) {
  const auto log = static_cast<std::size_t>(std::bit_width(size - 1)) - 1;
  const std::size_t step = std::size_t{1} << (log - 2);
  const std::size_t quarter =
      (size - (std::size_t{1} << log) + step - 1) / step;
  return log * 4 + quarter;
}

std::size_t class_bytes(std::size_t c) {
  const std::size_t log = c / 4;
  const std::size_t base = std::size_t{1} << log;
  return base + (base / 4) * (c % 4);
}

struct FreeList {
  std::mutex mutex;
  std::vector<std::byte*> blocks;          // the last let go is taken first
  std::atomic<bool> any{false};            // written with the mutex
  std::atomic<std::uint64_t> taken_at{0};  // the pool's `time` then

  std::byte* take(std::uint64_t now) {
    const std::lock_guard lock(mutex);
    taken_at.store(now, std::memory_order_relaxed);
    return pop();
  }
  std::byte* evict() {
    const std::lock_guard lock(mutex);
    return pop();
  }
  /// False where there is no memory to note it.
  bool put(std::byte* block) {
    const std::lock_guard lock(mutex);
    try {
      blocks.push_back(block);
    } catch (const std::bad_alloc&) {
      return false;
    }
    any.store(true, std::memory_order_relaxed);
    return true;
  }

 private:
  std::byte* pop() {
    if (blocks.empty()) return nullptr;
    std::byte* const block = blocks.back();
    blocks.pop_back();
    any.store(!blocks.empty(), std::memory_order_relaxed);
    return block;
  }
};

struct Pool {
  std::array<FreeList, kMaxClasses> free;
  std::atomic<std::size_t> idle{0};
  std::atomic<std::size_t> live{0};
  std::atomic<std::size_t> peak{0};  // of `live`
  std::atomic<std::size_t> idle_limit{default_idle_limit()};
  std::atomic<std::uint64_t> time{0};  // counts blocks that came and went
};

Pool& pool();

// Threads that are gone may have been inside the lists: the child of a fork
// starts with empty ones, and never frees what was in them.
void forget_idle_in_child() {
  for (FreeList& list : pool().free) new (&list) FreeList;
  pool().idle.store(0);
}

Pool& pool() {
  static auto* const instance = [] {
    pthread_atfork(nullptr, nullptr, forget_idle_in_child);
    return new Pool;
  }();
  return *instance;
}

// All that the machine has. More is only refused by the kernel, which does not
// count what is not reserved, when it is touched: by ending the process.
std::size_t installed_memory() {
  static const std::size_t bytes = [] {
    struct sysinfo info {};
    if (sysinfo(&info) != 0) return std::numeric_limits<std::size_t>::max();
    return (std::size_t{info.totalram} + info.totalswap) * info.mem_unit;
  }();
  return bytes;
}

std::byte* system_allocate(std::size_t bytes) {
  if (bytes > installed_memory()) return nullptr;
  if (bytes < Buffer::kHugeBytes) {
    return static_cast<std::byte*>(
        std::aligned_alloc(Buffer::kAlignment, bytes));
  }
  // Over-allocate so that the block starts on a huge-page border.
  constexpr std::size_t kHuge = Buffer::kHugeBytes;
  const std::size_t length = round_up(bytes, kHuge) + kHuge;
  void* raw = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(raw);
  const std::uintptr_t aligned = round_up(begin, kHuge);
  const std::size_t used = round_up(bytes, kHuge);
  if (aligned > begin) munmap(raw, aligned - begin);
  const std::size_t tail = begin + length - (aligned + used);
  if (tail > 0) munmap(reinterpret_cast<void*>(aligned + used), tail);
  auto* data = reinterpret_cast<std::byte*>(aligned);
  madvise(data, used, MADV_HUGEPAGE);
  return data;
}

void system_free(std::byte* data, std::size_t bytes) {
  if (bytes < Buffer::kHugeBytes) {
    std::free(data);
  } else {
    munmap(data, round_up(bytes, Buffer::kHugeBytes));
  }
}

// The class with idle blocks that nobody took one of for longest, the largest
// of several; none if there is none.
std::size_t least_wanted(const Pool& p) {
  std::size_t found = kMaxClasses;
  std::uint64_t oldest = 0;
  for (std::size_t c = kMaxClasses; c-- > 0;) {
    if (!p.free[c].any.load(std::memory_order_relaxed)) continue;
    const std::uint64_t taken =
        p.free[c].taken_at.load(std::memory_order_relaxed);
    if (found != kMaxClasses && taken >= oldest) continue;
    found = c;
    oldest = taken;
  }
  return found;
}

// Gives idle memory back until `bytes` are left: what former pipelines left
// goes before what is in use.
void shrink_idle(std::size_t bytes) {
  Pool& p = pool();
  while (p.idle.load(std::memory_order_relaxed) > bytes) {
    const std::size_t c = least_wanted(p);
    if (c == kMaxClasses) return;  // on their way
    std::byte* const block = p.free[c].evict();
    if (block == nullptr) continue;
    p.time.fetch_add(1, std::memory_order_relaxed);
    p.idle.fetch_sub(class_bytes(c), std::memory_order_relaxed);
    system_free(block, class_bytes(c));
  }
}

void note_live(Pool& p, std::size_t bytes) {
  const std::size_t now =
      p.live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t peak = p.peak.load(std::memory_order_relaxed);
  while (now > peak &&
         !p.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

}  // namespace

Ref<Buffer> Buffer::allocate(std::size_t size) {
  auto* buffer = new (std::nothrow) Buffer;
  if (buffer == nullptr) return nullptr;
  buffer->size_ = size;
  const std::size_t padded = round_up(size == 0 ? 1 : size, kAlignment);
  if (padded < size) {  // overflow
    delete buffer;
    return nullptr;
  }
  if (padded < kPooledBytes) {
    buffer->capacity_ = padded;
    buffer->data_ =
        static_cast<std::byte*>(std::aligned_alloc(kAlignment, padded));
  } else {
    const std::size_t c = class_of(padded);
    if (c >= kMaxClasses) {
      delete buffer;
      return nullptr;
    }
    buffer->kind_ = Kind::kPooled;
    buffer->size_class_ = static_cast<std::uint16_t>(c);
    buffer->capacity_ = class_bytes(c);
    Pool& p = pool();
    buffer->data_ = p.free[c].take(p.time.load(std::memory_order_relaxed));
    if (buffer->data_ != nullptr) {
      p.idle.fetch_sub(buffer->capacity_, std::memory_order_relaxed);
    } else {
      p.time.fetch_add(1, std::memory_order_relaxed);
      buffer->data_ = system_allocate(buffer->capacity_);
    }
  }
  if (buffer->data_ == nullptr) {
    delete buffer;
    return nullptr;
  }
  note_live(pool(), buffer->capacity_);
  return Ref<Buffer>::adopt(buffer);
}

Ref<Buffer> Buffer::external(const void* data, std::size_t size,
                             std::function<void()> release, bool writable) {
  auto* buffer = new Buffer;
  buffer->kind_ = Kind::kExternal;
  buffer->writable_ = writable;
  // Only written through a handle that says writable().
  buffer->data_ = static_cast<std::byte*>(const_cast<void*>(data));
  buffer->size_ = size;
  buffer->capacity_ = 0;
  buffer->release_ = std::move(release);
  return Ref<Buffer>::adopt(buffer);
}

Ref<Buffer> Buffer::together(std::vector<Ref<Buffer>> buffers) {
  std::size_t held = 0;
  for (const Ref<Buffer>& buffer : buffers) held += buffer->capacity();
  Ref<Buffer> out = external(
      nullptr, 0, [kept = std::move(buffers)]() mutable { kept = {}; });
  out->capacity_ = held;
  return out;
}

void Buffer::destroy() {
  switch (kind_) {
    case Kind::kExternal:
      if (release_) release_();
      break;
    case Kind::kMalloc:
      pool().live.fetch_sub(capacity_, std::memory_order_relaxed);
      std::free(data_);
      break;
    case Kind::kPooled: {
      Pool& p = pool();
      p.live.fetch_sub(capacity_, std::memory_order_relaxed);
      const std::size_t idle =
          p.idle.fetch_add(capacity_, std::memory_order_relaxed) + capacity_;
      if (!p.free[size_class_].put(data_)) {
        p.idle.fetch_sub(capacity_, std::memory_order_relaxed);
        system_free(data_, capacity_);
      }
      const std::size_t limit = p.idle_limit.load(std::memory_order_relaxed);
      if (idle > limit) shrink_idle(limit);
      break;
    }
  }
  delete this;
}

std::size_t BufferPool::idle_bytes() {
  return pool().idle.load(std::memory_order_relaxed);
}
std::size_t BufferPool::live_bytes() {
  return pool().live.load(std::memory_order_relaxed);
}
std::size_t peak_live_bytes() {
  return pool().peak.load(std::memory_order_relaxed);
}
void reset_peak_live_bytes() {
  pool().peak.store(BufferPool::live_bytes(), std::memory_order_relaxed);
}
void BufferPool::set_idle_limit(std::size_t bytes) {
  pool().idle_limit.store(bytes, std::memory_order_relaxed);
  shrink_idle(bytes);
}

void BufferPool::trim() { shrink_idle(0); }

void trim_too(void (*other)(bool)) { g_trim_too.store(other); }

void trim_others(bool idle) {
  if (void (*other)(bool) = g_trim_too.load()) other(idle);
}

}  // namespace penstock
