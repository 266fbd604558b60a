// noisy-neighbour: the pipeline takes cores, or the GIL, that the training
// thread needs.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

namespace {

// A step this much slower has neighbours.
constexpr double kSlower = 1.3;
// One that sleeps needs the GIL only when it wakes, about a millisecond later
// then: nothing to longer ones. Where others take cores, it wakes late anyway.
constexpr double kLate = 1.7;
constexpr double kQuiet = 0.1;

}  // namespace

void noisy_neighbour(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  if (!facts.consumer_given || facts.step_alone_s < 200e-6 ||
      facts.step_beside_s <= 0) {
    return;
  }
  // A step that waits for a device needs no core, but the GIL to go on.
  const bool sleeps = facts.step_alone_cpu_s < 0.5 * facts.step_alone_s;
  if (sleeps && facts.other_cpu > kQuiet * facts.cores) return;
  // The mean: beside other threads some steps suffer and some do not.
  const double beside = facts.consumer_think_s / std::max(1.0, facts.elements);
  const double slower = beside / facts.step_alone_s;
  if (slower < (sleeps ? kLate : kSlower)) return;
  // The step must be what is waited for, and the pipeline what is busy.
  if (facts.wait_share() > 0.5) return;
  int stage = -1;
  for (int i = 0; i < num_stages(model); ++i) {
    if (stage < 0 ||
        need_of(model, i).compute > need_of(model, stage).compute) {
      stage = i;
    }
  }
  if (stage < 0) return;
  const StageFacts& s = stage_of(model, stage);
  const bool gil = is_thread(s);
  const double busy = busy_cores(model);
  // Of cores, most of one; of the GIL any good part, where it is always taken.
  const bool crowded = gil && facts.gil_busy > 0.8 && busy > 0.2;
  if (!crowded && (sleeps || busy < 0.5 || busy < facts.other_cpu)) return;
  Finding f;
  f.code = "noisy-neighbour";
  f.stage = stage;
  f.always = true;
  // A step without neighbours still waits for what it waits for now.
  const double cycle = facts.seconds / std::max(1.0, facts.elements);
  double compute = 0;
  for (int i = 0; i < num_stages(model); ++i)
    compute += need_of(model, i).compute;
  const double fewer = std::max(1, facts.cores - 1);
  // Others take their part of all cores, then too.
  const double left = std::max(0.5, facts.cores - facts.other_cpu);
  const double taken = gil ? 1 : std::max(1.0, (fewer + 1) / left);
  const double step = std::min(beside, taken * facts.step_alone_s);
  f.speedup = cycle / std::max(cycle - beside + step, compute / fewer);
  f.cause = absl::StrFormat(
      "the consumer's step takes %.1f times as long beside the pipeline: they "
      "compete for %s",
      slower, gil ? "the GIL" : "cores");
  f.evidence = {{"a step alone", facts.step_alone_s, "s"},
                {"a step beside the pipeline", beside, "s"},
                {"cores that the pipeline keeps busy", busy, "cores"},
                {"cores", static_cast<double>(facts.cores), ""}};
  if (gil) {
    f.changes = {{.stage = stage, .executor = "process"}};
    // Side by side, neither waits for the other.
    if (crowded) f.speedup = model.gain(f.changes);
    f.fix = absl::StrCat("run ", s.label,
                         " in worker processes, away from the GIL");
    f.fix_code = absl::StrCat(".", s.op, "(fn, executor=\"process\")");
  } else {
    f.fix = "leave a core to the training thread";
    f.fix_code =
        absl::StrFormat("ds = ds.with_options(ps.Options(cpu_budget=%d))",
                        std::max(1, facts.cores - 1));
  }
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
