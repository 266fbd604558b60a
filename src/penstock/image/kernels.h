// The inner loops over pixels, as SIMD for the machine they run on.
//
// Highway picks the widest instruction set at run time. Sums are taken in a
// fixed order without fused multiply-add, so every instruction set gives the
// bits of the plain loops in namespace reference.
#pragma once

#include <cstdint>

#include "penstock/image/axis_weights.h"
#include "penstock/memory/dtype.h"

namespace penstock::image {

/// Values that may be read behind the end of a row of floats.
constexpr std::int64_t kRowPadding = 16;

/// out[i] = sum over k of weights[k] * in[k * stride + i], for i < count.
/// `in` is of a pixel type; nothing is read behind count.
void vertical_sum(const void* in, DType dtype, std::int64_t stride,
                  const float* weights, std::int64_t taps, std::int64_t count,
                  float* out);

/// One row: out[x * channels + c] = sum over k of
/// weights[x * taps + k] * in[(first[x] + k) * channels + c]. `in` has
/// kRowPadding values more.
void horizontal_sum(const float* in, const AxisWeights& axis,
                    std::int64_t channels, float* out);

/// out[i] = (in[i] - mean[i % channels]) * scale[i % channels]; `in` is of a
/// pixel type, and may be `out` when it is float32.
void subtract_and_scale(const void* in, DType dtype, std::int64_t count,
                        const float* mean, const float* scale,
                        std::int64_t channels, float* out);

/// uint8 to float32: out[i] = in[i] * scale.
void widen(const std::uint8_t* in, std::int64_t count, float scale, float* out);

/// out[i] = in[i] / divisor; `in` may be `out`.
void divide(const float* in, std::int64_t count, float divisor, float* out);

/// `pixels` RGB pixels of uint8 or float32, taken as fractions of the range:
/// the hue turned by `turn`, or the saturation multiplied.
void turn_hue(const void* in, DType dtype, std::int64_t pixels, float turn,
              void* out);
void scale_saturation(const void* in, DType dtype, std::int64_t pixels,
                      float factor, void* out);

/// The sum and the sum of squares of `count` uint8 values, exact.
struct Moments {
  std::uint64_t sum = 0;
  std::uint64_t squares = 0;
};
Moments moments(const std::uint8_t* in, std::int64_t count);

namespace reference {
void vertical_sum(const void* in, DType dtype, std::int64_t stride,
                  const float* weights, std::int64_t taps, std::int64_t count,
                  float* out);
void horizontal_sum(const float* in, const AxisWeights& axis,
                    std::int64_t channels, float* out);
void subtract_and_scale(const void* in, DType dtype, std::int64_t count,
                        const float* mean, const float* scale,
                        std::int64_t channels, float* out);
void widen(const std::uint8_t* in, std::int64_t count, float scale, float* out);
void divide(const float* in, std::int64_t count, float divisor, float* out);
Moments moments(const std::uint8_t* in, std::int64_t count);
void turn_hue(const void* in, DType dtype, std::int64_t pixels, float turn,
              void* out);
void scale_saturation(const void* in, DType dtype, std::int64_t pixels,
                      float factor, void* out);
}  // namespace reference

}  // namespace penstock::image
