// The process-wide executor.
//
// Threads. `cpu_budget` tokens stand for the cores. A thread runs CPU work only
// with a token; a thread whose call blocks, or that waits in next() of a nested
// iterator, gives its token to a spare thread. Stages known to block run
// without tokens, as many calls at once as their width says. A monitor looks
// every 2 ms for calls that wait.
//
// Where the system gives no more threads, those there are go on: the monitor
// asks again, and a worker that waits in a nested next() works meanwhile for
// what it waits for, since all others may wait as it does.
//
// Locks. mutex_ guards the lists of runs and threads; it is never held while a
// Run's lock is taken. Order: mutex_ before a thread's call_mutex
// (call_watch.h).
//
// Lifetime. The executor is leaked at exit: the workers stop, and the thread
// that ends the process is told so where it would wait for them. Threads hold a
// shared_ptr to the Run they work for only while they work for it.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/memory/buffer.h"
#include "penstock/memory/trim.h"
#include "penstock/runtime/call_watch.h"
#include "penstock/runtime/cpu_budget.h"
#include "penstock/runtime/event_count.h"
#include "penstock/runtime/run.h"
#include "penstock/runtime/scheduler.h"

namespace penstock {
namespace {

constexpr int kMaxElasticThreads = 256;
constexpr int kMaxThreads = 640;
// The others are for CPU work, and for what calls wait for in nested iterators.
constexpr int kMaxElasticCalls = kMaxThreads - 64;
// Threads that may wait in nested iterators before no call at this nesting is
// started, times nesting + 1: the run they wait for stands deeper, so it can
// always start calls.
constexpr int kNestedWaits = 32;
// Where every call is short and no run has just begun, looks are rarer: each
// takes a core from a worker for a moment.
constexpr std::int64_t kCalmTickNs = 5'000'000;
// But every fourth one follows soon, so that calls of a millisecond or two are
// seen twice.
constexpr std::int64_t kSoonTickNs = 1'000'000;
constexpr int kTicksPerSoon = 4;
constexpr std::int64_t kCalmAfterNs = 50'000'000;
constexpr int kTicksPerBudget = 500;
constexpr std::int64_t kSpareIdleNs = 500'000'000;

thread_local WorkerThread* t_worker = nullptr;
thread_local std::int64_t t_lock_wait_ns = 0;

class Executor final : public Scheduler {
 public:
  Executor() : budget_(detect_cpu_budget()), tokens_(budget_.load()) {}

  const Clock& clock() const override { return Clock::real(); }
  int cpu_budget() const override {
    return budget_.load(std::memory_order_relaxed);
  }

  Status add(std::shared_ptr<Run> run) override {
    if (ends_here()) {
      return absl::CancelledError(
          "the process ends: no pipeline can be started any more");
    }
    std::lock_guard lock(mutex_);
    spawn_base_locked();
    if (!monitor_started_)
      monitor_started_ = start([this] { monitor(); }, [] {});
    if (base_threads_ == 0 || !monitor_started_) {
      return absl::ResourceExhaustedError(
          "no thread can be started: is there a limit of processes (ulimit -u, "
          "or pids.max of the cgroup)?");
    }
    auto next = open_runs_locked();
    next->push_back(std::move(run));
    runs_ = std::move(next);
    youngest_run_ = clock().now();
    monitor_wake_.notify_one();
    return absl::OkStatus();
  }

  void remove(Run* run) override {
    std::lock_guard lock(mutex_);
    try {
      auto next = open_runs_locked();
      std::erase_if(*next, [run](const auto& r) { return r.get() == run; });
      runs_ = std::move(next);
    } catch (const std::bad_alloc&) {
      return;  // it is closed, and leaves the list with the next one
    }
  }

  void notify(Run* run) override {
    // Without a token, or where the run has its share of the cores, nobody
    // could begin, and those at work look for more when they are done: to wake
    // another would only take a core from them.
    const bool could_begin =
        run->cpu_free() && tokens_.load(std::memory_order_seq_cst) > 0;
    if (could_begin || run->has_elastic()) kick();
  }

  bool wait(Run* run, const std::function<bool()>& done,
            std::int64_t timeout_ns) override {
    if (ends_here()) run->cancel();  // nobody works for it any more
    WorkerThread* self = t_worker;
    bool released = false;
    int previous = kNoCall;
    Run* outer = nullptr;
    Stage* outer_stage = nullptr;
    if (self != nullptr) {
      std::lock_guard lock(self->call_mutex);
      previous = self->state;
      outer = self->run;
      outer_stage = self->stage;
      self->state = kNestedWait;
      if (self->has_token && previous != kDetached) {
        self->has_token = false;
        released = true;
      }
    }
    if (self != nullptr) {
      nested_waits_.fetch_add(1);
      if (outer) run->nest_below(outer->nesting());
    }
    if (released) {
      if (outer) outer->adjust_cpu(-1);
      give_token();
    }
    const bool in_time = await(self, *run, done, timeout_ns);
    if (self != nullptr) {
      nested_waits_.fetch_sub(1);
      kick();
      if (released) {
        take_token();
        if (outer) outer->adjust_cpu(1);
      }
      std::lock_guard lock(self->call_mutex);
      self->has_token = released;
      self->run = outer;
      self->stage = outer_stage;
      self->state = previous;
      ++self->call;
    }
    return in_time;
  }

  void wake_waiters(Run* run) override { run->waiters().notify_all(); }

  void user_code_begin(Run* run, void* stage_pointer) override {
    WorkerThread* self = t_worker;
    if (self == nullptr) return;
    auto* stage = static_cast<Stage*>(stage_pointer);
    std::int64_t waited = 0;
    if (!self->has_token && !stage->blocking.load(std::memory_order_relaxed)) {
      waited = borrow_token(*self);
    }
    if (!self->has_token) self->tokenless_since = clock().now();
    std::lock_guard lock(self->call_mutex);
    self->overdue.store(false, std::memory_order_relaxed);
    self->run = run;
    self->stage = stage;
    self->state = self->has_token ? kInCall : kTokenless;
    self->waited_ns += waited;
    ++self->call;
  }

  const std::atomic<bool>* overdue() override {
    return t_worker != nullptr ? &t_worker->overdue : nullptr;
  }

  void user_code_end() override {
    WorkerThread* self = t_worker;
    if (self == nullptr) return;
    bool give_back = false;
    // Calls of its own that the function waited for may have changed the state.
    const std::int64_t waited =
        self->has_token ? 0 : clock().now() - self->tokenless_since;
    {
      std::lock_guard lock(self->call_mutex);
      self->waited_ns += waited;
      if (self->state == kDetached) {
        self->has_token = false;
      } else if (self->borrowed_token && self->has_token) {
        self->has_token = false;
        give_back = true;
      }
      self->borrowed_token = false;
      self->state = kNoCall;
      self->stage = nullptr;
      self->run = nullptr;
    }
    if (give_back) give_token();
  }

  void stop() {
    exiting_.store(std::this_thread::get_id());
    stopping_.store(true);
  }

 private:
  using RunList = std::vector<std::shared_ptr<Run>>;

  std::shared_ptr<RunList> open_runs_locked() const {
    auto open = std::make_shared<RunList>();
    open->reserve(runs_->size() + 1);
    for (const auto& run : *runs_) {
      if (!run->closed()) open->push_back(run);
    }
    return open;
  }

  /// Whether the calling thread ends the process. Others may wait: they are not
  /// there for long.
  bool ends_here() const {
    return stopping_.load(std::memory_order_relaxed) &&
           exiting_.load() == std::this_thread::get_id();
  }

  bool await(WorkerThread* self, Run& run, const std::function<bool()>& done,
             std::int64_t timeout_ns) {
    const auto is_called = [&] {
      return done() || (self != nullptr && short_of_threads_.load());
    };
    const std::int64_t since = timeout_ns < 0 ? 0 : clock().now();
    std::int64_t left = timeout_ns;
    std::unique_lock lock(run.mutex());
    while (!done()) {
      if (timeout_ns < 0) {
        run.waiters().wait(lock, is_called);
      } else if (left < 0 ||
                 !run.waiters().wait_for(lock, std::chrono::nanoseconds(left),
                                         is_called)) {
        return done();
      }
      if (done()) break;
      lock.unlock();
      const bool did = work_while_waiting(*self, run);
      lock.lock();
      if (!did) {
        run.waiters().wait_for(lock, std::chrono::nanoseconds(kTickNs), done);
      }
      if (timeout_ns >= 0) left = timeout_ns - (clock().now() - since);
    }
    return true;
  }
  // Inside a call of another run, whose state wait() puts back.
  bool work_while_waiting(WorkerThread& self, Run& run) {
    self.has_token = false;
    const std::int64_t outer_tokenless_since = self.tokenless_since;
    const bool outer_borrowed = std::exchange(self.borrowed_token, false);
    Work work;
    bool found = run.claim(ClaimKind::kElastic, work);
    if (!found && try_take_token()) {
      self.has_token = true;
      found = run.claim(ClaimKind::kCpu, work);
    }
    if (found) {
      run.execute(work);
      if (!self.has_token) work.kind = ClaimKind::kElastic;
      run.complete(work);
    }
    if (self.has_token) {
      self.has_token = false;
      tokens_.fetch_add(1, std::memory_order_seq_cst);
      token_event_.notify(1);
    }
    self.borrowed_token = outer_borrowed;
    self.tokenless_since = outer_tokenless_since;
    std::lock_guard lock(self.call_mutex);
    self.state = kNestedWait;
    return found;
  }

  bool try_take_token() {
    int free = tokens_.load(std::memory_order_seq_cst);
    while (free > 0) {
      if (tokens_.compare_exchange_weak(free, free - 1)) return true;
    }
    return false;
  }
  void take_token() {
    while (!try_take_token()) {
      const auto ticket = token_event_.prepare();
      if (try_take_token()) {
        token_event_.cancel();
        return;
      }
      token_event_.wait(ticket);
    }
  }
  /// For one call. Gives how long that took.
  std::int64_t borrow_token(WorkerThread& self) {
    self.borrowed_token = true;
    if (try_take_token()) {
      self.has_token = true;
      return 0;
    }
    const std::int64_t since = clock().now();
    {
      std::lock_guard lock(self.call_mutex);
      self.state = kTokenWait;
    }
    take_token();
    self.has_token = true;
    return clock().now() - since;
  }
  void give_token() {
    tokens_.fetch_add(1, std::memory_order_seq_cst);
    token_event_.notify(1);
    kick();
  }

  /// Work may have appeared: lets one more thread look.
  void kick() {
    if (idle_.waiters() > 0) {
      idle_.notify(1);
    } else if (tokens_.load(std::memory_order_seq_cst) > 0) {
      spawn();
    }
  }

  void spawn() {
    std::lock_guard lock(mutex_);
    // All threads may wait; a base thread that is just starting will look.
    if (starting_ == 0 && threads_ < kMaxThreads && !short_of_threads_) {
      spawn_locked(false);
    }
  }

  void spawn_base_locked() {
    while (base_threads_ < cpu_budget() && spawn_locked(true)) {
      ++base_threads_;
    }
  }

  bool spawn_locked(bool base) {
    const bool started =
        start([this, base] { worker(base); },
              [this] {
                // The thread puts itself there, and has nobody to tell of a
                // failure.
                workers_.reserve(static_cast<std::size_t>(threads_) + 1);
              });
    short_of_threads_.store(!started);
    if (!started) return false;
    ++threads_;
    ++starting_;
    return true;
  }
  /// False when the system gives no more threads, or no memory for one.
  template <class F, class Prepare>
  static bool start(F body, Prepare prepare) {
    try {
      prepare();
      std::thread(std::move(body)).detach();
    } catch (const std::system_error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }
  /// Where threads were missing there may be room by now.
  void look_for_threads() {
    if (idle_.waiters() > 0) {
      short_of_threads_.store(false);
      return;
    }
    std::lock_guard lock(mutex_);
    spawn_base_locked();
    if (threads_ < kMaxThreads) spawn_locked(false);
    if (!short_of_threads_) return;
    for (const auto& run : *runs_) run->waiters().notify_all();
  }

  bool admits(const Run& run) const {
    return nested_waits_.load(std::memory_order_relaxed) <
           kNestedWaits * (run.nesting() + 1);
  }

  std::shared_ptr<const RunList> runs() {
    std::lock_guard lock(mutex_);
    return runs_;
  }

  void worker(bool base) {
    WorkerThread self;
    self.base = base;
    pthread_getcpuclockid(pthread_self(), &self.cpu_clock);
    self.tid = gettid();
    pthread_setname_np(pthread_self(), base ? "ps-worker" : "ps-spare");
    t_worker = &self;
    {
      std::lock_guard lock(mutex_);
      --starting_;
      workers_.push_back(&self);
    }
    std::int64_t idle_since = 0;
    while (!stopping_.load(std::memory_order_relaxed)) {
      if (work_once(self)) {
        idle_since = 0;
        continue;
      }
      if (!base) {
        // Of many spare threads each is woken now and then, for nothing.
        const std::int64_t now = clock().now();
        if (idle_since == 0) idle_since = now;
        if (now - idle_since > kSpareIdleNs) break;
      }
      // Only looks: whoever works is no waiter that a notify could wake.
      const auto ticket = idle_.prepare();
      if (sees_work()) {
        idle_.cancel();
        continue;
      }
      const bool woken = idle_.wait(ticket, base ? -1 : kSpareIdleNs);
      if (!woken && !base) break;
    }
    std::lock_guard lock(mutex_);
    --threads_;
    workers_.erase(std::find(workers_.begin(), workers_.end(), &self));
    t_worker = nullptr;
  }

  bool sees_work() {
    const std::shared_ptr<const RunList> list = runs();
    const bool token = tokens_.load(std::memory_order_seq_cst) > 0;
    const bool elastic = may_call_elastic();
    return std::any_of(list->begin(), list->end(), [&](const auto& run) {
      return admits(*run) && ((token && run->has_work(ClaimKind::kCpu)) ||
                              (elastic && run->has_work(ClaimKind::kElastic)));
    });
  }

  bool may_call_elastic() const {
    return elastic_calls_.load(std::memory_order_relaxed) < kMaxElasticCalls;
  }

  bool work_once(WorkerThread& self) {
    const std::shared_ptr<const RunList> list = runs();
    if (list->empty()) return false;
    const std::size_t start = round_.fetch_add(1, std::memory_order_relaxed);
    if (try_take_token()) {
      self.has_token = true;
      const bool did = in_turn(*list, start, [&](Run& run) {
        return self.has_token && work_for(self, run, list->size() == 1);
      });
      if (self.has_token) {
        self.has_token = false;
        tokens_.fetch_add(1, std::memory_order_seq_cst);
        token_event_.notify(1);
      }
      if (did) return true;
    }
    bool called = false;
    return may_call_elastic() && in_turn(*list, start, [&](Run& run) {
             return called || (called = call_elastic(run));
           });
  }

  /// Visits runs whose consumer waits; where none of them has something to do
  /// (`visit` says so), the others. Each is the first in its turn.
  template <class F>
  bool in_turn(const RunList& list, std::size_t start, F visit) const {
    const std::size_t n = list.size();
    for (const bool waiting : {true, false}) {
      bool did = false;
      for (std::size_t i = 0; i < n; ++i) {
        Run& run = *list[(start + i) % n];
        if (run.consumer_waiting() != waiting) continue;
        if (admits(run)) did |= visit(run);
      }
      if (did) return true;
    }
    return false;
  }

  bool call_elastic(Run& run) {
    Work work;
    if (!run.claim(ClaimKind::kElastic, work)) return false;
    elastic_calls_.fetch_add(1, std::memory_order_relaxed);
    grow_elastic(run);
    run.execute(work);
    run.complete(work);
    elastic_calls_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

  // Runs blocks of `run` while there are some; just one when others wait.
  bool work_for(WorkerThread& self, Run& run, bool alone) {
    constexpr int kMaxBlocks = 64;
    int done = 0;
    Work works[2];
    bool more = run.claim(ClaimKind::kCpu, works[0]);
    while (more) {
      Work& work = works[done % 2];
      if (idle_.waiters() > 0 && tokens_.load(std::memory_order_relaxed) > 0 &&
          run.cpu_free() && run.has_work(ClaimKind::kCpu)) {
        idle_.notify(1);
      }
      run.execute(work);
      // A call that blocked lost its token, and the run its CPU share.
      if (!self.has_token) work.kind = ClaimKind::kElastic;
      ++done;
      const bool stay = self.has_token && alone && done < kMaxBlocks;
      more = run.complete(work, stay ? &works[done % 2] : nullptr);
    }
    return done > 0;
  }

  /// One more thread for the elastic lane, if it has work left.
  void grow_elastic(Run& run) {
    if (!run.has_work(ClaimKind::kElastic)) return;
    if (idle_.waiters() > 0) {
      idle_.notify(1);
    } else {
      std::lock_guard lock(mutex_);
      if (threads_ < kMaxElasticThreads && !short_of_threads_) {
        spawn_locked(false);
      }
    }
  }

  void monitor() {
    pthread_setname_np(pthread_self(), "ps-monitor");
    while (!stopping_.load()) {
      {
        std::unique_lock lock(mutex_);
        if (runs_->empty()) wait_for_runs(lock);
      }
      std::this_thread::sleep_for(std::chrono::nanoseconds(until_tick()));
      try {
        tick();
      } catch (const std::bad_alloc&) {
        continue;  // it looks again
      }
    }
  }

  std::int64_t until_tick() const {
    if (!calm_) return kTickNs;
    return ticks_ % kTicksPerSoon == 0 ? kSoonTickNs : kCalmTickNs;
  }

  // Memory for the next epoch is kept for a moment, in which its iterator is
  // made; then nobody needs it.
  void wait_for_runs(std::unique_lock<std::mutex>& lock) {
    const auto some = [this] { return !runs_->empty(); };
    if (monitor_wake_.wait_for(lock, std::chrono::seconds(1), some)) return;
    lock.unlock();
    BufferPool::trim();
    trim_others(true);
    lock.lock();
    monitor_wake_.wait(lock, some);
  }

  // Affinity and quota can change while the process runs.
  void follow_budget() {
    const int budget = detect_cpu_budget();
    const int by = budget - budget_.exchange(budget);
    if (by == 0) return;
    tokens_.fetch_add(by, std::memory_order_seq_cst);
    {
      std::lock_guard lock(mutex_);
      spawn_base_locked();
    }
    token_event_.notify(std::max(0, by));
    kick();
  }

  void tick() {
    if (++ticks_ % kTicksPerBudget == 0) {
      follow_budget();
      trim_others(false);
      std::lock_guard lock(mutex_);
      runs_ = open_runs_locked();
    }
    if (short_of_threads_) look_for_threads();
    const std::int64_t now = clock().now();
    WatchedCalls found;
    {
      std::lock_guard lock(mutex_);
      try {
        watch_calls(workers_, now, found);
      } catch (const std::bad_alloc&) {
        found.calm = false;  // what was found until then is done
      }
      calm_ = found.calm && now - youngest_run_ > kCalmAfterNs;
    }
    for (const auto& run : found.detached) run->adjust_cpu(-1);
    for (int i = 0; i < found.freed_tokens; ++i) give_token();
    for (const auto& [run, stages] : found.waiting) {
      for (const auto& [stage, share] : stages) {
        // As many as would fill the cores, within what tuning can take back.
        constexpr double kMaxFirstWidth = 16;
        run->mark_waiting(stage, static_cast<int>(std::min(
                                     kMaxFirstWidth, cpu_budget() / share)));
      }
      grow_elastic(*run);
    }
    for (const auto& [run, calls] : found.blocked) {
      run->mark_blocking(calls);
      grow_elastic(*run);
    }
    for (const auto& [run, stages] : found.working) {
      for (Stage* stage : stages) run->mark_working(stage);
    }
    // Held by name: a loop over *runs() would let the list go at once.
    const std::shared_ptr<const RunList> list = runs();
    for (const auto& run : *list) run->tune(now);
  }

  std::atomic<int> budget_;
  std::atomic<int> tokens_;  // below zero after the budget shrank
  std::atomic<bool> stopping_{false};
  std::atomic<std::thread::id> exiting_{};     // set before
  std::atomic<bool> short_of_threads_{false};  // the last one was refused
  std::atomic<std::size_t> round_{0};
  std::atomic<int> nested_waits_{0};
  std::atomic<int> elastic_calls_{0};
  EventCount idle_;
  EventCount token_event_;

  std::mutex mutex_;
  std::condition_variable monitor_wake_;
  std::shared_ptr<const RunList> runs_ = std::make_shared<RunList>();
  std::vector<WorkerThread*> workers_;
  int threads_ = 0;
  int base_threads_ = 0;
  int starting_ = 0;
  std::int64_t youngest_run_ = 0;  // when it was added
  int ticks_ = 0;                  // only the monitor
  bool calm_ = false;              // only the monitor
  bool monitor_started_ = false;
};

std::atomic<Executor*> g_executor{nullptr};
std::mutex g_mutex;

// The child of a fork has none of the threads: it starts over.
void after_fork_in_child() {
  new (&g_mutex) std::mutex;
  g_executor.store(nullptr);
  t_worker = nullptr;
}

}  // namespace

WorksElsewhere::WorksElsewhere() : WorksElsewhere(kSomewhere) {}
WorksElsewhere::WorksElsewhere(int process) {
  if (t_worker != nullptr) outer_ = t_worker->elsewhere.exchange(process);
}
WorksElsewhere::~WorksElsewhere() {
  if (t_worker != nullptr) t_worker->elsewhere.store(outer_);
}

NoCallYet::NoCallYet() {
  if (t_worker != nullptr) outer_ = t_worker->elsewhere.exchange(kNowhereYet);
}
NoCallYet::~NoCallYet() {
  if (t_worker != nullptr) t_worker->elsewhere.store(outer_);
}

void LockWait::lies_in(const void* begin, std::size_t bytes) {
  watch_lock(begin, bytes);
}

LockWait::LockWait() : since_(Clock::real().now()) {}
LockWait::~LockWait() { t_lock_wait_ns += Clock::real().now() - since_; }
std::int64_t LockWait::total_ns() { return t_lock_wait_ns; }

Scheduler& default_scheduler() {
  Executor* executor = g_executor.load(std::memory_order_acquire);
  if (executor != nullptr) return *executor;
  std::lock_guard lock(g_mutex);
  executor = g_executor.load();
  if (executor == nullptr) {
    static const bool registered = [] {
      pthread_atfork(nullptr, nullptr, after_fork_in_child);
      std::atexit([] {
        if (Executor* e = g_executor.load()) e->stop();
      });
      return true;
    }();
    (void)registered;
    executor = new Executor;
    g_executor.store(executor, std::memory_order_release);
  }
  return *executor;
}

}  // namespace penstock
