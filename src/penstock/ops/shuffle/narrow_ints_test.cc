#include "penstock/ops/shuffle/narrow_ints.h"

#include <gtest/gtest.h>

namespace penstock::ops {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 40;

TEST(NarrowInts, CloseNumbersTakeFourBytes) {
  NarrowInts ints;
  for (int i = 0; i < 100; ++i) ints.push_back(kFar + i);
  EXPECT_EQ(ints.bytes(), 400);
  ints.set(3, kFar - 7);
  EXPECT_EQ(ints[3], kFar - 7);
  EXPECT_EQ(ints[0], kFar);
  EXPECT_EQ(ints.back(), kFar + 99);
  EXPECT_EQ(ints.bytes(), 400);
}

TEST(NarrowInts, AWindowThatMovesStaysNarrow) {
  NarrowInts ints;
  for (int i = 0; i < 4; ++i) ints.push_back(i);
  for (std::int64_t step = 1; step < 40; ++step) {
    for (std::size_t i = 0; i < 4; ++i) {
      ints.set(i, step * 500'000'000 + static_cast<std::int64_t>(i));
    }
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_EQ(ints[i], step * 500'000'000 + static_cast<std::int64_t>(i));
    }
  }
  EXPECT_EQ(ints.bytes(), 16);
}

TEST(NarrowInts, NumbersMayFallOneByOne) {
  // Each of them moved all of those before.
  constexpr std::int64_t kMany = 500'000;
  NarrowInts ints;
  for (std::int64_t i = 0; i < kMany; ++i) ints.push_back(-kFar - i);
  for (std::int64_t i = 0; i < kMany; i += 999) {
    ASSERT_EQ(ints[static_cast<std::size_t>(i)], -kFar - i);
  }
  EXPECT_EQ(ints.bytes(), 4 * kMany);
}

TEST(NarrowInts, TheEndsOfTheRangeFit) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  NarrowInts low;
  low.push_back(kLeast + 9);
  low.push_back(kLeast);
  EXPECT_EQ(low[0], kLeast + 9);
  EXPECT_EQ(low[1], kLeast);
  EXPECT_EQ(low.bytes(), 8);
  NarrowInts high;
  high.push_back(kMost);
  high.push_back(kMost - 9);
  EXPECT_EQ(high[0], kMost);
  EXPECT_EQ(high[1], kMost - 9);
  EXPECT_EQ(high.bytes(), 8);
}

TEST(NarrowInts, DistantNumbersTakeEight) {
  NarrowInts ints;
  ints.push_back(-kFar);
  ints.push_back(5);
  ints.push_back(kFar);
  EXPECT_EQ(ints[0], -kFar);
  EXPECT_EQ(ints[1], 5);
  EXPECT_EQ(ints[2], kFar);
  EXPECT_EQ(ints.bytes(), 24);
  ints.pop_back();
  EXPECT_EQ(ints.back(), 5);
  ints.set(0, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(ints[0], std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace penstock::ops
