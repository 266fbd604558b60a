// shuffle-window: a window that is small against ordered data mixes little.
// About quality, not speed.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void shuffle_window(const Model& model, Findings& out) {
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.op != "shuffle" || s.window <= 0 || s.inputs.empty()) continue;
    if (!s.in_order_source) continue;
    const auto size =
        static_cast<std::int64_t>(epoch_size(model, s.inputs.front(), true));
    if (static_cast<double>(s.window) >= 0.01 * static_cast<double>(size)) {
      continue;
    }
    Finding f;
    f.code = "shuffle-window";
    f.stage = i;
    f.always = true;
    f.cause =
        absl::StrCat("a window of ", number(static_cast<double>(s.window)),
                     " over ", number(static_cast<double>(size)),
                     " elements in order: neighbours stay neighbours");
    f.evidence = {
        {"window", static_cast<double>(s.window), "elements"},
        {"elements of an epoch", static_cast<double>(size), "elements"},
        {"share of the data that is mixed",
         100.0 * static_cast<double>(s.window) / static_cast<double>(size),
         "%"}};
    if (stage_of(model, s.inputs.front()).indexed) {
      f.fix =
          "shuffle everything by index, which takes no memory, or use a "
          "window of some percent of the data";
      f.fix_code = ".shuffle(ps.GLOBAL)";
    } else {
      f.fix = absl::StrCat("a window of some percent of the data: ",
                           label(model, s.inputs.front()),
                           " has no index to shuffle everything by");
      f.fix_code = absl::StrCat(".shuffle(", (size + 9) / 10, ")");
    }
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
