#include "penstock/runtime/call_watch.h"

#include <algorithm>
#include <utility>

#include "penstock/runtime/thread_sight.h"

namespace penstock {
namespace {

constexpr std::int64_t kBlockedNs = 5'000'000;
constexpr std::int64_t kKnownBlockedNs = 1'000'000;
// The rest of a block that runs for longer is given back: four times what
// blocks aim at, less what the monitor may have missed.
constexpr std::int64_t kOverdueNs = 7'000'000;
// Calls that are shorter are judged together: those of a stage that lasted from
// one tick to the next by their CPU time between so many pairs of ticks, others
// by that of a thread which was found in calls of one run at so many in a row.
constexpr int kTickPairs = 6;
constexpr int kShortCallTicks = 10;
constexpr double kBlockedCpuShare = 0.2;
constexpr double kLeastCpuShare = 1e-3;
// Ticks in a row at which a stage on the elastic lane was found to have no call
// that blocks, but some that work elsewhere.
constexpr int kElsewhereTicks = 10;

std::int64_t cpu_time(clockid_t id) {
  timespec ts{};
  if (clock_gettime(id, &ts) != 0) return 0;
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

std::atomic<std::uintptr_t> g_lock_begin{0};
std::atomic<std::uintptr_t> g_lock_end{0};

/// CPU time of whoever runs the call, and what the kernel says about it.
std::int64_t cpu_of_call(const WorkerThread& w) {
  return w.seen_place > 0 ? cpu_time_of_process(w.seen_place)
                          : cpu_time(w.cpu_clock);
}
std::int64_t run_delay_of_call(const WorkerThread& w) {
  return w.seen_place > 0 ? run_delay_of_process(w.seen_place)
                          : run_delay_of_thread(w.tid);
}
ThreadSight look_at_call(const WorkerThread& w) {
  return w.seen_place > 0 ? look_at_process(w.seen_place)
                          : look_at_thread(w.tid);
}

/// It waits for a core, or for its turn at a lock, and for nothing else.
bool could_go_on(const WorkerThread& w, const ThreadSight& sight) {
  return sight.runnable ||
         (w.seen_place <= 0 &&
          waits_in_memory(w.tid, g_lock_begin.load(), g_lock_end.load()));
}

/// Whether a call of a stage could go on, looked at once a tick. Another that
/// waits may wait for the same lock, as functions of Python take turns at the
/// GIL: more of them at once would do no more.
class CallsAtWork {
 public:
  explicit CallsAtWork(std::span<WorkerThread* const> workers) {
    for (WorkerThread* w : workers) {
      std::lock_guard call(w->call_mutex);
      if (w->state == kInCall) calls_.emplace_back(w->stage, w->tid);
    }
  }
  bool any(const Stage* stage) {
    const auto [at, first] = seen_.try_emplace(stage, false);
    if (!first) return at->second;
    for (const auto& [of, tid] : calls_) {
      if (of == stage && look_at_thread(tid).runnable) {
        return at->second = true;
      }
    }
    return false;
  }

 private:
  std::vector<std::pair<const Stage*, pid_t>> calls_;
  std::map<const Stage*, bool> seen_;
};

// The share of a core that calls of one run took in this thread while it did
// nothing else; 1 while that is not known.
double short_call_share(WorkerThread& w, std::int64_t now) {
  auto& calls = w.short_calls;
  const std::weak_ptr<Run> run = w.run->weak_from_this();
  const bool same =
      !calls.run.owner_before(run) && !run.owner_before(calls.run);
  if (calls.ticks == 0 || !same) {
    calls.run = run;
    calls.ticks = 0;
    calls.stages.clear();
    calls.since = now;
    calls.cpu = cpu_of_call(w);
    calls.delay = run_delay_of_call(w);
    calls.waited = w.waited_ns;
  }
  const auto stage =
      std::find_if(calls.stages.begin(), calls.stages.end(),
                   [&](const auto& seen) { return seen.first == w.stage; });
  if (stage == calls.stages.end()) {
    calls.stages.emplace_back(w.stage, 1);
  } else {
    ++stage->second;
  }
  if (++calls.ticks < kShortCallTicks) return 1;
  calls.ticks = 0;
  const auto used = static_cast<double>(cpu_of_call(w) - calls.cpu);
  // Waiting for a core is no part of it; it is counted when it is over.
  const ThreadSight sight = look_at_call(w);
  const auto wall = static_cast<double>(now - calls.since -
                                        (sight.run_delay_ns - calls.delay) -
                                        (w.waited_ns - calls.waited));
  if (wall <= 0 || used >= kBlockedCpuShare * wall) return 1;
  return could_go_on(w, sight) ? 1 : used / wall;
}

// Those in which the thread was mostly seen. A stage that computes has at most
// the share of the time that makes calls count as blocking.
std::vector<Stage*> stages_that_wait(const WorkerThread& w) {
  int most = 0;
  for (const auto& [stage, ticks] : w.short_calls.stages) {
    most = std::max(most, ticks);
  }
  std::vector<Stage*> waiting;
  for (const auto& [stage, ticks] : w.short_calls.stages) {
    if (2 * ticks >= most) waiting.push_back(stage);
  }
  return waiting;
}

/// What a call took of a core since the last tick.
enum class SinceTick { kNotSeen, kLittle, kMuch };
SinceTick since_tick(WorkerThread& w, std::int64_t now) {
  const std::int64_t cpu = cpu_of_call(w);
  const auto wall = static_cast<double>(now - std::exchange(w.last_tick, now));
  const auto used = static_cast<double>(cpu - std::exchange(w.last_cpu, cpu));
  if (w.seen_call != w.call) return SinceTick::kNotSeen;
  return used < kBlockedCpuShare * wall ? SinceTick::kLittle : SinceTick::kMuch;
}

// Whether calls of the stage that lasted from one tick to the next mostly
// waited; false while too few of them were seen.
bool waits_between_ticks(WorkerThread& w, std::int64_t now) {
  const SinceTick taken = since_tick(w, now);
  if (taken == SinceTick::kNotSeen) return false;
  Stage& stage = *w.stage;
  ++stage.tick_pairs;
  if (taken == SinceTick::kLittle) ++stage.quiet_tick_pairs;
  if (stage.tick_pairs < kTickPairs) return false;
  const double quiet = stage.quiet_tick_pairs;
  const bool waits = quiet > (1 - kBlockedCpuShare) * stage.tick_pairs;
  stage.tick_pairs = stage.quiet_tick_pairs = 0;
  return waits && !could_go_on(w, look_at_call(w));
}

// Whether one call has waited for long by itself.
bool blocks(WorkerThread& w, bool known, std::int64_t now,
            CallsAtWork& at_work) {
  if (w.seen_call != w.call) {
    w.seen_call = w.call;
    w.first_seen = now;
    w.seen_at = 0;
  }
  const std::int64_t age = now - w.first_seen;  // or more
  if (age >= kOverdueNs) w.overdue.store(true, std::memory_order_relaxed);
  if (age < (known ? kKnownBlockedNs : kBlockedNs) - kTickNs) return false;
  const std::int64_t cpu = cpu_of_call(w);
  if (w.seen_at == 0) {
    w.seen_at = now;
    w.seen_cpu = cpu;
    w.seen_delay = run_delay_of_call(w);
    return false;
  }
  auto wall = static_cast<double>(now - w.seen_at);
  const auto used = static_cast<double>(cpu - w.seen_cpu);
  if (wall <= 0 || used > kBlockedCpuShare * wall) return false;
  // Waiting for a core looks the same from here, but is not blocking. One look
  // per call: with many that sleep they would take a core.
  if (w.blocked_call == w.call) return true;
  const ThreadSight sight = look_at_call(w);
  wall -= static_cast<double>(sight.run_delay_ns - w.seen_delay);
  if (sight.runnable || used > kBlockedCpuShare * wall) return false;
  if (!known && (could_go_on(w, sight) || at_work.any(w.stage))) return false;
  w.blocked_call = w.call;
  return true;
}

// Of stages on the elastic lane, whether each call works elsewhere.
struct ElasticCalls {
  std::shared_ptr<Run> run;
  bool all_elsewhere = true;
};

}  // namespace

void watch_lock(const void* begin, std::size_t bytes) {
  g_lock_begin.store(reinterpret_cast<std::uintptr_t>(begin));
  g_lock_end.store(reinterpret_cast<std::uintptr_t>(begin) + bytes);
}

void watch_calls(std::span<WorkerThread* const> workers, std::int64_t now,
                 WatchedCalls& found) {
  found.detached.reserve(workers.size());
  std::map<Stage*, ElasticCalls> elastic;
  CallsAtWork at_work(workers);
  for (WorkerThread* w : workers) {
    std::lock_guard call(w->call_mutex);
    if (w->state == kTokenWait) continue;
    if (w->state == kNoCall || w->state == kNestedWait) {
      w->short_calls.ticks = 0;
      continue;
    }
    const std::shared_ptr<Run> run = w->run->shared_from_this();
    const bool known = w->stage->blocking.load(std::memory_order_relaxed);
    const int place = w->elsewhere.load(std::memory_order_relaxed);
    if (place != w->seen_place) {
      w->seen_place = place;
      w->seen_call = 0;
      w->short_calls.ticks = 0;
    }
    if (place == kNowhereYet) continue;
    if (known) {
      ElasticCalls& calls = elastic[w->stage];
      calls.run = run;
      const bool elsewhere =
          place == kSomewhere ||
          (place > 0 && since_tick(*w, now) == SinceTick::kMuch);
      calls.all_elsewhere = calls.all_elsewhere && elsewhere;
    }
    if (place == kSomewhere) {
      w->seen_call = 0;
      w->short_calls.ticks = 0;
      continue;
    }
    found.calm = found.calm && !known && w->seen_call != w->call;
    if (!known) {
      const double share = short_call_share(*w, now);
      if (share < kBlockedCpuShare) {
        for (Stage* stage : stages_that_wait(*w)) {
          if (at_work.any(stage)) continue;
          found.waiting[run][stage] = std::max(share, kLeastCpuShare);
        }
      }
      if (waits_between_ticks(*w, now) && !at_work.any(w->stage)) {
        found.waiting[run].emplace(w->stage, kLeastCpuShare);
      }
    }
    if (!blocks(*w, known, now, at_work)) continue;
    ++found.blocked[run][w->stage];
    if (w->state == kInCall) {
      w->state = kDetached;
      ++found.freed_tokens;
      if (!w->borrowed_token) found.detached.push_back(run);
    }
  }
  for (auto& [stage, calls] : elastic) {
    stage->ticks_elsewhere =
        calls.all_elsewhere ? stage->ticks_elsewhere + 1 : 0;
    if (stage->ticks_elsewhere < kElsewhereTicks) continue;
    stage->ticks_elsewhere = 0;
    found.working[calls.run].push_back(stage);
  }
}

}  // namespace penstock
