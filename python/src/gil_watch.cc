#include "gil_watch.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define PENSTOCK_UNSYNCHRONIZED __attribute__((no_sanitize("thread")))
#else
#define PENSTOCK_UNSYNCHRONIZED
#endif

namespace penstock::python {
namespace {

// Irregular, so that it does not fall into step with what it looks at.
constexpr int kLeastUs = 600;
constexpr int kMostUs = 1400;

// Where a thread says that it is inside a call. The watcher writes only the
// two counts, so nothing that a call owns can be touched after its end.
struct Slot {
  std::atomic<PyThreadState*> inside{nullptr};
  std::atomic<std::int64_t> looks{0};
  std::atomic<std::int64_t> held{0};
  bool known = false;

  ~Slot();
};

struct Watch {
  std::mutex mutex;  // slots, consumers, watchers; held during a look
  std::condition_variable changed;
  std::vector<Slot*> slots;
  std::vector<PyThreadState*> consumers;
  int watchers = 0;
  bool running = false;
  std::atomic<std::int64_t> looks{0};
  std::atomic<std::int64_t> taken{0};
};

// Leaked, as engine threads may outlive static objects; begun anew in the child
// of a fork, where there is one thread and no watcher.
Watch& watch() {
  static Watch* instance = [] {
    pthread_atfork(nullptr, nullptr, [] { new (&watch()) Watch; });
    return new Watch;
  }();
  return *instance;
}

thread_local Slot t_slot;

Slot::~Slot() {
  if (!known) return;
  const std::lock_guard lock(watch().mutex);
  std::erase(watch().slots, this);
}

// One word of a thread state that lives: a stale answer is one look off.
PENSTOCK_UNSYNCHRONIZED bool has_gil(PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030C0000
  return state->_status.active != 0;
#else
  return _PyThreadState_UncheckedGet() == state;
#endif
}

void look(Watch& w) {
  bool taken = false;
  for (Slot* slot : w.slots) {
    PyThreadState* state = slot->inside.load(std::memory_order_acquire);
    if (state == nullptr) continue;
    slot->looks.fetch_add(1, std::memory_order_relaxed);
    if (has_gil(state)) {
      slot->held.fetch_add(1, std::memory_order_relaxed);
      taken = true;
    }
  }
  for (PyThreadState* state : w.consumers) taken = taken || has_gil(state);
  w.looks.fetch_add(1, std::memory_order_relaxed);
  if (taken) w.taken.fetch_add(1, std::memory_order_relaxed);
}

void run() {
  pthread_setname_np(pthread_self(), "ps-gil-watch");
  Watch& w = watch();
  std::minstd_rand random(1);
  std::uniform_int_distribution<int> period(kLeastUs, kMostUs);
  std::unique_lock lock(w.mutex);
  while (w.watchers > 0) {
    w.changed.wait_for(lock, std::chrono::microseconds(period(random)));
    if (w.watchers > 0) look(w);
  }
  w.running = false;
}

}  // namespace

GilWatched::GilWatched(GilLooks* looks) : looks_(looks) {
  if (looks_ == nullptr) return;
  Slot& slot = t_slot;
  if (!slot.known) {
    slot.known = true;
    const std::lock_guard lock(watch().mutex);
    watch().slots.push_back(&slot);
  }
  slot.inside.store(PyGILState_GetThisThreadState(), std::memory_order_release);
}

GilWatched::~GilWatched() {
  if (looks_ == nullptr) return;
  Slot& slot = t_slot;
  slot.inside.store(nullptr, std::memory_order_release);
  const std::int64_t looks = slot.looks.load(std::memory_order_relaxed);
  if (looks == 0) return;
  slot.looks.fetch_sub(looks, std::memory_order_relaxed);
  looks_->looks.fetch_add(looks, std::memory_order_relaxed);
  looks_->held.fetch_add(slot.held.exchange(0, std::memory_order_relaxed),
                         std::memory_order_relaxed);
}

void watch_gil(bool on, bool consumer) {
  Watch& w = watch();
  PyThreadState* me = consumer ? PyGILState_GetThisThreadState() : nullptr;
  const std::lock_guard lock(w.mutex);
  if (!on) {
    --w.watchers;
    const auto at = std::find(w.consumers.begin(), w.consumers.end(), me);
    if (at != w.consumers.end()) w.consumers.erase(at);
    w.changed.notify_all();
    return;
  }
  if (consumer) w.consumers.push_back(me);
  if (w.watchers++ == 0) {
    w.looks.store(0);
    w.taken.store(0);
  }
  if (!w.running) {
    w.running = true;
    std::thread(run).detach();
  }
}

GilUse gil_use() {
  return {watch().looks.load(std::memory_order_relaxed),
          watch().taken.load(std::memory_order_relaxed)};
}

}  // namespace penstock::python
