// Small conversions between pixel layouts, shared by the codecs.
#pragma once

#include <cstdint>

namespace penstock::image {

/// Grey as the codecs compute it: BT.601 weights in integers, rounded.
constexpr std::uint8_t grey_of(std::uint32_t r, std::uint32_t g,
                               std::uint32_t b) {
  return static_cast<std::uint8_t>((r * 19595 + g * 38470 + b * 7471 + 32768) >>
                                   16);
}

/// One row of CMYK to 1, 3 or 4 channels; Adobe stores the inks inverted.
inline void cmyk_to_pixels(const std::uint8_t* in, std::int64_t width,
                           bool inverted, int channels, std::uint8_t* out) {
  for (std::int64_t i = 0; i < width; ++i, in += 4, out += channels) {
    const std::uint32_t k = inverted ? in[3] : 255 - in[3];
    std::uint32_t rgb[3];
    for (int c = 0; c < 3; ++c) {
      rgb[c] = k * (inverted ? in[c] : 255U - in[c]) / 255;
    }
    if (channels == 1) {
      out[0] = grey_of(rgb[0], rgb[1], rgb[2]);
      continue;
    }
    for (int c = 0; c < 3; ++c) out[c] = static_cast<std::uint8_t>(rgb[c]);
    if (channels == 4) out[3] = 255;
  }
}

/// One row of RGBA (8 bits) to 1, 3 or 4 channels.
inline void rgba_to_pixels(const std::uint8_t* in, std::int64_t width,
                           int channels, std::uint8_t* out) {
  for (std::int64_t i = 0; i < width; ++i, in += 4, out += channels) {
    if (channels == 1) {
      out[0] = grey_of(in[0], in[1], in[2]);
      continue;
    }
    for (int c = 0; c < channels; ++c) out[c] = in[c];
  }
}

}  // namespace penstock::image
