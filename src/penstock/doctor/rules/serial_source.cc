// serial-source: one sequential file or generator feeds everything.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void serial_source(const Model& model, Findings& out) {
  const int i = model.pipeline().stage;
  if (i < 0 || model.pipeline().limit != Limit::kSerial) return;
  const StageFacts& s = stage_of(model, i);
  if (!s.source) return;
  // Inflating and opening have rules of their own.
  if (s.inflate_s > 0.5 * s.busy_s || s.open_s > 0.5 * s.busy_s) return;
  Finding f;
  f.code = "serial-source";
  f.stage = i;
  const bool generator = s.op == "from_generator";
  const bool waits = need_of(model, i).wait > need_of(model, i).compute;
  // A function of an index runs as a map does. Of files, as many are open as an
  // interleave opens, or work on as many as there are cores.
  const int at_once = !waits ? model.facts().cores : generator ? 0 : 16;
  f.changes = {{.stage = i, .parallel_calls = at_once}};
  f.speedup = model.gain(f.changes);
  f.cause = generator ? "one generator makes every element, one after the other"
                      : "one worker at a time reads this source";
  f.evidence = {
      {"time per element in the source", service_s(model, i), "s"},
      {"the source is at work", 100 * std::min(1.0, model.parallelism(i)), "%"},
      {"elements/s it can give", model.of_stage(i).rate, "1/s"}};
  if (generator) {
    f.fix =
        "make elements by index: any worker can then make any of them, at "
        "once, and a function that computes moves to processes";
    f.fix_code =
        "ds = ps.Dataset.range(n).map(make)  # make(i): the i-th "
        "element";
  } else {
    if (s.files > 0) {
      f.evidence.push_back({"files", static_cast<double>(s.files), ""});
    }
    f.fix = "split it into several files, and read them at once";
    f.fix_code = absl::StrCat(
        "ds = ps.Dataset.list_files(\"shards/*\")"
        ".interleave(lambda file: ps.Dataset.",
        s.op, "(file))");
  }
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
