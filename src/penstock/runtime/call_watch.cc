#include "penstock/runtime/call_watch.h"

#include <algorithm>

#include "penstock/runtime/thread_sight.h"

namespace penstock {
namespace {

constexpr std::int64_t kBlockedNs = 5'000'000;
constexpr std::int64_t kKnownBlockedNs = 1'000'000;
// The rest of a block that runs for longer is given back: four times what
// blocks aim at, less what the monitor may have missed.
constexpr std::int64_t kOverdueNs = 3'000'000;
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
    calls.cpu = cpu_time(w.cpu_clock);
    calls.delay = run_delay_of_thread(w.tid);
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
  const auto used = static_cast<double>(cpu_time(w.cpu_clock) - calls.cpu);
  // Waiting for a core is no part of it; it is counted when it is over.
  const ThreadSight sight = look_at_thread(w.tid);
  const auto wall = static_cast<double>(now - calls.since -
                                        (sight.run_delay_ns - calls.delay) -
                                        (w.waited_ns - calls.waited));
  return wall > 0 && !sight.runnable ? used / wall : 1;
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

// Whether calls of the stage that lasted from one tick to the next mostly
// waited; false while too few of them were seen.
bool waits_between_ticks(WorkerThread& w, std::int64_t now) {
  const std::int64_t cpu = cpu_time(w.cpu_clock);
  const bool same = w.seen_call == w.call;
  const auto wall = static_cast<double>(now - w.last_tick);
  const auto used = static_cast<double>(cpu - w.last_cpu);
  w.last_tick = now;
  w.last_cpu = cpu;
  if (!same) return false;
  Stage& stage = *w.stage;
  ++stage.tick_pairs;
  if (used < kBlockedCpuShare * wall) ++stage.quiet_tick_pairs;
  if (stage.tick_pairs < kTickPairs) return false;
  const double quiet = stage.quiet_tick_pairs;
  const bool waits = quiet > (1 - kBlockedCpuShare) * stage.tick_pairs;
  stage.tick_pairs = stage.quiet_tick_pairs = 0;
  return waits && !look_at_thread(w.tid).runnable;
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
  const std::int64_t cpu = cpu_time(w.cpu_clock);
  if (w.seen_at == 0) {
    w.seen_at = now;
    w.seen_cpu = cpu;
    w.seen_delay = run_delay_of_thread(w.tid);
    return false;
  }
  auto wall = static_cast<double>(now - w.seen_at);
  const auto used = static_cast<double>(cpu - w.seen_cpu);
  if (wall <= 0 || used > kBlockedCpuShare * wall) return false;
  // Waiting for a core looks the same from here, but is not blocking. One look
  // per call: with many that sleep they would take a core.
  if (w.blocked_call == w.call) return true;
  const ThreadSight sight = look_at_thread(w.tid);
  wall -= static_cast<double>(sight.run_delay_ns - w.seen_delay);
  if (sight.runnable || used > kBlockedCpuShare * wall) return false;
  if (!known && at_work.any(w.stage)) return false;
  w.blocked_call = w.call;
  return true;
}

// Of stages on the elastic lane, whether each call works elsewhere.
struct ElasticCalls {
  std::shared_ptr<Run> run;
  bool all_elsewhere = true;
};

}  // namespace

WatchedCalls watch_calls(std::span<WorkerThread* const> workers,
                         std::int64_t now) {
  WatchedCalls found;
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
    const bool elsewhere = w->works_elsewhere.load(std::memory_order_relaxed);
    if (known) {
      ElasticCalls& calls = elastic[w->stage];
      calls.run = run;
      calls.all_elsewhere = calls.all_elsewhere && elsewhere;
    }
    if (elsewhere) {
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
  return found;
}

}  // namespace penstock
