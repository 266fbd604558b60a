// What the calls of worker threads do: compute, wait, or work elsewhere.
//
// The monitor looks at all threads every tick and tells the executor which
// calls block, so that others can have their cores, and which stages wait, so
// that more of their calls run at once.
//
// Locks. A thread's call_mutex guards what others may see of the call it is in.
// The caller of watch_calls() keeps the threads from ending meanwhile.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "penstock/runtime/run.h"

namespace penstock {

/// The monitor looks so often; more seldom where it finds all calm.
inline constexpr std::int64_t kTickNs = 2'000'000;

enum CallState : int {
  kNoCall,
  kInCall,      // with a token
  kDetached,    // its token was taken: the call blocks
  kTokenless,   // in a call on the elastic lane
  kNestedWait,  // waits in next() of another iterator
  kTokenWait,   // before a call that needs one
};

/// Where else a call works: in the process of that number, or one of these.
inline constexpr int kHere = 0;
inline constexpr int kSomewhere = -1;
inline constexpr int kNowhereYet = -2;

struct WorkerThread {
  std::mutex call_mutex;
  // Guarded by call_mutex.
  Run* run = nullptr;
  Stage* stage = nullptr;
  int state = kNoCall;
  std::uint64_t call = 0;  // counts them: the monitor takes the time
  // Time in calls that are known to block, and before others for a token.
  std::int64_t waited_ns = 0;
  std::atomic<int> elsewhere{kHere};
  std::atomic<bool> overdue{false};
  // Only the thread itself.
  bool has_token = false;
  bool borrowed_token = false;
  std::int64_t tokenless_since = 0;
  // Only the monitor.
  std::uint64_t seen_call = 0;
  int seen_place = kHere;  // where the call was at work
  std::int64_t first_seen = 0;
  std::int64_t last_tick = 0;  // at which the call was seen, and its CPU time
  std::int64_t last_cpu = 0;
  std::int64_t seen_at = 0;  // 0: not looked at yet
  std::int64_t seen_cpu = 0;
  std::int64_t seen_delay = 0;
  std::uint64_t blocked_call = 0;  // the last one that was found to block
  struct {
    std::weak_ptr<Run> run;
    int ticks = 0;  // at which it was in one of the run's calls
    std::vector<std::pair<Stage*, int>> stages;  // the same of each stage
    std::int64_t since = 0;
    std::int64_t cpu = 0;
    std::int64_t delay = 0;
    std::int64_t waited = 0;
  } short_calls;
  clockid_t cpu_clock{};
  pid_t tid = 0;
  bool base = false;
};

struct WatchedCalls {
  /// Calls that block, by stage. Those that had a token lost it.
  std::map<std::shared_ptr<Run>, Run::StageCalls> blocked;
  /// Tokens that calls lost, and the runs of those that were no loan.
  int freed_tokens = 0;
  std::vector<std::shared_ptr<Run>> detached;
  /// Stages whose calls are short but mostly wait, with the share of a core
  /// that one takes.
  std::map<std::shared_ptr<Run>, std::map<Stage*, double>> waiting;
  /// Stages on the elastic lane of which no call has blocked for a while.
  std::map<std::shared_ptr<Run>, std::vector<Stage*>> working;
  /// Every call is short and none is known to block.
  bool calm = true;
};

/// Calls that wait for a lock in this memory take turns at it.
void watch_lock(const void* begin, std::size_t bytes);

/// Fills `found`, which holds what was done also where memory ends meanwhile.
void watch_calls(std::span<WorkerThread* const> workers, std::int64_t now,
                 WatchedCalls& found);

}  // namespace penstock
