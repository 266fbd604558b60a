#include "penstock/io/mapping_guard.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace penstock {
namespace {

using Action = struct sigaction;

struct Chunk {
  std::array<GuardedMapping, 256> slots;
  std::atomic<Chunk*> next = nullptr;
};

// Without constructors that run: the handler may come at any time.
constinit Chunk first_chunk;
constinit std::atomic<Chunk*> likely_free = &first_chunk;
// What a SIGBUS did before, never freed; null for the default.
constinit std::atomic<const Action*> former = nullptr;
constinit std::atomic<std::uintptr_t> page_bytes = 4096;

// --------------------------------------------------------------------------
// What the handler calls: no locks, no allocation, system calls only.

// System calls by number: sanitizers put more into the functions.
bool put_zeros(std::uintptr_t begin, std::uintptr_t end) {
  return ::syscall(SYS_mmap, begin, end - begin, PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                   0) == static_cast<long>(begin);
}

/// Asks the system to read 8 bytes there for a call that is refused.
bool readable(std::uintptr_t address) {
  constexpr int kNoSuchWay = ~0;
  ::syscall(SYS_rt_sigprocmask, kNoSuchWay, address, 0, 8);
  return errno != EFAULT;
}

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// Empty while it is free, or changing hands.
Range range_of(const GuardedMapping& slot) {
  const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
  const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
  if (begin != slot.begin.load(std::memory_order_acquire)) return {};
  return {begin, end};
}

bool lose(GuardedMapping& slot, Range range, std::uintptr_t from) {
  if (!put_zeros(from, range.end)) return false;
  note_intact(&slot, from - range.begin);
  return true;
}

/// The pages from that of `address` on, if it is one of ours.
bool lose_pages_at(std::uintptr_t address) {
  const std::uintptr_t page = address & ~(page_bytes.load() - 1);
  for (Chunk* c = &first_chunk; c != nullptr; c = c->next.load()) {
    for (GuardedMapping& slot : c->slots) {
      const Range range = range_of(slot);
      if (range.begin != 0 && address >= range.begin && address < range.end) {
        return lose(slot, range, page);
      }
    }
  }
  return false;
}

/// All pages that are gone, of any mapping; false if there are none.
bool lose_missing_pages() {
  const std::uintptr_t page = page_bytes.load();
  bool lost = false;
  for (Chunk* c = &first_chunk; c != nullptr; c = c->next.load()) {
    for (GuardedMapping& slot : c->slots) {
      const Range range = range_of(slot);
      if (range.begin == 0 || readable(range.end - page)) continue;
      // The first page that is gone is one of [low, high].
      std::uintptr_t low = range.begin;
      std::uintptr_t high = range.end - page;
      while (low < high) {
        const std::uintptr_t middle = low + (high - low) / page / 2 * page;
        if (readable(middle)) {
          low = middle + page;
        } else {
          high = middle;
        }
      }
      lost |= lose(slot, range, low);
    }
  }
  return lost;
}

void use_default_action() {
  Action action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGBUS, &action, nullptr);
}

/// As if the handler had never been there.
void pass_on(int signal, siginfo_t* info, void* context) {
  const Action* const action = former.load();
  const bool of_an_access = info->si_code > 0;
  const bool no_handler = action == nullptr || action->sa_handler == SIG_DFL ||
                          action->sa_handler == SIG_IGN;
  if (no_handler) {
    const bool ignored =
        action != nullptr && action->sa_handler == SIG_IGN && !of_an_access;
    if (ignored) return;
    // The access is repeated, and ends the process; a signal that somebody
    // sent is sent again, and comes when the handler has returned.
    use_default_action();
    if (!of_an_access) {
      ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::syscall(SYS_gettid),
                signal, info);
    }
    return;
  }
  if ((action->sa_flags & SA_RESETHAND) != 0) former.store(nullptr);
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &action->sa_mask, &before);
  if ((action->sa_flags & SA_NODEFER) != 0) {
    sigset_t bus;
    ::sigemptyset(&bus);
    ::sigaddset(&bus, SIGBUS);
    ::pthread_sigmask(SIG_UNBLOCK, &bus, nullptr);
  }
  if ((action->sa_flags & SA_SIGINFO) != 0) {
    action->sa_sigaction(signal, info, context);
  } else {
    action->sa_handler(signal);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool ours =
      info->si_code == BUS_ADRERR &&
      lose_pages_at(reinterpret_cast<std::uintptr_t>(info->si_addr));
  // A handler that came later (Python's faulthandler) takes itself out and
  // raises the signal again, for the one before it, without the address.
  const bool again = info->si_code == SI_TKILL && info->si_pid == ::getpid() &&
                     lose_missing_pages();
  if (!ours && !again) pass_on(signal, info, context);
  errno = error;
}

// --------------------------------------------------------------------------

/// Again where it was taken out since; not over handlers that came later, which
/// may pass on to it what they do not know.
void install() {
  Action now = {};
  if (::sigaction(SIGBUS, nullptr, &now) != 0) return;
  const bool handled = (now.sa_flags & SA_SIGINFO) != 0 ||
                       (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
  static constinit std::atomic<bool> was_installed = false;
  if (was_installed.exchange(true) && handled) return;
  page_bytes.store(static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)));
  Action action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  auto* const before = new Action;
  ::sigaction(SIGBUS, &action, before);
  if ((before->sa_flags & SA_SIGINFO) != 0 &&
      before->sa_sigaction == on_bus_error) {
    delete before;  // another thread was here first
    return;
  }
  former.store(before);  // it may be in use: the last one is not freed
}

GuardedMapping* free_slot() {
  Chunk* const hint = likely_free.load();
  Chunk* last = nullptr;
  for (Chunk* c = hint; c != nullptr; last = c, c = c->next.load()) {
    for (GuardedMapping& slot : c->slots) {
      if (!slot.taken.load(std::memory_order_relaxed) &&
          !slot.taken.exchange(true)) {
        likely_free.store(c);
        return &slot;
      }
    }
  }
  auto* const more = new Chunk;
  more->slots[0].taken.store(true);
  Chunk* none = nullptr;
  while (!last->next.compare_exchange_strong(none, more)) {
    last = none;
    none = nullptr;
  }
  likely_free.store(more);
  return &more->slots[0];
}

}  // namespace

GuardedMapping* guard_mapping(const void* data, std::size_t size) {
  install();
  const std::uintptr_t page = page_bytes.load();
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  GuardedMapping* const slot = free_slot();
  slot->intact.store(size);
  slot->end.store(begin + (size + page - 1) / page * page);
  slot->begin.store(begin, std::memory_order_release);
  return slot;
}

void end_guard(GuardedMapping* mapping) {
  mapping->begin.store(0);
  mapping->taken.store(false);
  likely_free.store(&first_chunk);
}

void note_intact(GuardedMapping* mapping, std::size_t size) {
  std::size_t known = mapping->intact.load();
  while (size < known && !mapping->intact.compare_exchange_weak(known, size)) {
  }
}

}  // namespace penstock
