// What a Run does only while it is traced.
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/runtime/pipe.h"
#include "penstock/runtime/run.h"

namespace penstock {
namespace {

// A batch of single rows may take more; these are enough to see where it is
// from.
constexpr std::size_t kMaxFlows = 64;
constexpr std::int64_t kSampleNs = 4'000'000;

using Blocks = absl::InlinedVector<std::uint64_t, 8>;

void add_blocks(const Item& item, Blocks& blocks) {
  for (const Rows& rows : item.parts) {
    if (blocks.size() == kMaxFlows) return;
    const std::uint64_t id = TraceRecorder::block_id(rows);
    // Neighbours of one block that a sequencer cut.
    if (id != 0 && (blocks.empty() || blocks.back() != id)) {
      blocks.push_back(id);
    }
  }
}

}  // namespace

void Run::execute_traced(Work& work) {
  // run() lets its input go.
  Blocks in;
  add_blocks(work.input, in);
  work.pipe->run(work);
  Blocks made;
  add_blocks(work.output, made);
  Blocks passed_on;
  for (const Item& item : work.emitted) add_blocks(item, passed_on);
  TraceWriter trace(*work.tracer);
  work.pipe->trace(work, trace);
  for (const std::uint64_t id : in) {
    trace.add_flow(TraceEvent::Kind::kFlowIn, id);
  }
  for (const std::uint64_t id : made) {
    trace.add_flow(TraceEvent::Kind::kFlowMade, id);
  }
  for (const std::uint64_t id : passed_on) {
    trace.add_flow(TraceEvent::Kind::kFlowOut, id);
  }
}

// Under the lock, as all that follows.
void Run::trace_fetch(std::int64_t returned, std::int64_t asked,
                      const BlockRef* block) {
  TraceWriter trace(*tracer_);
  using Kind = TraceEvent::Kind;
  // What was before the trace is not of it.
  if (asked >= tracer_->begin_ns()) {
    const std::int64_t begin = std::max(returned, tracer_->begin_ns());
    trace.add(Kind::kConsumerStep, nullptr, begin, asked, 0);
    // A block belongs to the step it was fetched for: that begins when the
    // block is there, while the wait for it began before it was made.
    if (step_block_ != 0) trace.add_flow(Kind::kFlowIn, step_block_);
  }
  step_block_ = block != nullptr ? TraceRecorder::block_id(Rows(*block)) : 0;
  trace.add(Kind::kConsumerWait, nullptr, asked, last_return_,
            block != nullptr ? held_rows_.load(std::memory_order_relaxed) : 0);
}

bool Run::start_trace(std::int64_t events_per_thread) {
  std::lock_guard lock(mutex_);
  if (tracer_) return false;
  tracer_ = std::make_shared<TraceRecorder>(events_per_thread, now());
  step_block_ = 0;
  sample_counters(now());
  return true;
}

Trace Run::stop_trace() {
  std::shared_ptr<TraceRecorder> tracer;
  std::vector<Decision> decisions;
  {
    std::lock_guard lock(mutex_);
    sample_counters(now());
    decisions = decisions_;
    tracer.swap(tracer_);
  }
  if (!tracer) return {};
  Trace trace = tracer->finish();
  trace.end_ns = now();
  for (Decision& d : decisions) {
    const std::int64_t at = created_ + d.at_ns;
    if (at < trace.begin_ns) continue;
    trace.decisions.push_back(
        {at, std::move(d.stage), std::move(d.what), std::move(d.reason)});
  }
  return trace;
}

void Run::sample_counters(std::int64_t now) {
  TraceRecorder* tracer = tracer_.get();
  if (tracer == nullptr || root_ == nullptr) return;
  last_sample_ = now;
  const IteratorStats stats = stats_locked();
  using Unit = TraceSeries::Unit;
  for (const PipeStats& pipe : stats.pipes) {
    const std::size_t last = pipe.stages.rfind(' ');
    tracer->sample(absl::StrCat("queue ", last == std::string::npos
                                              ? pipe.stages
                                              : pipe.stages.substr(last + 1)),
                   Unit::kBytes, now, pipe.ready_bytes);
  }
  for (const StageStats& stage : stats.stages) {
    if (stage.max_parallelism > 0 || stage.parallelism > 0) {
      tracer->sample(absl::StrCat("running ", stage.stage), Unit::kCount, now,
                     stage.parallelism);
    }
    if (stage.width > 0) {
      tracer->sample(absl::StrCat("width ", stage.stage), Unit::kCount, now,
                     stage.width);
    }
  }
  tracer->sample("held", Unit::kBytes, now, stats.bytes_held);
}

void Run::sample_if_traced(std::int64_t now) {
  if (tracer_ && now - last_sample_ >= kSampleNs) sample_counters(now);
}

}  // namespace penstock
