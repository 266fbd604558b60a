// Arithmetic on single values, exactly as NumPy does it on x86-64.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "penstock/memory/dtype.h"

namespace penstock::expr {

template <class T>
concept Float = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
concept Int = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// What T is computed in: halves in single precision, the rest as they are.
template <class T>
struct Wide {
  using Type = T;
  static T load(T v) { return v; }
  static T store(T v) { return v; }
};
template <>
struct Wide<Float16> {
  using Type = float;
  static float load(Float16 v) { return to_float(v); }
  static Float16 store(float v) { return to_float16(v); }
};

// Signed integers wrap: computed unsigned, in at least 32 bits so that small
// types are not promoted to a signed int that could overflow.
template <Int T>
using Bits =
    std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
template <Int T>
T wrap(Bits<T> v) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(v));
}
template <Int T>
Bits<T> bits(T v) {
  return static_cast<Bits<T>>(v);
}

template <class T>
bool is_nan(T v) {
  if constexpr (Float<T>)
    return v != v;
  else
    return false;
}

template <Int T>
T floor_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return wrap<T>(0 - bits(a));
    const T q = static_cast<T>(a / b);
    return static_cast<T>(q - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0));
  } else {
    return static_cast<T>(a / b);
  }
}
template <Int T>
T remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
    const T r = static_cast<T>(a % b);
    return r != 0 && ((r < 0) != (b < 0)) ? static_cast<T>(r + b) : r;
  } else {
    return static_cast<T>(a % b);
  }
}
template <Int T>
T c_remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <Float T>
T floor_divide(T a, T b) {
  if (b == 0) return a / b;
  const T mod = std::fmod(a, b);
  T div = (a - mod) / b;
  if (mod != 0 && ((b < 0) != (mod < 0))) div -= T{1};
  if (div != 0) {
    T floored = std::floor(div);
    if (div - floored > T{0.5}) floored += T{1};
    return floored;
  }
  return std::copysign(T{0}, a / b);
}
template <Float T>
T remainder(T a, T b) {
  T mod = std::fmod(a, b);
  if (b == 0) return mod;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) mod += b;
  } else {
    mod = std::copysign(T{0}, b);
  }
  return mod;
}
template <Float T>
T c_remainder(T a, T b) {
  return std::fmod(a, b);
}

/// a ** b, wrapping. b must not be negative.
template <Int T>
T integer_power(T a, T b) {
  Bits<T> base = bits(a);
  Bits<T> result = 1;
  for (auto e = static_cast<std::make_unsigned_t<T>>(b); e != 0; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  return wrap<T>(result);
}

template <Int T>
T shift_left(T a, T b) {
  const auto by = static_cast<std::make_unsigned_t<T>>(b);
  if (by >= sizeof(T) * 8) return 0;
  return wrap<T>(bits(a) << by);
}
template <Int T>
T shift_right(T a, T b) {
  const auto by = static_cast<std::make_unsigned_t<T>>(b);
  if (by >= sizeof(T) * 8) {
    return a < 0 ? static_cast<T>(-1) : T{0};
  }
  return static_cast<T>(a >> by);
}

/// As cvttsd2si: what does not fit is the least int64.
inline std::int64_t truncate_to_int64(double v) {
  if (v >= -0x1.0p63 && v < 0x1.0p63) return static_cast<std::int64_t>(v);
  return std::numeric_limits<std::int64_t>::min();
}
inline std::int32_t truncate_to_int32(double v) {
  if (v > -2147483649.0 && v < 2147483648.0) {
    return static_cast<std::int32_t>(v);
  }
  return std::numeric_limits<std::int32_t>::min();
}

/// A float as an integer, as compiled C casts do it on x86-64: small types
/// are cut out of an int32, uint32 out of an int64.
template <Int To, Float From>
To float_to_int(From v) {
  const auto d = static_cast<double>(v);
  if constexpr (std::is_same_v<To, std::uint64_t>) {
    if (!(d >= 0x1.0p63)) {
      return static_cast<std::uint64_t>(truncate_to_int64(d));
    }
    return static_cast<std::uint64_t>(truncate_to_int64(d - 0x1.0p63)) ^
           (std::uint64_t{1} << 63);
  } else if constexpr (sizeof(To) == 8) {
    return truncate_to_int64(d);
  } else if constexpr (std::is_same_v<To, std::uint32_t>) {
    return static_cast<To>(static_cast<std::uint64_t>(truncate_to_int64(d)));
  } else {
    return static_cast<To>(static_cast<std::uint32_t>(truncate_to_int32(d)));
  }
}

/// Rounds once, not by way of single precision.
inline Float16 double_to_float16(double v) {
  auto single = static_cast<float>(v);
  if (std::isfinite(single) && static_cast<double>(single) != v) {
    // Sticky last bit: rounding to nearest even then sees what was cut off.
    auto u = std::bit_cast<std::uint32_t>(single);
    const bool too_large =
        std::fabs(static_cast<double>(single)) > std::fabs(v);
    if (too_large) --u;
    single = std::bit_cast<float>(u | 1u);
  }
  return to_float16(single);
}

/// One value in another dtype.
template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (std::is_same_v<From, Float16> ||
                       std::is_same_v<From, BFloat16>) {
    return convert<To>(to_float(v));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return to_bfloat16(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, Float16>) {
    if constexpr (std::is_same_v<From, double>)
      return double_to_float16(v);
    else if constexpr (std::is_same_v<From, bool>)
      return to_float16(v ? 1.0f : 0.0f);
    else
      return to_float16(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != 0;
  } else if constexpr (Float<From> && Int<To>) {
    return float_to_int<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

}  // namespace penstock::expr
