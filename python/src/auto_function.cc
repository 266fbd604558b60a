#include "auto_function.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "convert.h"
#include "penstock/base/clock.h"
#include "penstock/runtime/scheduler.h"
#include "process_clocks.h"
#include "workers.h"

namespace penstock::python {
namespace {

// Judged over at least so many turns of blocks that ran side by side.
constexpr std::int64_t kWindowNs = 15'000'000;
// Below, a call costs less than its share of a crossing.
constexpr std::int64_t kLeastCallNs = 8'000;
// Share of one core that GIL-bound threads use together.
constexpr double kLeastUse = 0.6;
constexpr double kMostUse = 1.25;
// Of the time with a core or waiting for one, that is spent with it.
constexpr double kLeastShare = 0.04;

// In worker processes: work between two looks, and cores that the workers use
// together when it is worth having them.
constexpr std::int64_t kProcessWindowNs = 200'000'000;
constexpr double kLeastWorkersUse = 0.8;
// Calls that went back to threads are not judged anew for so long, twice as
// long each time: on a loaded machine they may have seemed to sleep.
constexpr std::int64_t kFirstPauseNs = 2'000'000'000;

// A call that takes longer does not start in a thread any more while workers
// start, which takes some 0.2 s; nor does it wait for them forever.
constexpr std::int64_t kLongCallNs = 100'000'000;
constexpr std::int64_t kMostStartNs = 5'000'000'000;

// Blocks shorter than this are looked at now and then only.
constexpr std::int64_t kLongBlockNs = 1'000'000;
constexpr std::uint32_t kSampleEvery = 4;

/// Time that the calling thread has used a core, and waited for one: what it
/// waited for besides was no core. How often it left its core because it waited
/// for something, and because others wanted it. About 4 us. The first number of
/// schedstat is of the last time that the thread left its core, or of a tick.
struct CoreTime {
  std::int64_t used = 0;
  std::int64_t delayed = 0;
  std::int64_t waits = 0;
  std::int64_t preemptions = 0;

  CoreTime since(const CoreTime& before) const {
    return {used - before.used, delayed - before.delayed, waits - before.waits,
            preemptions - before.preemptions};
  }
  /// The delay of a thread that could go on. One that wakes to wait again, as
  /// for the GIL every 5 ms, waits for a core each time, too.
  double delayed_at_work() const {
    const std::int64_t all = waits + preemptions;
    return all == 0 ? static_cast<double>(delayed)
                    : static_cast<double>(delayed) *
                          static_cast<double>(preemptions) /
                          static_cast<double>(all);
  }
};
CoreTime core_time() {
  struct File {
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ~File() {
      if (fd >= 0) close(fd);
    }
  };
  thread_local const File file;
  char text[96];
  const ssize_t n =
      file.fd < 0 ? -1 : pread(file.fd, text, sizeof(text) - 1, 0);
  long long delayed = 0;
  if (n > 0) {
    text[n] = '\0';
    if (std::sscanf(text, "%*s %lld", &delayed) != 1) delayed = 0;
  }
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {Clock::real().thread_cpu(), delayed, usage.ru_nvcsw, usage.ru_nivcsw};
}

enum Mode : int { kThreads, kStarting, kProcesses, kStays };

class AutoFunction final : public Function {
 public:
  AutoFunction(FunctionRef in_threads, PyRef prepare, Result result,
               Spec declared, std::string identity, int workers,
               std::shared_ptr<StageCounters> counters,
               std::shared_ptr<ProcessControls> controls,
               std::shared_ptr<AutoState> state)
      : in_threads_(std::move(in_threads)),
        prepare_(std::move(prepare)),
        result_(result),
        declared_(std::move(declared)),
        identity_(std::move(identity)),
        workers_(workers),
        counters_(std::move(counters)),
        controls_(std::move(controls)),
        state_(std::move(state)) {}

  StatusOr<Spec> output_spec(const Spec& input) const override {
    return in_threads_->output_spec(input);
  }
  std::string identity() const override { return identity_; }

  Status apply(const Block& in, CallContext& context,
               Block& out) const override {
    int mode = state_->mode.load(std::memory_order_acquire);
    if (mode == kStarting && workers_ready(context)) {
      std::lock_guard lock(state_->mutex);
      state_->mode.store(kProcesses, std::memory_order_release);
      mode = kProcesses;
    }
    if (mode == kProcesses) {
      Status status = in_processes_->apply(in, context, out);
      if (judge_processes()) go_back();
      return status;
    }
    if (mode != kThreads) return in_threads_->apply(in, context, out);

    const Clock& clock = Clock::real();
    const std::int64_t started = clock.now();
    const bool sample =
        started >= judge_from_.load(std::memory_order_relaxed) &&
        (long_blocks_.load(std::memory_order_relaxed) ||
         blocks_.fetch_add(1) % kSampleEvery == 0);
    const int others = running_.fetch_add(1);
    const CoreTime before = sample ? core_time() : CoreTime();
    Status status = in_threads_->apply(in, context, out);
    const CoreTime after = sample ? core_time() : CoreTime();
    const std::int64_t wall = clock.now() - started;
    // So many side by side at one of its ends: good enough over many blocks.
    const int together = std::max(others + 1, running_.fetch_sub(1));
    long_blocks_.store(wall > kLongBlockNs, std::memory_order_relaxed);
    if (sample && together > 1 &&
        judge(out.size(), wall, together, after.since(before))) {
      start();
    }
    return status;
  }

 private:
  /// Whether a block goes to the workers, which are being started. One of long
  /// calls waits for them: with all cores they are there soon, and any call
  /// that starts in a thread instead has the others wait until it ends.
  bool workers_ready(const CallContext& context) const {
    const WorkerPool& pool = WorkerPool::instance();
    if (pool.ready()) return true;
    const std::int64_t until = wait_until_.load(std::memory_order_relaxed);
    const WorksElsewhere starting;
    while (pool.size() > 0 && Clock::real().now() < until &&
           !context.cancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (pool.ready()) return true;
    }
    return false;
  }

  /// True when the window is full and says that the GIL limits: of so many
  /// that take turns each has its share of the time.
  bool judge(std::int64_t rows, std::int64_t wall, int side_by_side,
             CoreTime core) const {
    std::lock_guard lock(window_mutex_);
    // So many only run where the engine has found that they sleep, or did once:
    // that they wait for a core says nothing then.
    const bool many = side_by_side > 2 * workers_;
    if (many) core.delayed = 0;
    many_ = many_ || many;
    calls_ += rows;
    turns_ += wall / side_by_side;
    core_ += core.used + core.delayed;
    at_work_ += static_cast<double>(core.used) + core.delayed_at_work();
    used_ += core.used;
    if (turns_ < kWindowNs) return false;
    const auto turns = static_cast<double>(turns_);
    const double use = static_cast<double>(core_) / turns;
    const double least_use = at_work_ / turns;
    const std::int64_t call = used_ / std::max<std::int64_t>(1, calls_);
    // On a busy machine a sleeper waits for a core when it wakes.
    const bool sleeps =
        static_cast<double>(used_) < kLeastShare * static_cast<double>(core_);
    calls_ = turns_ = core_ = used_ = 0;
    at_work_ = 0;
    const bool together = hold_together();
    const bool wait = std::exchange(many_, false) && together;
    if (use < kLeastUse || least_use > kMostUse || call < kLeastCallNs ||
        sleeps || wait) {
      agreeing_ = 0;
      return false;
    }
    use_ = least_use;
    call_ns_ = call;
    return ++agreeing_ >= 2 || call > kWindowNs / 2;
  }

  /// Whether more than one call at a time has gone on since the last look:
  /// those that have the GIL do so alone, those that wait for something let it
  /// go.
  bool hold_together() const {
    const std::int64_t now = Clock::real().now();
    const std::int64_t hold = counters_->hold_ns.load();
    const auto time = static_cast<double>(now - std::exchange(looked_, now));
    const auto held = static_cast<double>(hold - std::exchange(held_, hold));
    return held > kMostUse * time;
  }

  /// True when the workers were seen twice to sleep for most of the time: as
  /// many calls as there are cores do less then than threads do in turns.
  bool judge_processes() const {
    std::lock_guard lock(window_mutex_);
    const std::int64_t work = counters_->work_ns.load();
    if (work - judged_work_ < kProcessWindowNs) return false;
    const std::int64_t cpu = counters_->worker_cpu_ns.load();
    const auto spent =
        static_cast<double>(work - std::exchange(judged_work_, work));
    const auto used =
        static_cast<double>(cpu - std::exchange(judged_cpu_, cpu));
    // Without a core nobody sleeps; that of the engine's threads is in it, too.
    const double delay = clocks_.read().run_delay;
    const double delayed = 1e9 * (delay - std::exchange(run_delay_, delay));
    const bool sleep = workers_ * (used + delayed) < kLeastWorkersUse * spent;
    agreeing_ = sleep ? agreeing_ + 1 : 0;
    return agreeing_ >= 2;
  }

  void go_back() const {
    std::lock_guard lock(state_->mutex);
    if (state_->mode.load() != kProcesses) return;  // another call has
    judge_from_.store(Clock::real().now() + pause_ns_);
    pause_ns_ *= 2;
    state_->reason =
        "back in threads: its calls wait more than they compute, and only one "
        "runs at a time in each process";
    state_->mode.store(kThreads, std::memory_order_release);
  }

  /// Pickles the function; says why where it cannot.
  bool prepare() const {
    Gil gil;
    if (!gil.ok()) return false;
    const Owned pickled(
        in_interpreter([&] { return PyObject_CallNoArgs(prepare_.get()); }));
    std::lock_guard lock(state_->mutex);
    if (pickled.get() == nullptr || !PyBytes_Check(pickled.get())) {
      state_->reason = "limited by the GIL, but " + take_python_error();
      return false;
    }
    in_processes_ = make_process_function(
        std::string(PyBytes_AS_STRING(pickled.get()),
                    static_cast<std::size_t>(PyBytes_GET_SIZE(pickled.get()))),
        result_, declared_, identity_, counters_, controls_);
    return true;
  }

  void start() const {
    int expected = kThreads;
    if (!state_->mode.compare_exchange_strong(expected, kStays)) return;
    if (in_processes_ == nullptr && !prepare()) return;
    std::lock_guard lock(state_->mutex);
    state_->reason =
        absl::StrCat("the GIL limited it: threads side by side got ",
                     static_cast<int>(use_ * 100),
                     "% of one core, a call takes ", call_ns_ / 1000, " us");
    WorkerPool::instance().warm(workers_);
    if (call_ns_ > kLongCallNs) {
      wait_until_.store(Clock::real().now() + kMostStartNs);
    }
    state_->mode.store(kStarting, std::memory_order_release);
  }

  const FunctionRef in_threads_;
  const PyRef prepare_;
  const Result result_;
  const Spec declared_;
  const std::string identity_;
  const int workers_;
  const std::shared_ptr<StageCounters> counters_;
  const std::shared_ptr<ProcessControls> controls_;
  const std::shared_ptr<AutoState> state_;
  // Written once, before mode says so.
  mutable FunctionRef in_processes_;
  mutable std::atomic<std::int64_t> wait_until_{0};
  mutable std::atomic<std::int64_t> judge_from_{0};
  mutable std::int64_t pause_ns_ = kFirstPauseNs;  // under the state's lock

  mutable std::atomic<int> running_{0};
  mutable std::atomic<std::uint32_t> blocks_{0};
  mutable std::atomic<bool> long_blocks_{false};
  mutable std::mutex window_mutex_;
  mutable std::int64_t calls_ = 0;
  mutable std::int64_t turns_ = 0;
  mutable std::int64_t core_ = 0;
  mutable double at_work_ = 0;
  mutable std::int64_t used_ = 0;
  mutable std::int64_t call_ns_ = 0;
  mutable double use_ = 0;
  mutable int agreeing_ = 0;
  mutable bool many_ = false;
  mutable std::int64_t looked_ = 0;
  mutable std::int64_t held_ = 0;
  mutable std::int64_t judged_work_ = 0;
  mutable std::int64_t judged_cpu_ = 0;
  mutable double run_delay_ = 0;
  mutable ProcessClocks clocks_;
};

}  // namespace

FunctionHandle make_auto_function(PyRef fn, PyRef prepare, Result result,
                                  Spec declared, std::string identity,
                                  int workers) {
  FunctionHandle handle =
      make_python_function(std::move(fn), result, declared, identity);
  handle.controls = std::make_shared<ProcessControls>();
  handle.controls->workers.most.store(workers);
  handle.automatic = std::make_shared<AutoState>();
  handle.ref = std::make_shared<AutoFunction>(
      handle.ref, std::move(prepare), result, std::move(declared),
      std::move(identity), workers, handle.counters, handle.controls,
      handle.automatic);
  return handle;
}

}  // namespace penstock::python
