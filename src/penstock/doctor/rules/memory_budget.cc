// memory-budget: calls could run, but there is no room for their results.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {
namespace {

constexpr double kMoreRoom = 4;

}  // namespace

void memory_budget(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  int worst = -1;
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.wait_memory_s < 0.3 * facts.seconds) continue;
    if (worst < 0 || s.wait_memory_s > stage_of(model, worst).wait_memory_s) {
      worst = i;
    }
  }
  if (worst < 0 || facts.memory_budget <= 0) return;
  const StageFacts& s = stage_of(model, worst);
  // Results that wait for a straggler fill any budget.
  if (s.ordered && s.wait_order_s > 1.0 * facts.seconds &&
      s.bytes_per_element() < 0.05 * facts.memory_budget) {
    return;
  }
  Finding f;
  f.code = "memory-budget";
  f.stage = worst;
  // As many more calls at once as there is more room.
  f.changes = {{.stage = worst, .room = kMoreRoom}};
  f.speedup = std::max(1.0, model.gain_over_measured(f.changes));
  f.cause =
      "calls that could run wait, because there is no room for their "
      "results in the memory budget";
  f.evidence = {
      {"a call could not start for lack of memory",
       100 * std::min(1.0, s.wait_memory_s / facts.seconds), "%"},
      {"memory budget", facts.memory_budget, "bytes"},
      {"held at most", facts.bytes_peak, "bytes"},
      {"an element behind this stage", s.bytes_per_element(), "bytes"}};
  f.fix =
      "raise memory_budget, or hold less: smaller batches and windows, "
      "smaller dtypes";
  f.fix_code = absl::StrFormat(
      "ds = ds.with_options(ps.Options(memory_budget=%d))",
      static_cast<std::int64_t>(kMoreRoom * facts.memory_budget));
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
