// parallelism-capped: an explicit number above 1 limits.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void parallelism_capped(const Model& model, Findings& out) {
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    const bool calls = s.parallel_calls > 1;
    if (s.parallel_calls == 1) continue;  // serial-stage
    if (!calls && s.cycle_length <= 1) continue;
    const int at = model.pipeline().stage;
    if (model.pipeline().limit != Limit::kWidth ||
        (at != i && (at < 0 || stage_of(model, at).parent != i))) {
      continue;
    }
    if (lanes_used(model, at) < 0.6) continue;
    const int cap = calls ? s.parallel_calls : s.cycle_length;
    const char* parameter = calls ? "num_parallel_calls" : "cycle_length";
    Finding f;
    f.code = "parallelism-capped";
    f.stage = i;
    f.changes = {{.stage = i, .parallel_calls = 0}};
    f.speedup = model.gain(f.changes);
    // Behind prefetch(n) calls without a number may be fewer than these.
    const std::vector<Change> twice = {{.stage = i, .parallel_calls = 2 * cap}};
    const bool raise =
        calls && model.facts().bounded && model.gain(twice) > 1.02 * *f.speedup;
    if (raise) {
      f.changes = twice;
      f.speedup = model.gain(twice);
    }
    f.cause = absl::StrCat(parameter, "=", cap,
                           " keeps more calls from running, "
                           "and all of them are busy");
    f.evidence = {
        {"calls allowed at once", static_cast<double>(cap), "calls"},
        {"mean calls at work", model.parallelism(at), "calls"},
        {"time of a call per element", service_s(model, at), "s"},
        {"CPU time per element",
         per_element(stage_of(model, at).cpu_s, stage_of(model, at)), "s"}};
    if (raise) {
      f.fix = absl::StrCat("raise it: the prediction is for ", 2 * cap,
                           "; without it, prefetch allows fewer");
      f.fix_code =
          absl::StrCat(".", s.op, "(fn, ", parameter, "=", 2 * cap, ")");
    } else {
      f.fix = absl::StrCat("leave ", parameter, " out, or raise it");
      f.fix_code =
          absl::StrCat(".", s.op, "(fn)  # without ", parameter, "=", cap);
    }
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
