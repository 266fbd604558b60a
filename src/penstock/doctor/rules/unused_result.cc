// unused-result: a stage makes something that nothing behind it reads.
#include <algorithm>

#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void unused_result(const Model& model, Findings& out) {
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.unused_share <= 0) continue;
    // A call that does nothing is left, unless a whole branch goes.
    const double call = service_s(model, i);
    const double least =
        s.unused_share >= 1 || call <= 0
            ? 0
            : std::min(1.0, model.facts().call_overhead_s / call);
    const double used = s.rest_native ? 0 : std::max(1 - s.unused_share, least);
    Finding f;
    f.code = "unused-result";
    f.stage = i;
    f.changes = {{.stage = i, .unused = true, .compute = used, .wait = used}};
    if (s.unused_share >= 1) {
      for (const int up : model.upstream(i)) {
        if (up != i)
          f.changes.push_back({.stage = up, .compute = 0, .wait = 0});
      }
      // With a branch less there may be nothing left to zip.
      for (int k = 0; k < num_stages(model); ++k) {
        const std::vector<int>& inputs = stage_of(model, k).inputs;
        if (inputs.size() == 2 &&
            std::find(inputs.begin(), inputs.end(), i) != inputs.end()) {
          f.changes.push_back({.stage = k, .unused = true, .compute = 0});
        }
      }
    }
    f.speedup = model.gain(f.changes);
    f.cause = absl::StrCat("it computes ", s.unused_what,
                           ", which nothing behind it reads");
    f.evidence = {{"time per element in this stage", service_s(model, i), "s"},
                  {"share of it that is not used", 100 * s.unused_share, "%"}};
    f.fix = absl::StrCat("do not compute ", s.unused_what);
    f.fix_code = absl::StrCat("# leave ", s.unused_what, " out of what ",
                              s.label, " gives");
    if (s.unused_in >= 0) {
      const std::string& zip = label(model, s.unused_in);
      f.cause = absl::StrCat("it is of ", s.unused_what, " of ", zip,
                             ", which nothing behind that reads");
      f.fix = absl::StrCat("leave ", s.unused_what, " out of ", zip);
      f.fix_code = absl::StrCat("# ", zip, " without ", s.unused_what,
                                ", and the function behind it without that "
                                "argument");
    }
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
