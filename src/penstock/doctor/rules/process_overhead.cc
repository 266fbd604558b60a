// process-overhead: a function was sent to processes, and the way there costs
// more than the call; or it only waits, for which there are few of them.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {
namespace {

// There are as many processes as cores: threads that wait are many.
bool waits_in_few(const Model& model, int i) {
  constexpr double kMostlyWaits = 4;
  const StageFacts& s = stage_of(model, i);
  const Need& need = need_of(model, i);
  return s.executor_forced && s.parallel_calls == 0 && s.calls > 0 &&
         limits(model, i, Limit::kWait) &&
         need.wait > kMostlyWaits * need.compute &&
         s.work_s * model.stretch() > kMostlyWaits * s.worker_cpu_s &&
         lanes_used(model, i) > 0.6;
}

}  // namespace

void process_overhead(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (!is_process(s)) continue;
    const bool waits = waits_in_few(model, i);
    if (!waits && !calling_costs_most(model, i)) continue;
    const double work = work_s(model, s);
    const double crossing = crossing_s(s);
    // It must be what the pipeline is limited by.
    const int at = model.pipeline().stage;
    if (at != i && model.compute_share(i) < 0.4) continue;
    Finding f;
    f.code = "process-overhead";
    f.stage = i;
    // Left to the engine, it is native where that can be.
    const bool native = !waits && !s.native_form.empty();
    f.changes = {{.stage = i, .executor = native ? "native" : "thread"}};
    f.speedup = std::max(1.0, model.gain(f.changes));
    // Even where threads are no faster, the processes are for nothing.
    f.always = facts.wait_share() > 0.05;
    f.cause =
        waits
            ? "its calls wait in worker processes, of which there are only as "
              "many as cores; threads that wait are many"
            : "its calls run in worker processes, and crossing to them costs "
              "more than the function does there";
    f.evidence = {{"the function itself, per call", work, "s"},
                  {"crossing there and back, per call", crossing, "s"},
                  {"calls", s.calls / facts.seconds, "1/s"},
                  {"a call in a thread costs", facts.call_overhead_s, "s"}};
    f.fix = !native ? "leave executor out: the engine moves a function to "
                      "processes when that pays"
                    : "leave executor out: the function then runs natively";
    f.fix_code =
        absl::StrCat(".", s.op, "(fn)  # without executor=\"process\"");
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
