// memory-budget: calls could run, but there is no room for their results.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {
namespace {

constexpr double kMoreRoom = 4;

// Native stages run with the map in front of them, and the last of them hands
// over: the calls that have no room are those of the costliest.
int mapped_stage(const Model& model, int last) {
  int costliest = last;
  for (int at = last; stage_of(model, at).executor == "native";) {
    const std::vector<int>& inputs = stage_of(model, at).inputs;
    if (inputs.size() != 1) break;
    at = inputs.front();
    const StageFacts& s = stage_of(model, at);
    if (s.executor.empty()) break;
    if (s.busy_s > stage_of(model, costliest).busy_s) costliest = at;
  }
  return costliest;
}

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
  const int mapped = mapped_stage(model, worst);
  Finding f;
  f.code = "memory-budget";
  f.stage = mapped;
  // As many more calls at once as there is more room.
  f.changes = {{.stage = mapped, .room = kMoreRoom}};
  f.speedup = std::max(1.0, model.gain_over_measured(f.changes));
  f.cause =
      "calls that could run wait, because there is no room for their "
      "results in the memory budget";
  f.evidence = {{"a call could not start for lack of memory",
                 100 * std::min(1.0, s.wait_memory_s / facts.seconds), "%"},
                {"memory budget", facts.memory_budget, "bytes"},
                {"held at most", facts.bytes_peak, "bytes"},
                {"an element behind this stage",
                 stage_of(model, mapped).bytes_per_element(), "bytes"}};
  f.fix =
      "raise memory_budget, or hold less: smaller batches and windows, "
      "smaller dtypes";
  f.fix_code = absl::StrFormat(
      "ds = ds.with_options(ps.Options(memory_budget=%d))",
      static_cast<std::int64_t>(kMoreRoom * facts.memory_budget));
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
