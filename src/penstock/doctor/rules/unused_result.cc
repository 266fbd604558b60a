// unused-result: a stage makes something that nothing behind it reads.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void unused_result(const Model& model, Findings& out) {
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.unused_share <= 0) continue;
    const double used = 1 - s.unused_share;
    Finding f;
    f.code = "unused-result";
    f.stage = i;
    f.changes = {{.stage = i, .compute = used, .wait = used}};
    f.speedup = model.gain(f.changes);
    f.cause = absl::StrCat("it computes ", s.unused_what,
                           ", which nothing behind it reads");
    f.evidence = {{"time per element in this stage", service_s(model, i), "s"},
                  {"share of it that is not used", 100 * s.unused_share, "%"}};
    f.fix = absl::StrCat("do not compute ", s.unused_what);
    f.fix_code = absl::StrCat("# leave ", s.unused_what, " out of what ",
                              s.label, " gives");
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
