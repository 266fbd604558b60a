// The kernels as plain loops: what the SIMD versions must equal, bit for bit.
#include "penstock/image/kernels.h"
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

Moments moments(const std::uint8_t* in, std::int64_t count) {
  Moments m;
  for (std::int64_t i = 0; i < count; ++i) {
    m.sum += in[i];
    m.squares += std::uint64_t{in[i]} * in[i];
  }
  return m;
}

}  // namespace penstock::image::reference
