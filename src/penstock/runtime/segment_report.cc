// What a segment tells of itself: counters, a line for explain(), its part of a
// timeline.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/runtime/pipe.h"

namespace penstock {

// The time of all blocks since the last sample, split between the stages as the
// sample was. CPU time goes by rows: most of the time of the few blocks that
// lost their core is none.
void SegmentPipe::share_time() const {
  if (shares_.empty()) return;
  const auto ns = static_cast<double>(std::exchange(unshared_ns_, 0));
  const auto rows = static_cast<double>(std::exchange(unshared_rows_, 0));
  const double cpu_ns = std::min(ns, rows * cpu_ns_per_row_);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    Stage* stage = i > 0   ? links[i - 1].stage
                   : chain ? chain->base_stage
                           : nullptr;
    if (stage == nullptr) continue;
    stage->stats.busy_ns += static_cast<std::int64_t>(ns * shares_[i]);
    const double cpu_share = i < cpu_shares_.size() ? cpu_shares_[i] : 0;
    stage->stats.cpu_ns += static_cast<std::int64_t>(cpu_ns * cpu_share);
  }
}

void SegmentPipe::collect_stats(std::vector<PipeStats>& stats,
                                std::int64_t now) const {
  if (input) input->collect_stats(stats, now);
  share_time();
  const auto set_width = [this](StageStats& s) {
    s.parallelism = active;
    s.blocking = blocking;
    s.width = blocking ? width : cap;
  };
  if (chain && chain->user_code) set_width(chain->base_stage->stats);
  for (const Link& link : links) set_width(link.stage->stats);
  PipeStats pipe;
  pipe.stages = label();
  std::int64_t waits[4] = {waits_[0], waits_[1], waits_[2], waits_[3]};
  if (wait_reason_ != kNone) waits[wait_reason_] += now - wait_since_;
  pipe.wait_input_ns = waits[kInput];
  pipe.wait_output_ns = waits[kOutput];
  pipe.wait_memory_ns = waits[kMemory];
  pipe.wait_order_ns = out.order_wait();
  pipe.ready_bytes = out.ready_bytes();
  pipe.block_rows = block_rows();
  stats.push_back(std::move(pipe));
}

void SegmentPipe::explain(std::string& text, const std::string& indent) const {
  if (input) input->explain(text, indent);
  absl::StrAppend(&text, indent, "segment [", label(), "]");
  if (from_index) absl::StrAppend(&text, " by index");
  if (cap > 0) absl::StrAppend(&text, " at most ", cap, " at once");
  if (!ordered) absl::StrAppend(&text, " in any order");
  if (out.limit != kUnlimited) {
    absl::StrAppend(&text, " at most ", out.limit, " ahead");
  }
  absl::StrAppend(&text, "\n");
  for (const std::string& note : notes) {
    absl::StrAppend(&text, indent, "  ", note, "\n");
  }
}

void SegmentPipe::for_each_segment(
    const std::function<void(SegmentPipe&)>& visit) {
  visit(*this);
  if (input) input->for_each_segment(visit);
}

void SegmentPipe::trace(const Work& work, TraceWriter& trace) const {
  const auto add = [&](const Stage* stage, std::int64_t begin, std::int64_t end,
                       std::int64_t rows) {
    trace.add(TraceEvent::Kind::kStage, &stage->label, begin, end, rows);
  };
  if (work.stage_ns.empty()) return;  // claimed before the trace began
  std::int64_t at = work.started + work.stage_ns[0];
  if (chain) add(chain->base_stage, work.started, at, work.input_rows);
  for (std::size_t i = 0; i + 1 < work.stage_ns.size(); ++i) {
    const std::int64_t end = at + work.stage_ns[i + 1];
    add(links[i].stage, at, end, work.rows_out[i]);
    at = end;
  }
}

void SegmentPipe::running(std::vector<std::string>& labels) const {
  if (input) input->running(labels);
  if (active == 0) return;
  if (chain && chain->user_code) labels.push_back(chain->base_stage->label);
  for (const Link& link : links) {
    if (link.traits.user_code) labels.push_back(link.stage->label);
  }
}

}  // namespace penstock
