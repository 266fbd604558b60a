#include "penstock/memory/ledger.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace penstock {
namespace {

TEST(Account, CountsHereAndInTheParent) {
  Account process(1000);
  Account a(400, &process);
  Account b(900, &process);
  {
    const Charge x(&a, 300);
    EXPECT_EQ(a.used(), 300);
    EXPECT_EQ(a.available(), 100);
    EXPECT_EQ(b.available(), 700);  // what the process has left
    const Charge y(&b, 800);
    EXPECT_EQ(a.available(), -100);
    EXPECT_EQ(process.used(), 1100);
  }
  EXPECT_EQ(process.used(), 0);
  EXPECT_EQ(process.peak(), 1100);
  EXPECT_EQ(a.peak(), 300);
}

TEST(Charge, MovesWithItsBytes) {
  Account account(1000);
  Charge a(&account, 100);
  Charge b = std::move(a);
  EXPECT_EQ(a.bytes(), 0);
  EXPECT_EQ(b.bytes(), 100);
  EXPECT_EQ(account.used(), 100);
  b = Charge(&account, 30);
  EXPECT_EQ(account.used(), 30);  // the old one is gone
  Charge& self = b;
  b = std::move(self);
  EXPECT_EQ(account.used(), 30);
  b.resize(50);
  EXPECT_EQ(account.used(), 50);
  b.reset();
  b.reset();
  EXPECT_EQ(account.used(), 0);
  Charge none;
  none.resize(10);  // belongs to nobody
  EXPECT_EQ(account.used(), 0);
}

TEST(Charge, AssigningReleasesWhatItHeldAtOnce) {
  Account account(1000);
  Charge a(&account, 100);
  Charge b(&account, 10);
  a = std::move(b);
  EXPECT_EQ(account.used(), 10);
  EXPECT_EQ(a.bytes(), 10);
}

TEST(Settlement, CountsBytesThatChangeHandsOnceAndAllTheTime) {
  Account process(1000);
  Account account(1000, &process);
  Account other(1000, &process);
  Charge input(&account, 100);
  Charge kept;
  {
    const Settlement settlement(account);
    const Charge elsewhere(&other, 5);
    EXPECT_EQ(process.used(), 105);
    input.reset();
    EXPECT_EQ(account.used(), 100);  // not free for others meanwhile
    kept = Charge(&account, 70);
    EXPECT_EQ(account.used(), 100);
  }
  EXPECT_EQ(account.used(), 70);
  EXPECT_EQ(account.peak(), 100);
  EXPECT_EQ(process.used(), 70);
}

TEST(Settlement, IsOfItsOwnThreadAndAccount) {
  Account account(1000);
  Account inner(1000);
  const Settlement settlement(account);
  Charge a(&account, 10);
  EXPECT_EQ(account.used(), 0);
  {
    const Settlement nested(inner);
    const Charge b(&inner, 20);
    EXPECT_EQ(inner.used(), 0);
  }
  EXPECT_EQ(inner.peak(), 0);
  std::thread([&] {
    const Charge c(&account, 30);
    EXPECT_EQ(account.used(), 30);
  }).join();
  EXPECT_EQ(account.used(), 0);
}

TEST(Charge, MergesIntoOneOfTheGivenSize) {
  Account account(1000);
  Account other(1000);
  Charge a(&account, 100);
  Charge b(&account, 30);
  a.merge(b, 110);
  EXPECT_EQ(a.bytes(), 110);
  EXPECT_EQ(b.bytes(), 0);
  EXPECT_EQ(account.used(), 110);
  EXPECT_EQ(account.peak(), 130);  // never more than was charged for
  Charge elsewhere(&other, 40);
  a.merge(elsewhere, 50);
  EXPECT_EQ(account.used(), 50);
  EXPECT_EQ(other.used(), 0);
  Charge none;
  a.merge(none, 60);
  EXPECT_EQ(account.used(), 60);
}

TEST(Account, IsExactUnderThreads) {
  Account parent(1 << 30);
  Account account(1 << 30, &parent);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&account] {
      for (int i = 1; i <= 5000; ++i) {
        Charge charge(&account, i);
        charge.resize(i + 7);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(account.used(), 0);
  EXPECT_EQ(parent.used(), 0);
  EXPECT_GE(account.peak(), 5007);
  EXPECT_LE(account.peak(), 4 * 5007);
}

TEST(Account, TheProcessHasABudget) {
  EXPECT_GE(Account::process().budget(), std::int64_t{64} << 20);
  EXPECT_EQ(&Account::process(), &Account::process());
}

}  // namespace
}  // namespace penstock
