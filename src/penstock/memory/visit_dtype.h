// From a dtype to the type of its numbers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "penstock/memory/dtype.h"

namespace penstock {

/// Calls `f.operator()<T>()` for the type of a number; R() for other dtypes,
/// and for bfloat16, in which nothing is computed.
template <class R, class F>
R visit_dtype(DType dtype, F f) {
  switch (dtype) {
    case DType::kBool:
      return f.template operator()<bool>();
    case DType::kInt8:
      return f.template operator()<std::int8_t>();
    case DType::kInt16:
      return f.template operator()<std::int16_t>();
    case DType::kInt32:
      return f.template operator()<std::int32_t>();
    case DType::kInt64:
      return f.template operator()<std::int64_t>();
    case DType::kUInt8:
      return f.template operator()<std::uint8_t>();
    case DType::kUInt16:
      return f.template operator()<std::uint16_t>();
    case DType::kUInt32:
      return f.template operator()<std::uint32_t>();
    case DType::kUInt64:
      return f.template operator()<std::uint64_t>();
    case DType::kFloat16:
      return f.template operator()<Float16>();
    case DType::kFloat32:
      return f.template operator()<float>();
    case DType::kFloat64:
      return f.template operator()<double>();
    default:
      return R();
  }
}

/// The same for integers alone.
template <class R, class F>
R visit_integer(DType dtype, F f) {
  return visit_dtype<R>(dtype, [&]<class T>() -> R {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return f.template operator()<T>();
    } else {
      return R();
    }
  });
}

}  // namespace penstock
