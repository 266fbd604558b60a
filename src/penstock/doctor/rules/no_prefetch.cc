// no-prefetch: prefetch(0) makes pipeline and consumer take turns.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void no_prefetch(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.prefetch != 0) continue;
    const double think =
        facts.elements > 0 ? facts.consumer_think_s / facts.elements : 0;
    const double wait =
        facts.elements > 0 ? facts.consumer_wait_s / facts.elements : 0;
    // Without time of its own, the consumer has nothing to overlap with.
    if (think < 0.1 * wait || think < 20e-6) continue;
    Finding f;
    f.code = "no-prefetch";
    f.stage = i;
    f.changes = {{.stage = i, .prefetch = -1}};
    // Side by side instead of by turns: the longer of the two remains. Without
    // other load on the cores it would wait for less; that a consumer which
    // helps makes one thread more than there are cores is no such load.
    const double own = model.beside_others() ? model.stretch() : 1;
    const double turn = wait * own + think;
    const double ahead = std::max(model.with(f.changes).rate, 1 / turn);
    f.speedup = std::min(ahead * turn, turn / think);
    // Beside others little is left of the gain, but turns are taken all the
    // same.
    constexpr double kBehind = 0.12;
    f.always = model.beside_others() && facts.wait_share() > kBehind;
    f.cause =
        "prefetch(0) lets nothing run ahead: the pipeline stands still "
        "while the consumer works, and the other way round";
    f.evidence = {{"the consumer works per element", think, "s"},
                  {"then it waits", wait, "s"},
                  {"of the time it waits", 100 * facts.wait_share(), "%"}};
    f.fix = "leave prefetch(0) out: output is then made ahead of the consumer";
    f.fix_code = ".prefetch()  # or nothing at all";
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
