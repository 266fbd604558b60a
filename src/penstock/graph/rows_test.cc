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

}  // namespace
}  // namespace penstock
