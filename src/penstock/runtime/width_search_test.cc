#include "penstock/runtime/width_search.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock {
namespace {

TEST(WidthSearch, GrowsWhileTheRateDoes) {
  WidthSearch search;
  int width = 2;
  for (int i = 0; i < 12; ++i)
    width = search.next(width, 16, 10.0 * width, true);
  EXPECT_EQ(width, 16);
}

TEST(WidthSearch, StepsBackFromTooMany) {
  WidthSearch search;
  // A service that gives the most to eight callers.
  const auto rate = [](int width) { return width <= 8 ? width : 16.0 - width; };
  int width = 2;
  int most = 0;
  for (int i = 0; i < 40; ++i) {
    width = search.next(width, 64, rate(width), true);
    if (i >= 10) most = std::max(most, width);
  }
  EXPECT_GE(width, 6);
  EXPECT_LE(most, 11);
}

// Calls that block are let grow to the limit before one of them is back.
TEST(WidthSearch, ComesDownFromALimitWhereFewerGiveMore) {
  WidthSearch search;
  // A service that does eight at once, and less the more are waiting.
  const auto rate = [](int width) {
    return width <= 8 ? width : 8.0 / (1 + 0.05 * (width - 8));
  };
  int width = 64;
  for (int i = 0; i < 40; ++i) {
    width = search.next(width, 64, rate(width), true);
  }
  EXPECT_GE(width, 6);
  EXPECT_LE(width, 11);
}

TEST(WidthSearch, GoesBackToTheLimitWhereFewerGiveNoMore) {
  for (const int served : {8, 64}) {
    WidthSearch search;
    int width = 64;
    for (int i = 0; i < 6; ++i) {
      width = search.next(width, 64, std::min(width, served), true);
      EXPECT_GE(width, 48);
      if (i > 0) {
        EXPECT_EQ(width, 64);
      }
    }
  }
}

TEST(WidthSearch, TheWidthAskedForOutlastsOtherLoad) {
  WidthSearch search;
  int width = 2;
  for (const double rate : {100.0, 100.0, 60.0, 95.0, 30.0, 100.0}) {
    width = search.next(width, 2, rate, true);
    EXPECT_EQ(width, 2) << rate;
  }
}

TEST(WidthSearch, GivesUpWhatNobodyWaitsForAndTakesItBack) {
  WidthSearch search;
  int width = 16;
  for (int i = 0; i < 30; ++i) width = search.next(width, 64, 10, false);
  EXPECT_EQ(width, 1);
  for (int i = 0; i < 30; ++i)
    width = search.next(width, 64, 20.0 * (i + 1), true);
  EXPECT_EQ(width, 64);
}

}  // namespace
}  // namespace penstock
