// oversubscribed: a function runs threads of its own, or there are more worker
// processes than cores.
#include <algorithm>

#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void oversubscribed(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  int stage = -1;
  int workers = 0;
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (!s.user_code || s.executor == "native") continue;
    const bool computes =
        s.executor == "process" ? s.worker_cpu_s > 0.3 * s.work_s : true;
    if (s.executor == "process" && computes &&
        s.parallel_calls > 2 * facts.cores &&
        s.worker_cpu_s > 0.5 * facts.cores * facts.seconds) {
      workers = std::max(workers, s.parallel_calls);
      stage = i;
    }
  }
  if (stage < 0) {
    stage = threaded_stage(facts);
    if (stage < 0) return;
  }
  const StageFacts& s = stage_of(model, stage);
  Finding f;
  f.code = "oversubscribed";
  f.stage = stage;
  f.always = facts.wait_share() > 0.05;
  f.changes = {{.stage = stage, .parallel_calls = 0}};
  if (workers > 0) {
    f.speedup = std::max(1.0, model.gain(f.changes));
  } else {
    // The same work on cores that have no time to spare: calls that wait for
    // threads of their own, and for those of others, leave some of it.
    const double used =
        std::max(facts.own_cpu_s, facts.foreign_cpu_s) / facts.seconds;
    const double idle = facts.cores / std::max(used + facts.other_cpu, 1e-9);
    f.speedup = std::clamp(model.residual(), 1.0, std::max(1.0, idle));
  }
  if (workers > 0) {
    f.cause = absl::StrCat(workers, " worker processes share ", facts.cores,
                           " cores");
    f.evidence = {
        {"worker processes", static_cast<double>(workers), ""},
        {"cores", static_cast<double>(facts.cores), ""},
        {"CPU time of the workers", s.worker_cpu_s / facts.seconds, "cores"}};
    f.fix =
        "leave num_parallel_calls out: there are then as many workers as "
        "cores";
    f.fix_code = absl::StrCat(".", s.op, "(fn, executor=\"process\")");
  } else {
    f.cause = absl::StrCat(
        s.function.empty() ? "its function" : s.function,
        " runs threads of its own beside the engine's, on the same cores");
    f.evidence = {
        {"threads that are not the engine's",
         static_cast<double>(facts.foreign_threads), "threads"},
        {"CPU time they used", facts.foreign_cpu_s / facts.seconds, "cores"},
        {"cores", static_cast<double>(facts.cores), ""}};
    f.fix = "let the function use one thread: the engine runs it on all cores";
    f.fix_code =
        "import os\n"
        "os.environ[\"OMP_NUM_THREADS\"] = \"1\"  # before the "
        "imports; or cv2.setNumThreads(0), torch.set_num_threads(1)";
  }
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
