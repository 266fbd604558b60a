// trace-refused: a costly function runs in Python because of something that a
// small rewrite would remove.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {
namespace {

std::string rewritten(const std::string& refusal) {
  const auto says = [&](const char* word) {
    return refusal.find(word) != std::string::npos;
  };
  if (says("print")) return "# without print(); repr(report) shows the figures";
  if (says("try")) return "ds.map(fn, on_error=\"skip\")  # instead of try";
  if (says("while")) return "for _ in range(n):  # a fixed number of steps";
  if (says("calls random.") || (says("the module") && says("random"))) {
    return "x = ps.random.uniform(())  # instead of the module random";
  }
  if (says("Python float")) {
    return "ps.cast(x, ps.float64)  # instead of float(x)";
  }
  if (says("Python int")) {
    return "ps.cast(x, ps.int64)  # instead of int(x)";
  }
  if (says("round()")) return "np.round(x)  # instead of round(x)";
  if (says("no native form")) return "ds.map(lambda x: ps.cast(x, ps.float32))";
  return "ps.where(condition, a, b)  # instead of if";
}

}  // namespace

void trace_refused(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.refusal.empty() || !s.refusal_fixable) continue;
    if (s.executor != "thread" && s.executor != "process") continue;
    const double call = s.calls > 0 ? (s.gil_hold_s + s.work_s) / s.calls : 0;
    // Tiny calls are python-overhead.
    if (s.executor == "thread" && call < tiny_call_s(facts)) continue;
    if (model.compute_share(i) < 0.4) continue;
    Finding f;
    f.code = "trace-refused";
    f.stage = i;
    f.changes = {{.stage = i, .executor = "native"}};
    f.speedup = std::max(1.0, model.gain(f.changes));
    // It was tried and can be native: said of a costly function even where
    // that gains little.
    f.always = s.native_left > 0 && facts.wait_share() > 0.05;
    // The GIL, or an explicit number, is the nearer cause, and has the safer
    // fix.
    f.secondary = model.gil_bound() || limits(model, i, Limit::kWidth);
    f.cause = absl::StrCat(s.function.empty() ? "its function" : s.function,
                           " runs in Python, because it ", s.refusal);
    f.evidence = {{"a call", call, "s"},
                  {"share of all computing", 100 * model.compute_share(i), "%"},
                  {"calls", s.calls / facts.seconds, "1/s"}};
    f.fix = absl::StrCat("rewrite what is refused (", s.refusal,
                         "), and it runs natively");
    f.fix_code = rewritten(s.refusal);
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
