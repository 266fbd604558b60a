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

inline Rgb to_rgb(const Hsv& p) {
  const float dh = p.h * 6;
  const auto ramp = [](float x) { return std::clamp(x, 0.0F, 1.0F); };
  const float r = ramp(std::abs(dh - 3) - 1);
  const float g = ramp(2 - std::abs(dh - 2));
  const float b = ramp(2 - std::abs(dh - 4));
  const float rest = 1 - p.s;
  return {(rest + p.s * r) * p.v, (rest + p.s * g) * p.v,
          (rest + p.s * b) * p.v};
}

inline Rgb saturated(const Rgb& p, float factor) {
  Hsv hsv = to_hsv(p);
  hsv.s = std::clamp(hsv.s * factor, 0.0F, 1.0F);
  return to_rgb(hsv);
}

inline Rgb hue_turned(const Rgb& p, float delta) {
  Hsv hsv = to_hsv(p);
  hsv.h += delta;
  hsv.h -= std::floor(hsv.h);
  return to_rgb(hsv);
}

}  // namespace penstock::image
