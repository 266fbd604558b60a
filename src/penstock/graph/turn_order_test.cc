#include "penstock/graph/turn_order.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Turn by turn, all of them full.
std::int64_t counted(const TurnOrder& order, std::int64_t place,
                     std::int64_t outputs) {
  std::int64_t rows = 0;
  std::int64_t turn = 0;
  while (outputs > 0) {
    const std::int64_t given =
        std::min(outputs, turn == 0 ? order.rows_left : order.rows);
    if (turn % order.cycle == place) rows += given;
    outputs -= given;
    ++turn;
  }
  return rows;
}

TEST(TurnOrder, CountsAsTurnsGo) {
  TurnOrder order;
  for (order.cycle = 1; order.cycle <= 5; ++order.cycle) {
    for (order.rows = 1; order.rows <= 4; ++order.rows) {
      for (order.rows_left = 1; order.rows_left <= order.rows;
           ++order.rows_left) {
        for (std::int64_t place = 0; place < order.cycle; ++place) {
          for (std::int64_t outputs = 0; outputs < 40; ++outputs) {
            EXPECT_EQ(
                order.rows_within(static_cast<std::size_t>(place), outputs),
                counted(order, place, outputs))
                << "cycle " << order.cycle << ", turns of " << order.rows
                << ", first " << order.rows_left << ", place " << place
                << ", outputs " << outputs;
          }
        }
      }
    }
  }
}

TEST(TurnOrder, TurnsWithoutEndAreAllOfIt) {
  TurnOrder order;
  order.rows = order.rows_left = kMost;
  EXPECT_EQ(order.rows_within(0, 8), 8);
  order.cycle = kMost;
  EXPECT_EQ(order.rows_within(0, 8), 8);
  EXPECT_EQ(order.rows_within(1, 8), 0);
  order.rows = order.rows_left = 1;
  EXPECT_EQ(order.rows_within(7, 8), 1);
  EXPECT_EQ(order.rows_within(8, 8), 0);
  EXPECT_EQ(order.rows_within(0, kMost), 1);
}

}  // namespace
}  // namespace penstock
