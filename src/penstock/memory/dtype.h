// The element types a tensor may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace penstock {

/// IEEE half precision, as stored. Convert with to_float().
struct Float16 {
  std::uint16_t bits = 0;
  friend bool operator==(Float16, Float16) = default;
};
/// The upper half of an IEEE single.
struct BFloat16 {
  std::uint16_t bits = 0;
  friend bool operator==(BFloat16, BFloat16) = default;
};
float to_float(Float16 h);
float to_float(BFloat16 b);
Float16 to_float16(float f);    // rounds to nearest even
BFloat16 to_bfloat16(float f);  // rounds to nearest even

enum class DType : std::uint8_t {
  kInvalid,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kString,  // bytes of any length
  kObject,  // an opaque engine object, for example a nested dataset
};
constexpr int kNumDTypes = static_cast<int>(DType::kObject) + 1;

/// Bytes of one value; 0 for kString, kObject and kInvalid.
constexpr std::size_t dtype_size(DType t) {
  constexpr std::uint8_t kSizes[kNumDTypes] = {0, 1, 1, 2, 4, 8, 1, 2,
                                               4, 8, 2, 2, 4, 8, 0, 0};
  return kSizes[static_cast<int>(t)];
}
std::string_view dtype_name(DType t);
/// kInvalid if there is no such name.
DType dtype_from_name(std::string_view name);
constexpr bool dtype_is_dense(DType t) { return dtype_size(t) != 0; }

template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<U, Float16>)
    return DType::kFloat16;
  else if constexpr (std::is_same_v<U, BFloat16>)
    return DType::kBFloat16;
  else if constexpr (std::is_same_v<U, float>)
    return DType::kFloat32;
  else if constexpr (std::is_same_v<U, double>)
    return DType::kFloat64;
  else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>)
    return sizeof(U) == 1   ? DType::kInt8
           : sizeof(U) == 2 ? DType::kInt16
           : sizeof(U) == 4 ? DType::kInt32
                            : DType::kInt64;
  else if constexpr (std::is_integral_v<U>)
    return sizeof(U) == 1   ? DType::kUInt8
           : sizeof(U) == 2 ? DType::kUInt16
           : sizeof(U) == 4 ? DType::kUInt32
                            : DType::kUInt64;
  else
    return DType::kInvalid;
}

/// T is a number that a dense tensor holds.
template <class T>
concept Number = dtype_of<T>() != DType::kInvalid;

}  // namespace penstock
