#include "penstock/runtime/run.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "penstock/base/brief_lock.h"
#include "penstock/runtime/pipe.h"

namespace penstock {
namespace {

constexpr std::int64_t kRecentRows = 4096;  // that tell what a row takes

// Of the code that this thread runs: 1 inside a function of an iterator, 2
// inside a function of an iterator that such a function made, and so on.
thread_local int t_depth = 0;
thread_local const struct WorkScope* t_work = nullptr;

struct WorkScope {
  WorkScope(const Run* worked_for, int depth)
      : run(worked_for),
        outer_depth(std::exchange(t_depth, depth)),
        outer(std::exchange(t_work, this)) {}
  ~WorkScope() {
    t_depth = outer_depth;
    t_work = outer;
  }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;
  const Run* const run;
  const int outer_depth;
  const WorkScope* const outer;
};

}  // namespace

Run::Run(RunConfig config)
    : config_(std::move(config)),
      account_(config_.memory_budget, &Account::process()),
      nesting_(config_.depth) {
  auto failure = std::make_shared<ElementError>();
  failure->status = absl::ResourceExhaustedError(
      "the system has no memory for what the engine notes about its work; the "
      "state before this error can be restored");
  failure->ends_stage = true;
  failure_ = std::move(failure);
  created_ = now();
  last_return_ = created_;
  soft_limit_ = std::max<std::int64_t>(
      64 * 1024, std::min(soft_limit_, config_.memory_budget / 4));
}

Run::~Run() = default;

StatusOr<std::shared_ptr<Run>> Run::create(const NodeRef& node,
                                           RunConfig config, const Mark& mark) {
  std::shared_ptr<Run> run(new Run(std::move(config)));
  run->node_ = node;
  PS_ASSIGN_OR_RETURN(run->root_, plan(*run, node, "", run->config().epoch,
                                       nullptr, mark, false));
  run->bounded_ = run->root_->out.limit != kUnlimited;
  run->on_demand_ = run->root_->out.limit == 0;
  if (const std::int64_t events = trace_new_runs()) run->start_trace(events);
  return run;
}

Mark Run::take_first_mark() { return root_->take_first_mark(); }

Stage* Run::new_stage(StageInfo info) {
  // Nested datasets come and go; their stages share one set of counters.
  std::string label = info.to_string();
  std::lock_guard lock(stages_mutex_);
  for (const auto& stage : stages_) {
    if (stage->label == label) return stage.get();
  }
  auto stage = std::make_unique<Stage>();
  stage->salt = stage_salt(info);
  stage->info = std::move(info);
  stage->label = std::move(label);
  stage->stats.stage = stage->label;
  stages_.push_back(std::move(stage));
  return stages_.back().get();
}

void Run::log(std::string stage, std::string what, std::string reason) {
  constexpr std::size_t kMaxDecisions = 1000;
  if (decisions_.size() >= kMaxDecisions) return;
  try {
    decisions_.push_back({now() - created_, std::move(stage), std::move(what),
                          std::move(reason)});
  } catch (const std::bad_alloc&) {
    return;  // nothing depends on it
  }
}

void Run::quarantine(const ElementError& error, bool replaced) {
  constexpr std::size_t kMaxQuarantine = 1000;
  constexpr std::size_t kMaxMessage = 1000;
  ++(replaced ? errors_replaced_ : errors_skipped_);
  if (quarantine_.size() >= kMaxQuarantine) return;
  std::string message = error.status.ToString();
  if (error.others > 0) {
    absl::StrAppend(&message, " (and ", error.others, " more)");
  }
  if (message.size() > kMaxMessage) message.resize(kMaxMessage);
  quarantine_.push_back(
      {error.stage, error.element, std::move(message), replaced});
}

void Run::retire(std::unique_ptr<Pipe> pipe) {
  // Destroyed by complete(), without the lock: it may hold objects of the user.
  retired_.push_back(std::move(pipe));
}

void Run::note_step(Stage* stage, double step, double made) {
  // Down slowly: a small one says little about the next.
  const auto follow = [](double& known, double bytes) {
    const double before = known;
    if (bytes != known) {
      known = bytes > known ? bytes : known + (bytes - known) / 16;
    }
    return before;
  };
  const double step_before = follow(stage->step_bytes, step);
  const double made_before = follow(stage->made_bytes, made);
  if (stage->step_bytes == step_before && stage->made_bytes == made_before) {
    return;
  }
  if (stage->step_bytes < step_before || stage->made_bytes < made_before) {
    if (step_before < largest_step_ && made_before < largest_made_) return;
    largest_step_ = largest_made_ = 0;
    std::lock_guard lock(stages_mutex_);
    for (const auto& other : stages_) {
      largest_step_ = std::max(largest_step_, other->step_bytes);
      largest_made_ = std::max(largest_made_, other->made_bytes);
    }
  } else {
    largest_step_ = std::max(largest_step_, stage->step_bytes);
    largest_made_ = std::max(largest_made_, stage->made_bytes);
  }
  // A batch of more bytes than 64 bits count is a step, too.
  constexpr double kMost = std::int64_t{1} << 62;
  reserve_ = static_cast<std::int64_t>(
      std::clamp(largest_step_ - largest_made_, 0.0, kMost));
}

void Run::adjust_cpu(int by) {
  std::lock_guard lock(mutex_);
  count_cpu(by);
}

void Run::nest_below(int outer) {
  int now = nesting_.load();
  while (now <= outer && !nesting_.compare_exchange_weak(now, outer + 1)) {
  }
}

void Run::fail() {
  failed_.store(true);
  cancelled_.store(true);
}

bool Run::find_work(ClaimKind kind, Work& work) {
  try {
    return search(kind, work);
  } catch (const std::bad_alloc&) {
    fail();
    return false;
  }
}

bool Run::search(ClaimKind kind, Work& work) {
  if (cancelled_.load(std::memory_order_relaxed)) return false;
  Demand demand;
  const bool waiting = waiting_.load(std::memory_order_relaxed);
  if (bounded_) demand.rows = (waiting ? 1 : 0) - held_rows_;
  demand.critical = waiting;
  bool found = false;
  do {
    passed_over_ = false;
    found = root_->find(demand, kind, work);
  } while (!found && passed_over_);
  if (!found || work.dry_run) return found;
  work.started = claim_time();
  work.tracer = tracer_;
  if (kind == ClaimKind::kCpu) count_cpu(1);
  return true;
}

bool Run::claim(ClaimKind kind, Work& work, std::int64_t now) {
  std::unique_lock lock = brief_lock(mutex_);
  claim_time_ = now;
  if (find_work(kind, work)) {
    if (!work.dry_run) in_flight_.fetch_add(1);
    return true;
  }
  // The search may have reached the end, or complete() left the consumer
  // asleep: there is nothing better to do now.
  const bool wake = failed() || (waiting_.load(std::memory_order_relaxed) &&
                                 !cancelled_.load(std::memory_order_relaxed) &&
                                 fetch_ready());
  lock.unlock();
  if (failed() && !work.dry_run) work.clear();  // what the search has left
  if (wake) config_.scheduler->wake_waiters(this);
  return false;
}

std::int64_t Run::claim_time() {
  if (claim_time_ == 0) claim_time_ = now();
  return claim_time_;
}

int Run::current_depth() { return t_depth; }

bool Run::worked_for_here() const {
  for (const WorkScope* work = t_work; work != nullptr; work = work->outer) {
    if (work->run == this) return true;
  }
  return false;
}

void Run::execute(Work& work) {
  const WorkScope scope(this, config_.depth + 1);
  try {
    if (work.tracer) return execute_traced(work);
    work.pipe->run(work);
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    fail();
  }
}

void Run::take_idle(std::vector<std::unique_ptr<Pipe>>& idle) {
  auto done = std::partition(retired_.begin(), retired_.end(),
                             [](const auto& p) { return !p->idle(); });
  if (done == retired_.end()) return;
  try {
    idle.reserve(static_cast<std::size_t>(retired_.end() - done));
  } catch (const std::bad_alloc&) {
    return;  // later
  }
  for (auto it = done; it != retired_.end(); ++it) {
    (*it)->for_each_segment([](SegmentPipe& s) { s.share_time(); });
  }
  std::move(done, retired_.end(), std::back_inserter(idle));
  retired_.erase(done, retired_.end());
}

bool Run::complete(Work& work, Work* next) {
  bool wake = false;
  bool found = false;
  const std::int64_t finished = work.finished;
  std::vector<std::unique_ptr<Pipe>> idle;
  {
    const std::unique_lock lock = brief_lock(mutex_);
    try {
      if (!failed()) work.pipe->complete(work);
    } catch (const std::bad_alloc&) {
      fail();
    }
    const bool busy = work.kind == ClaimKind::kCpu && !cpu_free();
    if (work.kind == ClaimKind::kCpu) count_cpu(-1);
    if (!retired_.empty() && !failed()) take_idle(idle);
    recent_work_ns_ += finished - work.started;
    wake = waiting_.load(std::memory_order_relaxed) && fetch_ready() &&
           !(busy && may_sleep_on(finished));
    if (wake) woken_at_ = finished;
    claim_time_ = finished;
    found = next != nullptr && !wake && find_work(ClaimKind::kCpu, *next);
  }
  // Before all else: a core that sleeps takes longer to come than the rest.
  if (wake || failed()) config_.scheduler->wake_waiters(this);
  idle.clear();
  work.clear();
  if (next != nullptr && failed() && !found) next->clear();
  if (found) return true;  // in the place of this one among those in flight
  // Last of all: close() returns at zero, and nothing may be left then.
  if (in_flight_.fetch_sub(1) == 1 && cancelled_.load()) {
    // Whoever waits has looked, or sees zero.
    { const std::lock_guard lock(mutex_); }
    config_.scheduler->wake_waiters(this);
  }
  // What was just let go may have been in the way.
  return next != nullptr && claim(ClaimKind::kCpu, *next, finished);
}

bool Run::may_sleep_on(std::int64_t now) const {
  return now - woken_at_ < kWakePeriodNs &&
         root_->out.ready_bytes() < soft_limit_ / 2;
}

bool Run::workers_needed(std::int64_t now) {
  // To look takes a microsecond; a worker who is woken for nothing, several,
  // and the core on which somebody works.
  claim_time_ = now;
  Work look;
  look.dry_run = true;
  return find_work(ClaimKind::kCpu, look) ||
         (has_elastic() && find_work(ClaimKind::kElastic, look));
}

std::int64_t Run::room_ahead() const {
  return root_->rows_ahead() - held_rows_.load(std::memory_order_relaxed) -
         root_->out.total_rows();
}

std::int64_t Run::rows_worth_waking() const {
  if (recent_rows_ == 0) return 1;  // nothing is known yet
  std::int64_t rows =
      kWakeWorthNs * recent_rows_ / std::max<std::int64_t>(1, recent_work_ns_);
  const std::int64_t ahead = root_->rows_ahead();
  // Rows that cost less than to wake for are made many at a time.
  if (rows > 1) rows = std::max(rows, ahead / 4);
  // Calls that the consumer cannot make itself are not put off for long.
  if (has_user_code()) rows = std::min(rows, (ahead + 1) / 2);
  return std::max<std::int64_t>(1, rows);
}

bool Run::refill_pays() const {
  const std::int64_t ready = root_->out.ready_bytes();
  const std::int64_t room = soft_limit_ - ready;
  if (room >= ready) return true;
  if (room <= 0) return false;
  const double rows = static_cast<double>(root_->out.ready_rows()) *
                      static_cast<double>(room) / static_cast<double>(ready);
  return rows * static_cast<double>(recent_work_ns_) >=
         static_cast<double>(kRefillWorthNs) *
             static_cast<double>(recent_rows_);
}

bool Run::refill_due(std::int64_t now) {
  const std::int64_t worth = rows_worth_waking();
  const std::int64_t room = room_ahead();
  // Workers at work look for more by themselves.
  tell_at_ = held_rows_.load(std::memory_order_relaxed) -
             (room < worth ? worth - room : worth);
  return room >= worth && workers_needed(now);
}

bool Run::has_work(ClaimKind kind) {
  Work work;
  work.dry_run = true;
  return claim(kind, work);
}

bool Run::fetch_ready() const {
  return cancelled_.load(std::memory_order_relaxed) ||
         root_->out.ready_rows() > 0 || root_->exhausted();
}

Run::Fetch Run::fetch(BlockRef& block, std::int64_t& begin, std::int64_t& end,
                      Mark& mark, const std::function<bool()>& interrupted) {
  const std::int64_t asked = now();
  std::unique_lock lock = brief_lock(mutex_);
  think_ns_ += asked - last_return_;
  held_rows_ = 0;
  const bool was_ready = fetch_ready();
  if (!was_ready) {
    waiting_.store(true, std::memory_order_relaxed);
    consumer_outran_ |= consumed_ > 0;
    // All that prefetch(n) lets be made may cost less than waking somebody.
    const bool little =
        bounded_ && !has_user_code() && room_ahead() + 1 < rows_worth_waking();
    const bool needed = !little && workers_needed(asked);
    lock.unlock();
    if (needed) config_.scheduler->notify(this);
    // Native work can be done right here instead of waiting for a worker.
    Work work;
    bool ready = false;
    bool stop = false;
    std::int64_t looked = asked;
    std::int64_t last = asked;
    while (!ready && !stop && claim(ClaimKind::kHelp, work, last)) {
      execute(work);
      last = work.finished;
      // Work that gives nothing, as a filter may, has no end.
      if (interrupted && last - looked >= kInterruptNs) {
        looked = last;
        stop = interrupted();
      }
      complete(work);
      lock.lock();
      ready = fetch_ready();
      lock.unlock();
      // What this made runnable may be user code, and the workers may sleep.
      if (!ready && !little && has_work(ClaimKind::kCpu)) {
        config_.scheduler->notify(this);
      }
    }
    if (little && !ready && !stop && has_work(ClaimKind::kCpu)) {
      config_.scheduler->notify(this);
    }
    while (!stop &&
           !config_.scheduler->wait(
               this, [this] { return fetch_ready(); },
               interrupted ? kInterruptNs : -1) &&
           !(stop = interrupted())) {
    }
    lock.lock();
    waiting_.store(false, std::memory_order_relaxed);
    if (stop && !fetch_ready()) {
      last_return_ = now();
      wait_ns_ += last_return_ - asked;
      return Fetch::kInterrupted;
    }
  }
  if (failed()) return Fetch::kFailed;
  if (cancelled_.load(std::memory_order_relaxed)) return Fetch::kCancelled;
  const bool was_due = refill_pays();
  const Fetch result = take_ready(block, begin, end, mark);
  const std::int64_t returned = last_return_;
  last_return_ = was_ready ? asked : now();
  const bool wake =
      result == Fetch::kBlock && (bounded_ ? refill_due(last_return_)
                                           : ((!was_due && refill_pays()) ||
                                              root_->out.ready_items() <= 2) &&
                                                 workers_needed(last_return_));
  if (tracer_) {
    try {
      trace_fetch(returned, asked, result == Fetch::kBlock ? &block : nullptr);
    } catch (const std::bad_alloc&) {
      tracer_ = nullptr;  // the elements are worth more
    }
  }
  wait_ns_ += last_return_ - asked;
  lock.unlock();
  if (wake) config_.scheduler->notify(this);
  return result;
}

Run::Fetch Run::take_ready(BlockRef& block, std::int64_t& begin,
                           std::int64_t& end, Mark& mark) {
  if (root_->out.ready_rows() == 0) return Fetch::kEnd;
  Item item = root_->out.take(kUnlimited);
  // A segment files its result as one part; a cut leaves a slice of it.
  const Rows& rows = item.parts.front();
  block = rows.block_ref();
  begin = rows.at(0);
  end = begin + rows.size();
  mark = item.mark;
  consumed_ += rows.size();
  held_rows_ = rows.size();
  recent_rows_ += rows.size();
  if (recent_rows_ > kRecentRows) {
    recent_rows_ /= 2;
    recent_work_ns_ /= 2;
  }
  return Fetch::kBlock;
}

void Run::consumer_holds(std::int64_t rows) {
  held_rows_.store(rows, std::memory_order_relaxed);
  if (rows > tell_at_) return;
  bool wake = false;
  {
    const std::unique_lock lock = brief_lock(mutex_);
    // close() may have let the pipes go: it does not wait for the consumer.
    wake = !cancelled_.load(std::memory_order_relaxed) && refill_due(0);
  }
  if (wake) config_.scheduler->notify(this);
}

void Run::cancel() {
  {
    std::lock_guard lock(mutex_);
    cancelled_.store(true);
  }
  config_.scheduler->wake_waiters(this);
}

bool Run::close(std::int64_t timeout_ns) {
  cancel();
  closed_.store(true);
  config_.scheduler->remove(this);
  const auto idle = [this] { return in_flight_ == 0; };
  if (!config_.scheduler->wait(this, idle, timeout_ns)) return false;
  // The pipes, and all bytes they hold, go now and on this thread.
  std::unique_ptr<Pipe> root;
  std::vector<std::unique_ptr<Pipe>> retired;
  // So does the graph with the user's functions in it: a worker may still hold
  // this Run for a moment, but nothing of the user's outlives close().
  NodeRef node;
  {
    std::lock_guard lock(mutex_);
    try {
      if (root_) final_stats_ = stats_locked();
    } catch (const std::bad_alloc&) {
      final_stats_ = {};
    }
    node.swap(node_);
    root.swap(root_);
    retired.swap(retired_);
  }
  return true;
}

std::vector<std::string> Run::running_stages() {
  std::vector<std::string> labels;
  std::lock_guard lock(mutex_);
  if (root_) root_->running(labels);
  return labels;
}

void Run::mark_blocking(const StageCalls& calls) {
  StageCalls active;  // in all that call it: datasets inside others are many
  for (const auto& [stage, count] : calls) {
    for_segments_of(stage, true, [&](SegmentPipe& segment) {
      active[stage] += segment.active;
    });
  }
  std::lock_guard lock(mutex_);
  if (root_ == nullptr) return;
  root_->for_each_segment([&](SegmentPipe& segment) {
    // A segment's calls wait in any of its stages.
    int blocked = 0;
    int all = 0;
    bool mine = false;
    for (const auto& [stage, count] : calls) {
      if (!segment.calls_of(stage)) continue;
      mine = true;
      blocked += count;
      all = std::max(all, active[stage]);
    }
    if (mine) segment.grow_width(blocked, all);
  });
}

void Run::mark_waiting(Stage* stage, int width) {
  {
    // Until a call is back nobody knows how large results are.
    std::lock_guard lock(mutex_);
    if (stage->stats.blocks == 0) return;
  }
  for_segments_of(stage, true,
                  [&](SegmentPipe& segment) { segment.start_width(width); });
}

void Run::mark_working(Stage* stage) {
  for_segments_of(stage, false,
                  [](SegmentPipe& segment) { segment.leave_elastic_lane(); });
}

bool Run::any_blocking() {
  std::lock_guard lock(stages_mutex_);
  return std::any_of(stages_.begin(), stages_.end(), [](const auto& stage) {
    return stage->blocking.load(std::memory_order_relaxed);
  });
}

// Marks `stage` and visits the segments that its calls are part of.
void Run::for_segments_of(Stage* stage, bool blocking,
                          const std::function<void(SegmentPipe&)>& visit) {
  std::lock_guard lock(mutex_);
  stage->blocking.store(blocking, std::memory_order_relaxed);
  has_elastic_.store(blocking || any_blocking(), std::memory_order_relaxed);
  if (root_ == nullptr) return;
  root_->for_each_segment([&](SegmentPipe& segment) {
    if (segment.calls_of(stage)) visit(segment);
  });
}

void Run::tune(std::int64_t now) {
  std::unique_lock lock(mutex_);
  if (root_ == nullptr) return;
  root_->for_each_segment([now](SegmentPipe& s) { s.tune(now); });
  // Left asleep by complete(), which has not been called since.
  if (waiting_.load(std::memory_order_relaxed) && fetch_ready() &&
      !may_sleep_on(now)) {
    config_.scheduler->wake_waiters(this);
  }
  sample_if_traced(now);
  // What was not worth waking for while the consumer took row after row.
  const bool refill =
      bounded_ && consumed_ > 0 && room_ahead() > 0 && workers_needed(now);
  lock.unlock();
  if (refill) config_.scheduler->notify(this);
}

IteratorStats Run::stats() {
  std::lock_guard lock(mutex_);
  return root_ ? stats_locked() : final_stats_;
}

IteratorStats Run::stats_locked() {
  IteratorStats out;
  const std::int64_t t = now();
  root_->collect_stats(out.pipes, t);
  {
    std::lock_guard lock(stages_mutex_);
    for (const auto& stage : stages_) out.stages.push_back(stage->stats);
  }
  out.decisions = decisions_;
  out.elements = consumed_ - held_rows_;
  out.consumer_wait_ns = wait_ns_;
  out.consumer_think_ns = think_ns_;
  out.elapsed_ns = t - created_;
  out.bytes_held = account_.used();
  out.bytes_peak = account_.peak();
  out.memory_budget = config_.memory_budget;
  out.cpu_budget = cpu_budget();
  out.errors_skipped = errors_skipped_;
  out.errors_replaced = errors_replaced_;
  out.quarantine = quarantine_;
  return out;
}

std::string Run::explain() {
  std::lock_guard lock(mutex_);
  std::string text;
  if (root_) root_->explain(text, "");
  return text;
}

std::string IteratorStats::to_string() const {
  std::string out =
      absl::StrFormat("%-24s %12s %10s %10s %10s %6s\n", "stage", "elements",
                      "MB", "busy ms", "blocks", "par");
  for (const StageStats& s : stages) {
    absl::StrAppendFormat(&out, "%-24s %12d %10.2f %10.2f %10d %6d%s\n",
                          s.stage, s.elements,
                          static_cast<double>(s.bytes) / 1e6,
                          static_cast<double>(s.busy_ns) / 1e6, s.blocks,
                          s.max_parallelism, s.blocking ? " blocking" : "");
  }
  absl::StrAppendFormat(
      &out,
      "consumer: %d elements, waited %.1f ms, was busy %.1f ms; held at most "
      "%.2f MB of %.0f MB\n",
      elements, static_cast<double>(consumer_wait_ns) / 1e6,
      static_cast<double>(consumer_think_ns) / 1e6,
      static_cast<double>(bytes_peak) / 1e6,
      static_cast<double>(memory_budget) / 1e6);
  for (const Decision& d : decisions) {
    absl::StrAppendFormat(&out, "  %.1f ms %s: %s (%s)\n",
                          static_cast<double>(d.at_ns) / 1e6, d.stage, d.what,
                          d.reason);
  }
  if (!quarantine.empty()) {
    absl::StrAppendFormat(&out, "errors: %d skipped, %d replaced\n",
                          errors_skipped, errors_replaced);
  }
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(quarantine.size(), kShown); ++i) {
    const QuarantinedError& e = quarantine[i];
    absl::StrAppendFormat(&out, "  %s: element %s: %s\n", e.stage, e.element,
                          e.message);
  }
  if (quarantine.size() > kShown) {
    absl::StrAppendFormat(&out, "  ... %d more in IteratorStats::quarantine\n",
                          quarantine.size() - kShown);
  }
  return out;
}

}  // namespace penstock
