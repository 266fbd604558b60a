// head-of-line: finished results wait for a straggler before them, and nothing
// more may be started meanwhile.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {
namespace {

// Seconds that results of a stage waited. Native stages behind it run with it,
// and the last of them hands over.
double order_wait_s(const Model& model, int stage) {
  double wait = stage_of(model, stage).wait_order_s;
  for (int i = stage + 1; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.inputs != std::vector<int>{stage} || s.executor != "native") continue;
    wait += s.wait_order_s;
    stage = i;
  }
  return wait;
}

}  // namespace

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
    if (s.executor == "native") continue;
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
    const double wait = order_wait_s(model, i);
    if (wait < 0.5 * facts.seconds || wait < 1.5 * (s.busy_s - s.gil_wait_s) ||
        calls < 1 || lanes_used(model, i) > 0.7 || runs_ahead(model, i)) {
      continue;
    }
    if (worst < 0 || wait > order_wait_s(model, worst)) worst = i;
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
       order_wait_s(model, worst) / facts.seconds, "results"},
      {"calls at work", model.parallelism(worst), "calls"},
      {"mean time of a call per element", service_s(model, worst), "s"},
      {"elements/s if no lane stood still", model.with(f.changes).rate, "1/s"}};
  f.fix = "let results come as they finish, if their order does not matter";
  f.fix_code = absl::StrCat(".", s.op, "(fn, deterministic=False)");
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
