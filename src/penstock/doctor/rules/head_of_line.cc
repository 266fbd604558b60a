// head-of-line: finished results wait for a straggler before them, and nothing
// more may be started meanwhile.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void head_of_line(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  // Lanes that should be at work are not: the model would be faster.
  if (model.residual() < 1.15) return;
  // Calls that mostly had no core are late for that.
  if (model.stretch() < 0.5) return;
  int worst = -1;
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (!s.user_code || !s.ordered || s.sequential) continue;
    // A straggler is at work all the while.
    if (model.parallelism(i) < 0.5) continue;
    // Lanes of calls that compute stand still where there is no core for them.
    const double taken =
        facts.own_cpu_s / std::max(facts.seconds, 1e-9) + facts.other_cpu;
    if (s.cpu_s + s.worker_cpu_s > 0.2 * s.busy_s &&
        taken > 0.85 * facts.cores) {
      continue;
    }
    // Results wait for longer than calls take, and lanes stand still.
    const double calls = std::max(s.calls, s.elements);
    if (s.wait_order_s < 0.5 * facts.seconds ||
        s.wait_order_s < 1.5 * (s.busy_s - s.gil_wait_s) || calls < 1 ||
        lanes_used(model, i) > 0.7 || runs_ahead(model, i)) {
      continue;
    }
    if (worst < 0 || s.wait_order_s > stage_of(model, worst).wait_order_s) {
      worst = i;
    }
  }
  if (worst < 0) return;
  const StageFacts& s = stage_of(model, worst);
  Finding f;
  f.code = "head-of-line";
  f.stage = worst;
  f.changes = {{.stage = worst, .unordered = true}};
  f.speedup = model.gain_over_measured(f.changes);
  f.cause =
      "some calls take much longer than others; finished results wait "
      "for them to keep the order, until there is no room for more";
  f.evidence = {
      {"results that waited for an earlier one, on average",
       s.wait_order_s / facts.seconds, "results"},
      {"calls at work", model.parallelism(worst), "calls"},
      {"mean time of a call per element", service_s(model, worst), "s"},
      {"elements/s if no lane stood still", model.with(f.changes).rate, "1/s"}};
  f.fix = "let results come as they finish, if their order does not matter";
  f.fix_code = absl::StrCat(".", s.op, "(fn, deterministic=False)");
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
