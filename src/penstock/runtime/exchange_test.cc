#include "penstock/runtime/exchange.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock {
namespace {

Item item(std::int64_t first, std::int64_t rows) {
  Item out;
  if (rows > 0) out.add(Rows::lazy(first, rows));
  return out;
}

std::vector<std::int64_t> take_all(Exchange& exchange) {
  std::vector<std::int64_t> first;
  while (exchange.ready_rows() > 0) {
    first.push_back(exchange.take(kUnlimited).parts.front().at(0));
  }
  return first;
}

void finish_in_any_order(Exchange& exchange, SlotRef slot, Item result) {
  exchange.fill(slot, std::move(result), 0, /*overtake=*/true);
}

TEST(Exchange, GivesSlotsInTheOrderTheyWereAppended) {
  Exchange exchange;
  const SlotRef a = exchange.append(1);
  const SlotRef b = exchange.append(1);
  exchange.fill(b, item(2, 1), 0);
  EXPECT_EQ(exchange.ready_rows(), 0);
  EXPECT_TRUE(exchange.head_pending());
  exchange.fill(a, item(1, 1), 0);
  EXPECT_EQ(take_all(exchange), (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(exchange.empty());
}

TEST(Exchange, PromotedSlotsComeInTheOrderTheyFinishEachOnce) {
  // The first to finish is the head itself, with and without others ready.
  Exchange exchange;
  const SlotRef a = exchange.append(1);
  const SlotRef b = exchange.append(1);
  const SlotRef c = exchange.append(1);
  const SlotRef d = exchange.append(1);
  finish_in_any_order(exchange, a, item(1, 1));
  EXPECT_EQ(exchange.ready_rows(), 1);
  finish_in_any_order(exchange, d, item(4, 1));
  finish_in_any_order(exchange, b, item(2, 1));
  finish_in_any_order(exchange, c, item(3, 1));
  EXPECT_EQ(exchange.ready_rows(), 4);
  EXPECT_EQ(exchange.ready_items(), 4);
  EXPECT_EQ(take_all(exchange), (std::vector<std::int64_t>{1, 4, 2, 3}));
  EXPECT_TRUE(exchange.empty());
  EXPECT_EQ(exchange.total_rows(), 0);
  EXPECT_EQ(exchange.ready_bytes(), 0);
}

TEST(Exchange, PromotedSlotWithoutRowsLeavesNothing) {
  Exchange exchange;
  const SlotRef a = exchange.append(1);
  const SlotRef b = exchange.append(1);
  finish_in_any_order(exchange, b, item(0, 0));
  EXPECT_EQ(exchange.ready_items(), 0);
  finish_in_any_order(exchange, a, item(7, 1));
  EXPECT_EQ(take_all(exchange), (std::vector<std::int64_t>{7}));
  EXPECT_TRUE(exchange.empty());
}

TEST(Exchange, DropsWhatWasSeenButNotThatARestoreFailed) {
  const auto errors = [](bool restore_failed) {
    auto error = std::make_shared<ElementError>();
    error->status = absl::DataLossError("x");
    error->restore_failed = restore_failed;
    Block block(nullptr, {}, 2, Origins(nullptr, 0));
    block.errors().emplace_back(1, error);
    Item out;
    out.add(Rows(BlockRef(make_ref<SharedBlock>(std::move(block)))));
    return out;
  };
  for (const bool failed : {false, true}) {
    Exchange exchange;
    exchange.drop_first(5, false);
    exchange.fill(exchange.append(2), item(0, 2), 0);
    exchange.fill(exchange.append(2), errors(failed), 0);
    exchange.fill(exchange.append(2), item(4, 2), 0);
    EXPECT_EQ(exchange.ready_rows(), failed ? 3 : 1);
    EXPECT_EQ(exchange.total_rows(), failed ? 3 : 1);
    const Item first = exchange.take(kUnlimited);
    const Rows& rows = first.parts.front();
    if (failed) {
      EXPECT_NE(rows.block().error_at(rows.at(0)), nullptr);
    } else {
      EXPECT_EQ(rows.at(0), 5);
    }
  }
}

}  // namespace
}  // namespace penstock
