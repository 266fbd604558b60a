// late-filter: a filter drops elements that a costly stage has worked on,
// though it only reads what that stage passed through.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void late_filter(const Model& model, Findings& out) {
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.op != "filter" || s.filter_could_pass < 0 || s.elements <= 0) {
      continue;
    }
    const int costly = s.filter_could_pass;
    const StageFacts& before = stage_of(model, costly);
    if (before.elements <= 0 || model.per_output(costly) <= 0) continue;
    // Not by what the stage before has done: that may have run ahead.
    const double kept = model.per_output(i) / model.per_output(costly);
    if (kept > 0.9) continue;
    Finding f;
    f.code = "late-filter";
    f.stage = i;
    for (int at = s.inputs.front();; at = stage_of(model, at).inputs.front()) {
      f.changes.push_back({.stage = at, .compute = kept, .wait = kept});
      if (at == costly) break;
    }
    f.speedup = model.gain(f.changes);
    f.cause = absl::StrCat(
        "it drops elements that ", before.label,
        " has worked on, but reads only what that stage passes through");
    f.evidence = {{"elements dropped", 100 * (1 - kept), "%"},
                  {absl::StrCat("time per element in ", before.label),
                   service_s(model, costly), "s"},
                  {"time per element in the filter", service_s(model, i), "s"}};
    f.fix = absl::StrCat("filter before ", before.label);
    f.fix_code = absl::StrCat(
        ".filter(", s.filter_there.empty() ? "predicate" : s.filter_there, ").",
        before.op, "(fn)");
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
