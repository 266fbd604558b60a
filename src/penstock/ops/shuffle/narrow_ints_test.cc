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
