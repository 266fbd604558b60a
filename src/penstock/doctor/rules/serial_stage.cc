// serial-stage: an explicit 1 on a stage that limits.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void serial_stage(const Model& model, Findings& out) {
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    const bool cycle = s.op == "interleave" && s.cycle_length == 1;
    if (s.parallel_calls != 1 && !cycle) continue;
    const bool inner = [&] {
      const int at = model.pipeline().stage;
      return at >= 0 && stage_of(model, at).parent == i;
    }();
    if (model.pipeline().limit != Limit::kWidth ||
        (model.pipeline().stage != i && !inner)) {
      continue;
    }
    // A lane that stands still is not what limits.
    if (lanes_used(model, model.pipeline().stage) < 0.6) continue;
    const char* parameter = cycle ? "cycle_length" : "num_parallel_calls";
    Finding f;
    f.code = "serial-stage";
    f.stage = i;
    f.changes = {{.stage = i, .parallel_calls = 0}};
    f.speedup = model.gain(f.changes);
    f.cause = absl::StrCat(parameter, "=1 runs one call at a time",
                           s.parent >= 0 ? " in each dataset that is open" : "",
                           ", and that call is what everything waits for");
    f.evidence = {
        {"calls at once", 1, "calls"},
        {"time of a call per element", service_s(model, model.pipeline().stage),
         "s"},
        {"this stage is at work",
         100 * std::min(1.0, model.parallelism(model.pipeline().stage)), "%"},
        {"cores", static_cast<double>(model.facts().cores), ""}};
    f.fix = absl::StrCat("leave ", parameter,
                         " out: the engine then runs as "
                         "many calls as help");
    f.fix_code = absl::StrCat(".", s.op, "(fn)  # without ", parameter, "=1");
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
