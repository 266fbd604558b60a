// python-overhead: calling a Python function costs more than what it does.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void python_overhead(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.executor != "thread" || s.calls <= 0 || s.op == "interleave" ||
        s.op == "flat_map") {
      continue;
    }
    const double call = s.gil_hold_s / s.calls;
    if (call >= tiny_call_s(facts)) continue;
    // It must be what the time goes to.
    const double share = (s.gil_hold_s + s.gil_wait_s) / facts.seconds;
    if (share < 0.3) continue;
    Finding f;
    f.code = "python-overhead";
    f.stage = i;
    f.changes = {{.stage = i, .executor = "native"}};
    f.speedup = std::max(model.gain(f.changes), 1.0);
    f.cause = absl::StrCat(
        s.function.empty() ? "its function" : s.function,
        " does so little per element that calling it is most of the cost");
    f.evidence = {
        {"a call, all told", call, "s"},
        {"a call that does nothing", facts.call_overhead_s, "s"},
        {"calls", s.calls / facts.seconds, "1/s"},
        {"share of the time in these calls", 100 * std::min(1.0, share), "%"}};
    if (!s.refusal.empty()) {
      f.cause += absl::StrCat("; it is not native: ", s.refusal);
    }
    if (!s.native_form.empty()) {
      f.fix = "this form runs natively";
      f.fix_code = s.native_form;
    } else {
      f.fix =
          "write it with arithmetic and ps operations, so that it runs "
          "natively, or call it once per batch";
      f.fix_code = absl::StrCat(".batch(n).", s.op,
                                "(fn_of_a_batch)  # one call for n elements");
    }
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
