#include "penstock/graph/rows.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

BlockRef numbers(Account& account) {
  Block::Columns columns;
  columns.emplace_back(Tensor::from<std::int64_t>({1, 2, 3}));
  return make_ref<SharedBlock>(
      Block(Structure::leaf(), std::move(columns), 3, Origins()),
      Charge(&account, 24));
}

TEST(Rows, AWholeBlockThatNobodyElseHoldsIsTakenWithItsCharge) {
  Account account(1000);
  Rows rows(numbers(account));
  Ref<SharedBlock> block = rows.take_whole();
  ASSERT_TRUE(block);
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(block->block.size(), 3);
  EXPECT_EQ(account.used(), 24);
  block.reset();
  EXPECT_EQ(account.used(), 0);
}

TEST(Rows, WhatOthersHoldOrIsAPartIsNotTaken) {
  Account account(1000);
  const BlockRef block = numbers(account);
  Rows shared(block);
  EXPECT_FALSE(shared.take_whole());
  EXPECT_EQ(shared.size(), 3);
  Rows part = Rows(numbers(account)).slice(0, 2);
  EXPECT_FALSE(part.take_whole());
  Rows listed = Rows::listed(numbers(account), {0, 1, 2});
  EXPECT_FALSE(listed.take_whole());
  EXPECT_FALSE(Rows::lazy(0, 3).take_whole());
}

TEST(Item, MovesWithOnePartOrMany) {
  Account account(1000);
  for (const int parts : {0, 1, 2, 5}) {
    Item item;
    for (int i = 0; i < parts; ++i) item.add(Rows(numbers(account)));
    item.tag = 7;
    Item moved;
    moved.add(Rows(numbers(account)));
    moved = std::move(item);
    EXPECT_EQ(moved.parts.size(), static_cast<std::size_t>(parts));
    EXPECT_EQ(moved.size, 3 * parts);
    EXPECT_EQ(moved.tag, 7);
    EXPECT_EQ(account.used(), 24 * parts);
  }
  EXPECT_EQ(account.used(), 0);
}

TEST(RowParts, AreOneRangeWhetherOneOrMany) {
  for (const int n : {0, 1, 2, 5}) {
    RowParts parts;
    for (int i = 0; i < n; ++i) parts.push_back(Rows::lazy(10 * i, 1 + i));
    const RowParts copy = parts;
    for (int dropped = 0; dropped <= n; ++dropped) {
      RowParts rest = copy;
      rest.drop_first(static_cast<std::size_t>(dropped));
      ASSERT_EQ(rest.size(), static_cast<std::size_t>(n - dropped));
      EXPECT_EQ(rest.empty(), dropped == n);
      int i = dropped;
      for (const Rows& part : rest) {
        EXPECT_EQ(part.at(0), 10 * i);
        EXPECT_EQ(part.size(), 1 + i);
        ++i;
      }
      EXPECT_EQ(i, n);
      rest.clear();
      rest.push_back(Rows::lazy(7, 1));
      ASSERT_EQ(rest.size(), 1U);
      EXPECT_EQ(rest.front().at(0), 7);
    }
    EXPECT_EQ(parts.size(), static_cast<std::size_t>(n));
  }
}

}  // namespace
}  // namespace penstock
