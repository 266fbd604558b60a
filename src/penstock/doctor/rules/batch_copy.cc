// batch-copy: padding or stacking is what the cores are busy with.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void batch_copy(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.batch_size <= 0 || s.inputs.empty()) continue;
    const double share = model.compute_share(i);
    if (share < 0.5 || model.pipeline().limit != Limit::kCores) continue;
    // Stages that pass rows on do not count their bytes.
    int before = s.inputs.front();
    while (stage_of(model, before).bytes_per_element() <= 0 &&
           stage_of(model, before).inputs.size() == 1) {
      before = stage_of(model, before).inputs.front();
    }
    const double in = stage_of(model, before).bytes_per_element() *
                      static_cast<double>(s.batch_size);
    const double bytes = s.bytes_per_element();
    if (bytes < (64 << 10)) continue;
    const double padding =
        s.padded && bytes > 0 && in > 0 && in < bytes ? 1 - in / bytes : 0;
    Finding f;
    f.code = "batch-copy";
    f.stage = i;
    // Padding that is not written, or half of a copy: smaller elements. What
    // is padded costs less than what is copied, so that it was tried.
    const double unpadded = s.padding_left > 0 ? s.padding_left : 1 - padding;
    const double left = padding > 0.2 ? std::min(1.0, unpadded) : 0.5;
    f.changes = {{.stage = i, .compute = left}};
    f.speedup = model.gain(f.changes);
    f.cause = padding > 0.2
                  ? absl::StrFormat("%.0f %% of what it writes is padding",
                                    100 * padding)
                  : std::string(
                        "copying elements into batches is most of the "
                        "work");
    f.evidence = {{"share of all computing", 100 * share, "%"},
                  {"bytes written", s.bytes / facts.seconds, "bytes"},
                  {"a batch", bytes, "bytes"}};
    if (padding > 0) f.evidence.push_back({"padding", 100 * padding, "%"});
    if (padding > 0.2) {
      f.fix = "put elements of like length together, so that little is padded";
      f.fix_code = ".bucket_by_sequence_length(len, boundaries, batch_sizes)";
    } else {
      f.fix =
          "batch smaller elements and convert behind the batch (uint8 "
          "instead of float32; the prediction is for half the bytes)";
      f.fix_code = ".batch(n).map(lambda x: ps.cast(x, ps.float32))";
    }
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
