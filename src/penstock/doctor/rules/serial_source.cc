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
  // As many of them at once as there are cores.
  f.changes = {{.stage = i, .parallel_calls = need_of(model, i).wait >
                                                      need_of(model, i).compute
                                                  ? 16
                                                  : model.facts().cores}};
  f.speedup = model.gain(f.changes);
  const bool generator = s.op == "from_generator";
  f.cause = generator ? "one generator makes every element, one after the other"
                      : "one worker at a time reads this source";
  f.evidence = {{"time per element in the source", service_s(model, i), "s"},
                {"the source is at work",
                 100 * std::min(1.0, model.parallelism(i)), "%"},
                {"elements/s it can give", model.of_stage(i).rate, "1/s"}};
  if (generator) {
    f.fix = "split it into several generators that are read at once, or make "
            "elements by index (from_indexable), which any worker can do";
    f.fix_code =
        "n = 16\n"
        "ds = ps.Dataset.range(n).interleave(\n"
        "    lambda i: ps.Dataset.from_generator(part, args=(i, n)), "
        "cycle_length=n)";
  } else {
    if (s.files > 0) {
      f.evidence.push_back({"files", static_cast<double>(s.files), ""});
    }
    f.fix = "split it into several files, and read them at once";
    f.fix_code = absl::StrCat("ds = ps.Dataset.list_files(\"shards/*\")"
                              ".interleave(lambda file: ps.Dataset.", s.op,
                              "(file))");
  }
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
