// The arithmetic of one pixel, shared by the colour operations.
#pragma once

#include <algorithm>
#include <cmath>

namespace penstock::image {

struct Rgb {
  float r, g, b;
};
struct Hsv {
  float h, s, v;
};

inline Hsv to_hsv(const Rgb& p) {
  const float most = std::max(p.r, std::max(p.g, p.b));
  const float range = most - std::min(p.r, std::min(p.g, p.b));
  Hsv out{0, most > 0 ? range / most : 0, most};
  if (range <= 0) return out;
  const float norm = 1 / (6 * range);
  if (p.r == most)
    out.h = norm * (p.g - p.b);
  else if (p.g == most)
    out.h = norm * (p.b - p.r) + 2.0F / 6;
  else
    out.h = norm * (p.r - p.g) + 4.0F / 6;
  if (out.h < 0) out.h += 1;
  return out;
}

/// How much of the range of a pixel's values each channel has at hue `h`.
inline Rgb hue_ramps(float h) {
  const float dh = h * 6;
  const auto ramp = [](float x) { return std::clamp(x, 0.0F, 1.0F); };
  return {ramp(std::abs(dh - 3) - 1), ramp(2 - std::abs(dh - 2)),
          ramp(2 - std::abs(dh - 4))};
}

inline Rgb to_rgb(const Hsv& p) {
  const Rgb part = hue_ramps(p.h);
  const float rest = 1 - p.s;
  return {(rest + p.s * part.r) * p.v, (rest + p.s * part.g) * p.v,
          (rest + p.s * part.b) * p.v};
}

inline Rgb saturated(const Rgb& p, float factor) {
  Hsv hsv = to_hsv(p);
  hsv.s = std::clamp(hsv.s * factor, 0.0F, 1.0F);
  return to_rgb(hsv);
}

/// Without the saturation, which says nothing of pixels that are negative.
inline Rgb hue_turned(const Rgb& p, float delta) {
  float h = to_hsv(p).h + delta;
  h -= std::floor(h);
  const float least = std::min(p.r, std::min(p.g, p.b));
  const float range = std::max(p.r, std::max(p.g, p.b)) - least;
  const Rgb part = hue_ramps(h);
  return {least + range * part.r, least + range * part.g,
          least + range * part.b};
}

}  // namespace penstock::image
