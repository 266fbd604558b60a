#include "penstock/memory/dtype.h"

#include <array>
#include <bit>

namespace penstock {
namespace {

constexpr std::array<std::string_view, kNumDTypes> kNames = {
    "invalid", "bool",    "int8",   "int16",  "int32",   "int64",
    "uint8",   "uint16",  "uint32", "uint64", "float16", "bfloat16",
    "float32", "float64", "string", "object"};

}  // namespace

std::string_view dtype_name(DType t) { return kNames[static_cast<int>(t)]; }

DType dtype_from_name(std::string_view name) {
  for (int i = 1; i < kNumDTypes; ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  return DType::kInvalid;
}

float to_float(BFloat16 b) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16);
}

BFloat16 to_bfloat16(float f) {
  const auto u = std::bit_cast<std::uint32_t>(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) {  // NaN stays NaN
    return {static_cast<std::uint16_t>((u >> 16) | 0x40)};
  }
  const std::uint32_t round = 0x7fffu + ((u >> 16) & 1);
  return {static_cast<std::uint16_t>((u + round) >> 16)};
}

float to_float(Float16 h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (h.bits >> 10) & 0x1f;
  std::uint32_t mantissa = h.bits & 0x3ffu;
  if (exponent == 0x1f) {
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  }
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) |
                                (mantissa << 13));
  }
  if (mantissa == 0) return std::bit_cast<float>(sign);
  const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24f;
  return sign ? -magnitude : magnitude;
}

Float16 to_float16(float f) {
  const auto u = std::bit_cast<std::uint32_t>(f);
  const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000u);
  const std::uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  }
  if (magnitude >= 0x47800000u) {  // 65536 and above
    return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  }
  std::uint32_t value = 0;
  if (magnitude < 0x38800000u) {  // subnormal half
    // Adding 0.5 aligns the mantissa so that the FPU rounds to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    value = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
  } else {
    const std::uint32_t round = 0xfffu + ((magnitude >> 13) & 1);
    value = (magnitude + round - 0x38000000u) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | value)};
}

}  // namespace penstock
