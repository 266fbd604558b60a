#include "interpreter.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "penstock/base/clock.h"
#include "penstock/runtime/scheduler.h"

namespace penstock::python {
namespace {

// Held longer, the GIL is given up between two calls. Other threads of the
// program would otherwise wait for the interpreter's 5 ms switch interval.
constexpr std::int64_t kMaxHoldNs = 1'000'000;
constexpr std::int64_t kPauseNs = 50'000;
// With a sampler, which the interpreter's switch interval serves.
constexpr std::int64_t kMaxSampledHoldNs = 10'000'000;
// A consumer that wants the GIL needs a wake-up to get it.
constexpr std::int64_t kMaxYieldNs = 1'000'000;

std::atomic<bool> g_open{true};
std::atomic<int> g_inside{0};     // engine threads that have or want the GIL
std::atomic<int> g_consumers{0};  // Python threads that want it back
std::atomic<int> g_samplers{0};
pthread_t g_main_thread;

// Engine threads ask for the GIL one at a time: a thread of the program then
// competes with one of them, however many wait.
std::mutex& turn() {
  static std::mutex* instance = new std::mutex;
  return *instance;
}

std::int64_t now() { return Clock::real().now(); }

struct ReleaseQueue {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  bool scheduled = false;
};
// Leaked: engine threads may drop references while the process exits.
ReleaseQueue* queue() {
  static ReleaseQueue* instance = [] {
    // In the child of a fork another thread may have held the lock.
    pthread_atfork(nullptr, nullptr, [] {
      new (queue()) ReleaseQueue;
      new (&turn()) std::mutex;
      g_inside.store(0);
      g_consumers.store(0);
      g_main_thread = pthread_self();
    });
    return new ReleaseQueue;
  }();
  return instance;
}

// Keeps the thread state of an engine thread until the thread ends.
struct ThreadStatePin {
  bool pinned = false;
  PyGILState_STATE state{};
  ~ThreadStatePin() {
    if (!pinned) return;
    g_inside.fetch_add(1);
    if (g_open.load()) {
      PyEval_RestoreThread(PyGILState_GetThisThreadState());
      PyGILState_Release(state);
    }
    g_inside.fetch_sub(1);
  }
};
thread_local ThreadStatePin t_pin;
thread_local bool t_holds = false;  // inside a Gil

int run_drain(void* /*unused*/) {
  drain_released();
  return 0;
}

}  // namespace

bool gate_open() { return g_open.load(std::memory_order_relaxed); }

void close_gate(std::int64_t timeout_ns) {
  g_open.store(false);
  const std::int64_t end = now() + timeout_ns;
  while (g_inside.load() > 0 && now() < end) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void drop_reference(PyObject* object) {
  if (object == nullptr || !Py_IsInitialized()) return;
  if (PyGILState_Check()) {
    Py_DECREF(object);
    return;
  }
  if (!gate_open()) return;
  ReleaseQueue& q = *queue();
  bool schedule = false;
  {
    std::lock_guard lock(q.mutex);
    q.objects.push_back(object);
    schedule = !q.scheduled;
    q.scheduled = true;
  }
  // Full when it fails: then the next holder has to do.
  if (schedule) Py_AddPendingCall(run_drain, nullptr);
}

void drain_released() {
  ReleaseQueue& q = *queue();
  std::vector<PyObject*> objects;
  {
    std::lock_guard lock(q.mutex);
    objects.swap(q.objects);
    q.scheduled = false;
  }
  for (PyObject* object : objects) Py_DECREF(object);
}

Gil::Gil() { take(); }

Gil::~Gil() {
  if (held_) give();
}

std::int64_t Gil::hold_ns() const {
  return hold_ns_ + (held_ ? now() - since_ : 0);
}

void Gil::take() {
  g_inside.fetch_add(1);
  if (!g_open.load()) {
    g_inside.fetch_sub(1);
    return;
  }
  const std::int64_t asked = now();
  {
    const LockWait waiting;
    const std::lock_guard mine(turn());
    if (!g_open.load()) {
      g_inside.fetch_sub(1);
      return;
    }
    in_interpreter([&] {
      if (PyGILState_GetThisThreadState() == nullptr) {
        t_pin.state = PyGILState_Ensure();
        t_pin.pinned = true;
        PyEval_SaveThread();
      }
      state_ = PyGILState_Ensure();
    });
  }
  since_ = now();
  wait_ns_ += since_ - asked;
  held_ = true;
  t_holds = true;
}

void Gil::give() {
  held_ = false;
  t_holds = false;
  hold_ns_ += now() - since_;
  // Not held when the interpreter ends this thread (in_interpreter).
  if (PyGILState_Check()) {
    PyGILState_Release(static_cast<PyGILState_STATE>(state_));
  }
  g_inside.fetch_sub(1);
}

bool Gil::breathe() {
  const bool wanted = g_consumers.load(std::memory_order_relaxed) > 0;
  const std::int64_t t = now();
  const std::int64_t most = sampling() ? kMaxSampledHoldNs : kMaxHoldNs;
  if (!wanted && t - since_ < most && gate_open()) return true;
  give();
  if (wanted) {
    while (g_consumers.load(std::memory_order_relaxed) > 0 &&
           now() - t < kMaxYieldNs) {
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPauseNs));
  }
  take();
  return held_;
}

void set_sampling(bool on) { g_samplers.fetch_add(on ? 1 : -1); }
bool sampling() { return g_samplers.load(std::memory_order_relaxed) > 0; }

WithoutGil::~WithoutGil() noexcept(false) {
  g_consumers.fetch_add(1, std::memory_order_relaxed);
  // The interpreter would end the thread in the middle of our frames.
  if (!gate_open() && !on_main_thread()) hang();
  in_interpreter([&] { PyEval_RestoreThread(saved_); });  // it may exit now
  g_consumers.fetch_sub(1, std::memory_order_relaxed);
}

WorkingWithoutGil::~WorkingWithoutGil() noexcept(false) {
  const LockWait waiting;
  in_interpreter([&] { PyEval_RestoreThread(saved_); });
}

void hang() {
  if (t_holds) g_inside.fetch_sub(1);
  for (;;) ::pause();
}

bool on_main_thread() { return pthread_equal(pthread_self(), g_main_thread); }
void remember_main_thread() {
  g_main_thread = pthread_self();
  queue();
}

}  // namespace penstock::python
