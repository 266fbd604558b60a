// small-files: opening files takes more time than reading them.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void small_files(const Model& model, Findings& out) {
  int worst = -1;
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.opens < 20) continue;
    if (worst < 0 || s.opens > stage_of(model, worst).opens) worst = i;
  }
  if (worst < 0) return;
  const StageFacts& s = stage_of(model, worst);
  const double bytes = s.read_bytes / s.opens;
  if (bytes > (256 << 10)) return;
  // All that a file costs beyond its bytes: the stage's time but what reading
  // and inflating takes; for a nested dataset, opening the dataset too.
  double file_s = s.open_s;
  double all = std::max(s.busy_s, s.open_s + s.read_s);
  if (s.parent >= 0) {
    const StageFacts& opener = stage_of(model, s.parent);
    file_s += opener.busy_s;
    all += opener.busy_s;
  }
  if (file_s < 0.3 * all) return;
  double total = 0;
  for (int i = 0; i < num_stages(model); ++i)
    total += stage_of(model, i).busy_s;
  if (all < 0.3 * total || all < 0.3 * model.facts().seconds) return;
  Finding f;
  f.code = "small-files";
  f.stage = worst;
  // Of a record in a large file.
  const double packed = 0.1e-6 + bytes / 2e9;
  const double left = std::min(1.0, packed * s.opens / std::max(all, 1e-9));
  f.changes = {{.stage = worst, .packed = true, .compute = left, .wait = left}};
  if (s.parent >= 0) {
    f.changes.push_back(
        {.stage = s.parent, .packed = true, .compute = left, .wait = left});
  }
  // Files that are few need not be listed.
  for (const int up : model.upstream(s.parent >= 0 ? s.parent : worst)) {
    if (up != worst && up != s.parent) {
      f.changes.push_back({.stage = up, .compute = 0, .wait = 0});
    }
  }
  f.speedup = model.gain(f.changes);
  f.cause = "opening small files takes most of the time";
  f.evidence = {{"files opened", s.opens / model.facts().seconds, "1/s"},
                {"bytes per file", bytes, "bytes"},
                {"opening a file", file_s / s.opens, "s"},
                {"reading it", s.read_s / s.opens, "s"}};
  f.fix = "pack them into a few large files once, and read those";
  f.fix_code =
      "ds.save(\"packed\", num_shards=16)  # once\n"
      "ds = ps.Dataset.load(\"packed\")";
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
