// The kernels as compiled for one instruction set, and which of them are used.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/image/kernels.h"

namespace penstock::image {

struct KernelSet {
  const char* name;
  void (*vertical)(const void* in, DType dtype, std::int64_t stride,
                   const float* weights, std::int64_t taps, std::int64_t count,
                   float* out);
  void (*horizontal)(const float* in, const AxisWeights& axis,
                     std::int64_t channels, float* out);
  void (*scale)(const void* in, DType dtype, std::int64_t count,
                const float* mean, const float* factor, std::int64_t channels,
                float* out);
  void (*widen_all)(const std::uint8_t* in, std::int64_t count, float factor,
                    float* out);
  void (*divide_all)(const float* in, std::int64_t count, float divisor,
                     float* out);
  Moments (*moments_of)(const std::uint8_t* in, std::int64_t count);
  void (*hue)(const void* in, DType dtype, std::int64_t pixels, float amount,
              void* out);
  void (*saturation)(const void* in, DType dtype, std::int64_t pixels,
                     float amount, void* out);
};

/// The sets that this machine can run, the fastest first.
const std::vector<const KernelSet*>& kernel_sets();
/// From now on; until it is called the fastest. For tests.
void use_kernel_set(const KernelSet& set);

}  // namespace penstock::image
