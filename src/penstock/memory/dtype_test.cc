#include "penstock/memory/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "penstock/base/random.h"

namespace penstock {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(t)), t);
  }
  EXPECT_EQ(dtype_from_name("float128"), DType::kInvalid);
  EXPECT_EQ(dtype_from_name("invalid"), DType::kInvalid);
  EXPECT_EQ(dtype_from_name(""), DType::kInvalid);
  EXPECT_EQ(dtype_name(DType::kBFloat16), "bfloat16");
}

TEST(DType, SizesFitTheirTypes) {
  EXPECT_EQ(dtype_size(dtype_of<bool>()), 1u);
  EXPECT_EQ(dtype_size(dtype_of<std::int8_t>()), 1u);
  EXPECT_EQ(dtype_size(dtype_of<std::uint16_t>()), 2u);
  EXPECT_EQ(dtype_size(dtype_of<std::int32_t>()), 4u);
  EXPECT_EQ(dtype_size(dtype_of<std::uint64_t>()), 8u);
  EXPECT_EQ(dtype_size(dtype_of<Float16>()), 2u);
  EXPECT_EQ(dtype_size(dtype_of<BFloat16>()), 2u);
  EXPECT_EQ(dtype_size(dtype_of<float>()), 4u);
  EXPECT_EQ(dtype_size(dtype_of<double>()), 8u);
  for (const DType t : {DType::kInvalid, DType::kString, DType::kObject}) {
    EXPECT_FALSE(dtype_is_dense(t));
  }
  static_assert(dtype_of<long long>() == DType::kInt64);  // NOLINT
  static_assert(dtype_of<const char>() == DType::kInt8);
  static_assert(!Number<const char*>);
}

double exact_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(Float16, EveryValueConvertsExactlyAndBack) {
  for (int i = 0; i < 1 << 16; ++i) {
    const Float16 h{static_cast<std::uint16_t>(i)};
    const float f = to_float(h);
    if (((i >> 10) & 0x1f) == 0x1f) {
      if ((i & 0x3ff) != 0) {
        ASSERT_TRUE(std::isnan(f)) << i;
        ASSERT_TRUE(std::isnan(to_float(to_float16(f)))) << i;
        continue;
      }
      ASSERT_TRUE(std::isinf(f)) << i;
    } else {
      ASSERT_EQ(static_cast<double>(f), exact_half(h.bits)) << i;
    }
    ASSERT_EQ(std::signbit(f), (i & 0x8000) != 0) << i;
    ASSERT_EQ(to_float16(f), h) << i;
  }
}

// Between every two neighbours: below the middle, the middle (to even), above.
TEST(Float16, RoundsToNearestEven) {
  for (int i = 0; i < 0x7bff; ++i) {
    const auto low = static_cast<std::uint16_t>(i);
    const auto high = static_cast<std::uint16_t>(i + 1);
    const auto middle =
        static_cast<float>((exact_half(low) + exact_half(high)) / 2);
    const float below = std::nextafterf(middle, 0.0f);
    const float above = std::nextafterf(middle, 1e9f);
    const std::uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(to_float16(below).bits, low) << i;
    ASSERT_EQ(to_float16(middle).bits, even) << i;
    ASSERT_EQ(to_float16(above).bits, high) << i;
    ASSERT_EQ(to_float16(-middle).bits, even | 0x8000) << i;
  }
}

TEST(Float16, OverflowsToInfinityWhereIeeeDoes) {
  EXPECT_EQ(to_float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0f).bits, 0x7c00);  // the middle goes to even
  EXPECT_EQ(to_float16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(to_float16(std::numeric_limits<float>::infinity()).bits, 0x7c00);
  EXPECT_EQ(to_float16(std::ldexp(1.0f, -25)).bits, 0);  // half the smallest
  EXPECT_EQ(to_float16(std::nextafterf(std::ldexp(1.0f, -25), 1)).bits, 1);
  EXPECT_EQ(to_float16(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_float16(1e-45f).bits, 0);
}

TEST(BFloat16, EveryValueConvertsExactlyAndBack) {
  for (int i = 0; i < 1 << 16; ++i) {
    const BFloat16 b{static_cast<std::uint16_t>(i)};
    const float f = to_float(b);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(f), static_cast<unsigned>(i) << 16);
    if (std::isnan(f)) {
      ASSERT_TRUE(std::isnan(to_float(to_bfloat16(f)))) << i;
    } else {
      ASSERT_EQ(to_bfloat16(f), b) << i;
    }
  }
}

TEST(BFloat16, RoundsToNearestEven) {
  for (std::uint32_t i = 0; i < 0x7f80; ++i) {
    const std::uint32_t middle = (i << 16) | 0x8000;
    const std::uint32_t even = i % 2 == 0 ? i : i + 1;
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>(middle - 1)).bits, i);
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>(middle)).bits, even);
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>(middle + 1)).bits, i + 1);
  }
  // A NaN whose upper half alone would look like infinity.
  EXPECT_TRUE(
      std::isnan(to_float(to_bfloat16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(
      std::isnan(to_float(to_bfloat16(std::bit_cast<float>(0xffffffffu)))));
}

}  // namespace
}  // namespace penstock
