// The kernels as plain loops: what the SIMD versions must equal, bit for bit.
#include "penstock/image/kernels.h"
#include "penstock/image/pixel_math.h"
#include "penstock/image/view.h"

namespace penstock::image::reference {

void vertical_sum(const void* in, DType dtype, std::int64_t stride,
                  const float* weights, std::int64_t taps, std::int64_t count,
                  float* out) {
  with_pixel_type(dtype, [&](auto zero) {
    const auto* values = static_cast<const decltype(zero)*>(in);
    for (std::int64_t i = 0; i < count; ++i) {
      float sum = weights[0] * as_float(values[i]);
      for (std::int64_t k = 1; k < taps; ++k) {
        sum = sum + weights[k] * as_float(values[k * stride + i]);
      }
      out[i] = sum;
    }
  });
}

void horizontal_sum(const float* in, const AxisWeights& axis,
                    std::int64_t channels, float* out) {
  const float* weights = axis.weights.data();
  for (std::int64_t x = 0; x < axis.outputs; ++x, weights += axis.taps) {
    const float* pixel =
        in + axis.first[static_cast<std::size_t>(x)] * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      float sum = weights[0] * pixel[c];
      for (std::int64_t k = 1; k < axis.taps; ++k) {
        sum = sum + weights[k] * pixel[k * channels + c];
      }
      out[x * channels + c] = sum;
    }
  }
}

void subtract_and_scale(const void* in, DType dtype, std::int64_t count,
                        const float* mean, const float* scale,
                        std::int64_t channels, float* out) {
  with_pixel_type(dtype, [&](auto zero) {
    const auto* values = static_cast<const decltype(zero)*>(in);
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = (as_float(values[i]) - mean[i % channels]) * scale[i % channels];
    }
  });
}

void widen(const std::uint8_t* in, std::int64_t count, float scale,
           float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(in[i]) * scale;
  }
}

void divide(const float* in, std::int64_t count, float divisor, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = in[i] / divisor;
}

Moments moments(const std::uint8_t* in, std::int64_t count) {
  Moments m;
  for (std::int64_t i = 0; i < count; ++i) {
    m.sum += in[i];
    m.squares += std::uint64_t{in[i]} * in[i];
  }
  return m;
}

namespace {

template <class F>
void map_rgb(const void* in, DType dtype, std::int64_t pixels, void* out, F f) {
  if (dtype == DType::kFloat32) {
    const auto* from = static_cast<const float*>(in);
    auto* to = static_cast<float*>(out);
    for (std::int64_t i = 0; i < pixels; ++i, from += 3, to += 3) {
      const Rgb p = f(Rgb{from[0], from[1], from[2]});
      to[0] = p.r;
      to[1] = p.g;
      to[2] = p.b;
    }
    return;
  }
  constexpr float kScale = 1.0F / 255;
  const auto* from = static_cast<const std::uint8_t*>(in);
  auto* to = static_cast<std::uint8_t*>(out);
  for (std::int64_t i = 0; i < pixels; ++i, from += 3, to += 3) {
    const Rgb p = f(Rgb{static_cast<float>(from[0]) * kScale,
                        static_cast<float>(from[1]) * kScale,
                        static_cast<float>(from[2]) * kScale});
    to[0] = saturate_to<std::uint8_t>(p.r * 255.5F);
    to[1] = saturate_to<std::uint8_t>(p.g * 255.5F);
    to[2] = saturate_to<std::uint8_t>(p.b * 255.5F);
  }
}

}  // namespace

void turn_hue(const void* in, DType dtype, std::int64_t pixels, float turn,
              void* out) {
  map_rgb(in, dtype, pixels, out,
          [turn](const Rgb& p) { return hue_turned(p, turn); });
}

void scale_saturation(const void* in, DType dtype, std::int64_t pixels,
                      float factor, void* out) {
  map_rgb(in, dtype, pixels, out,
          [factor](const Rgb& p) { return saturated(p, factor); });
}

}  // namespace penstock::image::reference
