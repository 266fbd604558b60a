// oversized-decode: pictures are decoded large, then shrunk much.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {
namespace {

constexpr double kLeastRatio = 6;  // of pixels

}  // namespace

void oversized_decode(const Model& model, Findings& out) {
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.decoded_pixels <= 0 || s.elements <= 0) continue;
    // The resize may be in this stage or in one behind it.
    double resized = s.resized_pixels / s.elements;
    for (int k = i + 1; k < num_stages(model) && resized <= 0; ++k) {
      const StageFacts& behind = stage_of(model, k);
      if (behind.elements > 0)
        resized = behind.resized_pixels / behind.elements;
    }
    const double decoded = s.decoded_pixels / s.elements;
    double ratio = resized > 0 ? decoded / resized : 0;
    if (ratio <= 0) ratio = s.shape_ratio;
    if (ratio < kLeastRatio) continue;
    int scale = 2;
    while (scale < 8 && ratio / (4.0 * scale * scale) >= 1) scale *= 2;
    Finding f;
    f.code = "oversized-decode";
    f.stage = i;
    // As measured; else: entropy decoding stays, transforms shrink.
    const double left =
        s.decode_left > 0 ? s.decode_left : 0.35 + 0.65 / (scale * scale);
    f.changes = {{.stage = i, .compute = left}};
    f.speedup = model.gain(f.changes);
    f.cause = absl::StrFormat(
        "pictures are decoded with %.0f times the pixels that are kept", ratio);
    f.evidence = {{"pixels decoded per element", decoded, "pixels"},
                  {"pixels kept", decoded / ratio, "pixels"},
                  {"time per element in this stage", service_s(model, i), "s"}};
    f.fix = absl::StrCat("decode at 1/", scale,
                         " of the size: the decoder then skips most of the "
                         "work");
    f.fix_code = absl::StrCat("ps.image.decode_jpeg(data, ratio=", scale, ")");
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
