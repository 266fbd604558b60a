// python-gil: calls of Python functions take turns, because one thread at a
// time holds the GIL.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void python_gil(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  int worst = -1;
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.executor != "thread" || s.op == "interleave") continue;
    if (worst < 0 || need_of(model, i).gil > need_of(model, worst).gil) {
      worst = i;
    }
  }
  if (worst < 0 || !model.gil_bound()) return;
  const StageFacts& s = stage_of(model, worst);
  const double call = s.calls > 0 ? s.gil_hold_s / s.calls : 0;
  // A call that does next to nothing is another matter.
  if (call < tiny_call_s(facts)) return;
  Finding f;
  f.code = "python-gil";
  f.stage = worst;
  f.changes = {{.stage = worst, .executor = "process"}};
  f.speedup = model.gain(f.changes);
  f.cause = absl::StrCat(s.function.empty() ? "its function" : s.function,
                         " holds the GIL: calls in several threads take turns");
  if (!s.stays.empty()) {
    absl::StrAppend(&f.cause, " (", s.stays, ")");
  }
  f.evidence = {
      {"calls from taking the GIL to the end",
       100 * s.gil_hold_s / facts.seconds, "%"},
      {"waiting for the GIL per call", s.calls > 0 ? s.gil_wait_s / s.calls : 0,
       "s"},
      {"a call from taking it to the end", call, "s"},
      {"mean calls at work", model.parallelism(worst), "calls"},
      {"CPU the calls used together", s.cpu_s / facts.seconds, "cores"}};
  if (!s.pickles) {
    f.fix = absl::StrCat(
        "make the object inside of the function, once in every process, and "
        "run that in worker processes: ",
        s.stays);
    f.fix_code =
        "made = []\n"
        "def the_object():  # for the function to call\n"
        "    if not made: made.append(...)  # make it here\n"
        "    return made[0]\n";
  } else if (!s.stays.empty()) {
    f.fix = absl::StrCat(
        "run it in worker processes: ", s.stays,
        "; if a copy in every process will do, ask for it by hand");
  } else {
    f.fix = "run it in worker processes";
  }
  absl::StrAppend(&f.fix_code, ".", s.op, "(fn, executor=\"process\")");
  if (!s.hot_lines.empty()) {
    absl::StrAppend(&f.fix_code, "\n# hot lines of the function:\n",
                    s.hot_lines);
  }
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
