// compression: inflating takes most of the time of what limits.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void compression(const Model& model, Findings& out) {
  int worst = -1;
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.inflate_s <= 0) continue;
    if (worst < 0 || s.inflate_s > stage_of(model, worst).inflate_s) worst = i;
  }
  if (worst < 0) return;
  const StageFacts& s = stage_of(model, worst);
  const double share = s.inflate_s / std::max(s.busy_s, 1e-9);
  if (share < 0.4) return;
  Finding f;
  f.code = "compression";
  f.stage = worst;
  const double left = 1 - std::min(share, 0.95);
  f.changes = {{.stage = worst, .packed = true, .compute = left, .wait = left}};
  f.speedup = model.gain(f.changes);
  f.cause = "decompressing takes most of the time of reading";
  f.evidence = {
      {"decompressing, of the time in this stage", 100 * share, "%"},
      {"decompressed", s.bytes / std::max(s.inflate_s, 1e-9), "bytes/s"},
      {"read from the files", s.read_bytes / model.facts().seconds, "bytes/s"},
      {"the stage is at work", 100 * std::min(1.0, model.parallelism(worst)),
       "%"}};
  const bool fast = s.compression == "ZSTD";
  f.fix = absl::StrCat("store the files without compression",
                       fast ? ""
                            : ", or with ZSTD, which inflates several "
                              "times faster",
                       "; several files inflate side by side");
  f.fix_code = absl::StrCat("ps.Dataset.", s.op,
                            fast ? "(files)  # of records as they are"
                                 : "(files, compression=\"ZSTD\")");
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
