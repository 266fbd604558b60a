// A running plan: its pipes, their exchanges and the bookkeeping between them.
//
// Concurrency. One mutex per Run guards every exchange, claim and counter.
// Critical sections only move handles: user code, payload copies and sequencer
// steps run outside it. Workers drive a Run through three steps:
//   claim()     under the lock: picks work nearest the consumer, fixes its
//               place in the order;
//   execute()   without the lock: runs it;
//   complete()  under the lock: files the result.
// A simulation interleaves exactly these steps. Why one lock:
// docs/decisions/0001-one-lock-per-run.md.
//
// Lifetime. Run is shared by its Iterator and by the workers inside it. Pipes
// are owned by the Run (a tree from the consumer to the sources); a pipe with
// work in flight is never destroyed. close() returns when nothing is in flight.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "penstock/graph/node.h"
#include "penstock/memory/ledger.h"
#include "penstock/runtime/exchange.h"
#include "penstock/runtime/scheduler.h"
#include "penstock/runtime/stats.h"
#include "penstock/runtime/trace.h"

namespace penstock {

class Pipe;
class SegmentPipe;

/// What a caller of claim() may run.
enum class ClaimKind : std::uint8_t {
  kCpu,      // holds a CPU token
  kElastic,  // holds none: only stages known to block
  kHelp,     // the consumer's own thread: no user code
};

/// A stage of the plan while it runs.
struct Stage {
  StageInfo info;
  std::uint64_t salt = 0;
  alignas(64) StageStats stats;
  std::string label;
  std::atomic<bool> blocking{false};
  // Only the monitor: ticks at which all calls worked elsewhere, and pairs of
  // ticks at which it saw one call, in some of which that took little CPU.
  int ticks_elsewhere = 0;
  int tick_pairs = 0;
  int quiet_tick_pairs = 0;
  // Of what its segments give, for those planned later; 0 is unknown.
  std::atomic<double> bytes_per_row{0};
  // Under the run's lock: bytes of the least it does at once, as it was lately.
  double step_bytes = 0;  // with its inputs
  double made_bytes = 0;
};

/// One claimed piece of work.
struct Work {
  Pipe* pipe = nullptr;
  SlotRef slot{};
  Item input;
  IndexRun indices;  // when the pipe starts at an index
  bool from_index = false;
  ClaimKind kind = ClaimKind::kCpu;
  bool dry_run = false;  // find() only tells whether there is work
  Charge reservation;    // for the result
  bool sample = false;   // time every stage of this block, and its CPU
  std::shared_ptr<TraceRecorder> tracer;  // not null: time every stage
  std::int64_t expected_rows = 0;

  // Batch memory for the rows, one piece per batch they fall into.
  struct BatchMemory {
    struct Piece {
      Ref<Buffer> buffer;
      std::int64_t first = 0;  // row of this work
      std::int64_t count = 0;
      std::int64_t offset = 0;  // of that row in the batch
    };
    absl::InlinedVector<Piece, 1> pieces;
    LeafSpec row_spec;  // of each row there
    std::int64_t row_bytes = 0;

    bool empty() const { return pieces.empty(); }
    /// What the rows from `rows` on have of it, counted from there.
    BatchMemory behind(std::int64_t rows) const;
  };
  BatchMemory batch_memory;

  // Results of execute().
  Item output;
  // Rows that `link` and those behind it are still to work on, because the
  // block they were claimed with took too long: what is left of this work, or
  // what it continues.
  struct Rest {
    Block rows;
    std::size_t link = 0;
    Mark mark;   // of what the first row becomes
    Mark input;  // of the first row, where the links before drop none
    std::int64_t tag = 0;
    BatchMemory batch_memory;
    RowParts keep;  // the input, which is paid for
  };
  std::optional<Rest> left;
  Charge left_charge;  // for the batch memory of `left`
  std::optional<Rest> resumed;
  std::vector<Item> emitted;  // of a sequencer
  Step step;
  Status failure;
  std::int64_t input_rows = 0;
  std::int64_t started = 0;
  std::int64_t finished = 0;
  std::int64_t lock_wait_ns = 0;  // of the time between (scheduler.h)
  std::int64_t bytes = 0;
  std::int64_t made_bytes = 0;  // by a sequencer, besides rows it passed on
  bool passed_on = false;       // the output is the rows that came in
  std::int64_t input_bytes = 0;
  std::int64_t errors = 0;
  std::vector<ErrorRef> quarantined;  // skipped or replaced by a policy
  std::int64_t cpu_ns = -1;           // when sampled
  double block_ns = 0;  // what the stages asked for (graph/block_hint.h)
  /// Per stage, in the order of the pipe's links.
  absl::InlinedVector<std::int64_t, 4> rows_out;
  absl::InlinedVector<std::int64_t, 4> stage_ns;     // when sampled
  absl::InlinedVector<std::int64_t, 4> stage_bytes;  // when sampled
  // Per link: of what it gave, bytes that are views of what it was given.
  absl::InlinedVector<std::int64_t, 4> stage_shared;  // when sampled
  /// What stages did with files and pictures; seldom any.
  absl::InlinedVector<std::pair<Stage*, WorkCounters>, 1> done;

  /// As if it were new. Assigning a new one would visit each member twice.
  void clear() {
    std::destroy_at(this);
    std::construct_at(this);
  }
};

struct RunConfig {
  Scheduler* scheduler = nullptr;
  Epoch epoch;
  int cpu_budget = 0;  // 0: the scheduler's, which may change
  std::int64_t memory_budget = 0;
  bool deterministic = true;
  bool autotune = true;
  bool fuse = true;
  std::int64_t max_block_rows = 1 << 20;
  /// Of a run from a saved state: no error had come until that was saved.
  bool no_errors_before = false;
  /// Iterators around this one: it was made by a function of the innermost.
  int depth = 0;
};

class Run : public std::enable_shared_from_this<Run> {
 public:
  /// Plans `node` to run from `mark` (null: from the start).
  static StatusOr<std::shared_ptr<Run>> create(const NodeRef& node,
                                               RunConfig config,
                                               const Mark& mark);
  ~Run();

  // --- workers ----------------------------------------------------------
  /// False when there is nothing to do now. `now` is the time if it was just
  /// read; 0 reads the clock where it is needed.
  bool claim(ClaimKind kind, Work& work, std::int64_t now = 0);
  void execute(Work& work);
  /// How many runs the calling thread works for, each inside the next.
  static int current_depth();
  /// Whether the calling thread works for this one: waiting for it would have
  /// no end.
  bool worked_for_here() const;
  /// Files the result. With `next`: claims the next CPU work in the same
  /// breath, and gives whether there is some.
  bool complete(Work& work, Work* next = nullptr);
  /// Whether claim() would find something.
  bool has_work(ClaimKind kind);
  /// The consumer waits for an element.
  bool consumer_waiting() const {
    return waiting_.load(std::memory_order_relaxed);
  }

  /// Some of its calls were found to block, and run without a token.
  bool has_elastic() const {
    return has_elastic_.load(std::memory_order_relaxed);
  }

  /// How deep this run stands below others whose functions wait for it.
  int nesting() const { return nesting_.load(std::memory_order_relaxed); }
  /// A function of a run that stands at `outer` waits for this one.
  void nest_below(int outer);

  // --- consumer ---------------------------------------------------------
  enum class Fetch { kBlock, kEnd, kCancelled, kInterrupted, kFailed };
  /// Waits for the next block. Called by one thread at a time. While it waits,
  /// it asks `interrupted` every kInterruptNs; true ends the wait, and the next
  /// call goes on as if this one had not been.
  Fetch fetch(BlockRef& block, std::int64_t& begin, std::int64_t& end,
              Mark& mark, const std::function<bool()>& interrupted = nullptr);
  static constexpr std::int64_t kInterruptNs = 20'000'000;
  /// Tells how many rows of the last block the consumer has not used yet;
  /// matters when prefetch(n) bounds the work. By the thread that fetches.
  void consumer_holds(std::int64_t rows);
  /// The place of the first element of a run from the start.
  Mark take_first_mark();
  /// True when the last stage's output is bounded by prefetch(n).
  bool bounded() const { return bounded_; }
  /// True when the last stage is prefetch(0): nothing is made but what a
  /// consumer waits for.
  bool on_demand() const { return on_demand_; }

  /// No new work is started; a waiting fetch() returns. Returns at once.
  void cancel();
  /// cancel(), then waits for work in flight; false on time-out.
  bool close(std::int64_t timeout_ns = -1);
  bool cancelled() const { return cancelled_.load(); }
  bool closed() const { return closed_.load(std::memory_order_relaxed); }
  /// Why fetch() gave kFailed.
  const ErrorRef& failure() const { return failure_; }
  const std::atomic<bool>* cancel_flag() const { return &cancelled_; }

  /// Labels of the stages with a call of user code under way.
  std::vector<std::string> running_stages();
  IteratorStats stats();
  std::string explain();
  /// Records events until stop_trace(). False when one is being recorded.
  bool start_trace(std::int64_t events_per_thread);
  Trace stop_trace();
  bool tracing() const {
    std::lock_guard lock(mutex_);
    return tracer_ != nullptr;
  }
  Account& account() { return account_; }
  const RunConfig& config() const { return config_; }
  Scheduler& scheduler() { return *config_.scheduler; }

  // --- monitor ----------------------------------------------------------
  /// Calls that were seen to block, by stage.
  using StageCalls = std::map<Stage*, int>;
  void mark_blocking(const StageCalls& calls);
  /// Its calls are short but mostly wait: `width` of them are to run at once.
  void mark_waiting(Stage* stage, int width);
  /// It was taken for blocking, but its calls work elsewhere, or wait for a
  /// lock that they take in turn: more of them at once would do no more.
  void mark_working(Stage* stage);
  /// Every tick: follows the measured rate of blocking stages.
  void tune(std::int64_t now);

  // --- for pipes, all under the lock --------------------------------------
  std::mutex& mutex() { return mutex_; }
  /// Consumers and closers wait here.
  std::condition_variable& waiters() { return waiters_; }
  /// The consumer had to wait, not only for the first element: what
  /// prefetch(n) has ready does not last. Stays so.
  bool consumer_outran() const { return consumer_outran_; }
  /// Thread-safe without the lock.
  Stage* new_stage(StageInfo info);
  std::int64_t now() const { return config_.scheduler->clock().now(); }
  std::int64_t soft_limit() const { return soft_limit_; }
  void log(std::string stage, std::string what, std::string reason);
  /// A policy skipped the error, or put a value in its place.
  void quarantine(const ElementError& error, bool replaced);
  /// Some of its work is not for the consumer's own thread. Thread-safe.
  void note_user_code() { has_user_code_.store(true); }
  bool has_user_code() const {
    return has_user_code_.load(std::memory_order_relaxed);
  }
  /// Takes a pipe whose input is closed; destroyed when it is idle.
  void retire(std::unique_ptr<Pipe> pipe);
  /// Time of the claim under way; one clock read serves all pipes, and most
  /// searches that find nothing need none.
  std::int64_t claim_time();
  /// A search for work dropped rows that a restore need not repeat: a pipe may
  /// have come to its end without any work being done.
  void note_passed_over() { passed_over_ = true; }
  /// Bytes that work may take: what is not on the critical path leaves room
  /// for the inputs of the largest step, so that the path never holds more
  /// beyond the budget than the one element it is about to make.
  std::int64_t spendable(bool critical) const {
    return account_.available() - (critical ? 0 : reserve_);
  }
  /// A step of `stage` that cannot be smaller took `step` bytes, inputs and
  /// all, and made `made` of them.
  void note_step(Stage* stage, double step, double made);
  /// Bytes that sequencers keep while they wait for input, and that only they
  /// can let go. Thread-safe.
  void add_kept(std::int64_t bytes) {
    kept_.fetch_add(bytes, std::memory_order_relaxed);
  }
  std::int64_t kept() const { return kept_.load(std::memory_order_relaxed); }
  /// CPU workers of this run at work.
  void adjust_cpu(int by);
  bool cpu_free() const {
    return cpu_active_.load(std::memory_order_relaxed) < cpu_budget();
  }
  int cpu_budget() const {
    return config_.cpu_budget > 0 ? config_.cpu_budget
                                  : config_.scheduler->cpu_budget();
  }

 private:
  explicit Run(RunConfig config);
  bool find_work(ClaimKind kind, Work& work);
  bool search(ClaimKind kind, Work& work);
  Fetch take_ready(BlockRef& block, std::int64_t& begin, std::int64_t& end,
                   Mark& mark);
  /// There was no memory for something small. The pipes may have been left
  /// half changed, so nobody looks at them any more: the run ends with an
  /// error. Under the lock.
  void fail();
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  /// Under the lock.
  void count_cpu(int by) {
    cpu_active_.store(cpu_active_.load(std::memory_order_relaxed) + by,
                      std::memory_order_relaxed);
  }
  void for_segments_of(Stage* stage, bool blocking,
                       const std::function<void(SegmentPipe&)>& visit);
  bool any_blocking();
  bool fetch_ready() const;
  /// Moves retired pipes without work in flight to `idle`.
  void take_idle(std::vector<std::unique_ptr<Pipe>>& idle);
  /// Whether a worker who is woken would find work; under the lock.
  bool workers_needed(std::int64_t now);
  /// Where prefetch(n) bounds the work: whether there is room for so much of it
  /// that waking a worker pays; under the lock.
  bool refill_due(std::int64_t now);
  /// Rows below `limit`, the least for which it pays.
  std::int64_t rows_worth_waking() const;
  /// Rows that may be started now beyond those on their way.
  std::int64_t room_ahead() const;
  /// Without a prefetch(n): half of what may lie ready is gone, or so much that
  /// making it takes several times as long as to wake for it.
  bool refill_pays() const;
  static constexpr std::int64_t kRefillWorthNs = 200'000;
  // What waking costs the one who wakes and the one who is woken.
  static constexpr std::int64_t kWakeWorthNs = 40'000;
  /// While all cores work for this run, a consumer that was just woken is left
  /// asleep for a moment: each waking takes a worker's core for some 20 to 45
  /// us. Whoever finds no work, and the monitor, wake it all the same.
  bool may_sleep_on(std::int64_t now) const;
  static constexpr std::int64_t kWakePeriodNs = 4'000'000;
  IteratorStats stats_locked();
  void execute_traced(Work& work);
  void trace_fetch(std::int64_t returned, std::int64_t asked,
                   const BlockRef* block);
  void sample_counters(std::int64_t now);
  void sample_if_traced(std::int64_t now);

  // What each claim changes, in one line of the cache.
  alignas(64) mutable std::mutex mutex_;
  std::atomic<int> in_flight_{0};   // raised under the lock
  std::atomic<int> cpu_active_{0};  // written with the mutex
  std::int64_t claim_time_ = 0;
  std::int64_t woken_at_ = 0;  // the consumer, by complete()

  const RunConfig config_;
  NodeRef node_;
  std::condition_variable waiters_;
  std::mutex stages_mutex_;  // only for the list: nested plans add to it
  Account account_;
  std::int64_t reserve_ = 0;
  double largest_step_ = 0;
  double largest_made_ = 0;
  std::atomic<std::int64_t> kept_{0};
  std::vector<std::unique_ptr<Stage>> stages_;
  std::unique_ptr<Pipe> root_;
  std::vector<std::unique_ptr<Pipe>> retired_;
  std::vector<Decision> decisions_;
  std::vector<QuarantinedError> quarantine_;
  std::int64_t errors_skipped_ = 0;
  std::int64_t errors_replaced_ = 0;
  std::int64_t soft_limit_ = std::int64_t{4} << 20;
  std::int64_t created_ = 0;
  std::atomic<std::int64_t> held_rows_{0};  // stored by the consumer
  std::int64_t tell_at_ = 0;  // only the consumer: holding more is no news
  // What output rows took of all threads lately.
  std::int64_t recent_work_ns_ = 0;
  std::int64_t recent_rows_ = 0;
  bool bounded_ = false;
  bool on_demand_ = false;
  bool consumer_outran_ = false;
  bool passed_over_ = false;
  std::atomic<bool> waiting_{false};
  std::atomic<bool> has_elastic_{false};
  std::atomic<bool> has_user_code_{false};
  std::atomic<int> nesting_{0};
  std::shared_ptr<TraceRecorder> tracer_;  // null: not traced
  std::int64_t last_sample_ = 0;
  std::uint64_t step_block_ = 0;  // what the consumer works on, if traced
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> closed_{false};
  std::atomic<bool> failed_{false};
  ErrorRef failure_;  // made in advance

  IteratorStats final_stats_;  // once closed
  std::int64_t consumed_ = 0;
  std::int64_t wait_ns_ = 0;
  std::int64_t think_ns_ = 0;
  std::int64_t last_return_ = 0;
};

}  // namespace penstock
