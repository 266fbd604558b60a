// The byte budget: kept, or an error that says what did not fit; never a hang.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "penstock/memory/buffer.h"
#include "penstock/memory/ledger.h"
#include "penstock/penstock.h"
#include "tests/support/outcome.h"

namespace penstock::testing {
namespace {

constexpr std::int64_t kKiB = 1024;

// Elements of `bytes` bytes each.
Dataset large(std::int64_t n, std::int64_t bytes) {
  return Dataset::range(n).map([bytes](std::int64_t x) {
    return std::vector<std::uint8_t>(static_cast<std::size_t>(bytes),
                                     static_cast<std::uint8_t>(x));
  });
}

TEST(Memory, OneElementLargerThanTheBudgetNamesBothSizes) {
  const Dataset dataset =
      Dataset::range(5)
          .map([](std::int64_t x) {
            return std::vector<std::uint8_t>(x == 2 ? 300 * kKiB : 10);
          })
          .with_options({.memory_budget = 200 * kKiB});
  const Outcomes got = run(dataset, 10);
  ASSERT_EQ(got.size(), 5U);
  for (const std::size_t i : {0, 1, 3, 4}) EXPECT_TRUE(got[i].ok()) << got[i];
  EXPECT_EQ(got[2].error.code(), StatusCode::kResourceExhausted) << got[2];
  const std::string text(to_std(got[2].error.message()));
  EXPECT_NE(text.find(std::to_string(300 * kKiB)), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(200 * kKiB)), std::string::npos) << text;
}

TEST(Memory, AShuffleWindowThatCannotFitIsAnError) {
  const Dataset dataset = large(100, 10 * kKiB)
                              .filter([](const Element&) { return true; })
                              .shuffle(64, 1)
                              .with_options({.memory_budget = 200 * kKiB});
  const Outcomes got = run(dataset, 1000);
  ASSERT_FALSE(got.empty());
  const auto failed = std::find_if(got.begin(), got.end(),
                                   [](const Outcome& o) { return !o.ok(); });
  ASSERT_NE(failed, got.end());
  EXPECT_EQ(failed->error.code(), StatusCode::kResourceExhausted) << *failed;
  const std::string text(to_std(failed->error.message()));
  EXPECT_NE(text.find("shuffle#"), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(200 * kKiB)), std::string::npos) << text;
  EXPECT_NE(text.find("memory_budget"), std::string::npos) << text;
}

TEST(Memory, ABatchThatCannotFitIsAnError) {
  const Dataset dataset = large(100, 10 * kKiB)
                              .batch(64)
                              .with_options({.memory_budget = 200 * kKiB});
  const Outcomes got = run(dataset, 1000);
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(got[0].error.code(), StatusCode::kResourceExhausted) << got[0];
}

TEST(Memory, StagesThatHoldMoreThanTheBudgetTogetherAreAnError) {
  // Either fits alone.
  const Dataset dataset = large(100, 10 * kKiB)
                              .filter([](const Element&) { return true; })
                              .shuffle(30, 1)
                              .window(30)
                              .flat_map([](const Element& window) {
                                return Dataset::of(window[0]);
                              })
                              .with_options({.memory_budget = 400 * kKiB});
  const Outcomes got = run(dataset, 1000);
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(got[0].error.code(), StatusCode::kResourceExhausted) << got[0];
  const std::string text(to_std(got[0].error.message()));
  EXPECT_NE(text.find("window#"), std::string::npos) << text;
  EXPECT_NE(text.find("with the other stages"), std::string::npos) << text;
}

TEST(Memory, AWindowThatFitsWorks) {
  const Dataset dataset = large(100, 10 * kKiB)
                              .filter([](const Element&) { return true; })
                              .shuffle(16, 1)
                              .with_options({.memory_budget = 400 * kKiB});
  const Outcomes got = run(dataset, 1000);
  EXPECT_EQ(got.size(), 100U);
  for (const Outcome& o : got) EXPECT_TRUE(o.ok()) << o;
}

TEST(Memory, ThePeakStaysWithinTheBudgetAndOneElement) {
  for (const int workers : {1, 2, 8}) {
    const std::int64_t element = 20 * kKiB;
    const std::int64_t budget = 300 * kKiB;
    const Dataset dataset =
        large(300, element)
            .with_options({.cpu_budget = workers, .memory_budget = budget});
    Iterator it = dataset.iterator();
    std::int64_t n = 0;
    while (it.next()) {
      // A consumer that is slower than the pipeline.
      if (++n % 50 == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    EXPECT_EQ(n, 300);
    EXPECT_LE(it.stats().bytes_peak, budget + element) << workers << " workers";
  }
}

TEST(Memory, ASequentialSourceStaysWithinTheBudgetAndOneElement) {
  const std::int64_t element = 20 * kKiB;
  const std::int64_t budget = 300 * kKiB;
  const auto make = [] {
    return [i = 0]() mutable -> std::optional<std::vector<std::uint8_t>> {
      if (i++ == 200) return std::nullopt;
      return std::vector<std::uint8_t>(static_cast<std::size_t>(element));
    };
  };
  Iterator it = Dataset::from_generator(make)
                    .with_options({.memory_budget = budget})
                    .iterator();
  std::int64_t n = 0;
  while (it.next()) {
    if (++n % 50 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  EXPECT_EQ(n, 200);
  EXPECT_LE(it.stats().bytes_peak, budget + element);
}

TEST(Memory, WhatIsMadeInsideOtherStagesStaysWithinTheBudget) {
  const std::int64_t element = 20 * kKiB;
  const std::int64_t budget = 300 * kKiB;
  const auto make = [](std::int64_t) {
    return std::vector<std::uint8_t>(20 * kKiB);
  };
  const Dataset range = Dataset::range(300);
  const std::vector<Dataset> datasets = {
      // Nested datasets that are expanded on the spot.
      range.flat_map([=](std::int64_t) { return Dataset::range(3).map(make); }),
      // Of unknown size before the first one was made.
      range.scan(std::int64_t{0},
                 [=](std::int64_t sum, std::int64_t x) {
                   return std::pair(sum + x, make(x));
                 }),
  };
  for (std::size_t k = 0; k < datasets.size(); ++k) {
    Iterator it =
        datasets[k].with_options({.memory_budget = budget}).iterator();
    for (int n = 0; n < 300; ++n) {
      ASSERT_TRUE(it.next());
      if (n % 50 == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    EXPECT_LE(it.stats().bytes_peak, budget + 3 * element) << "pipeline " << k;
  }
}

TEST(Memory, IdleBuffersAreGivenBackWhenNoIteratorIsLeft) {
  const Dataset dataset = large(50, 64 * kKiB);
  run(dataset, 50);
  run(dataset, 50);
  for (int i = 0; i < 1000 && BufferPool::idle_bytes() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(BufferPool::idle_bytes(), 0u);
}

TEST(Memory, ABudgetOfAFewElementsIsSlowButWorks) {
  const Dataset dataset =
      large(60, 20 * kKiB)
          .map([](const Element& e) { return e; })
          .filter([](const Element&) { return true; })
          .batch(2)
          .with_options({.memory_budget = 100 * kKiB, .fuse = false});
  const Outcomes got = run(dataset, 1000);
  EXPECT_EQ(got.size(), 30U);
  for (const Outcome& o : got) EXPECT_TRUE(o.ok()) << o;
}

TEST(Memory, WhatTheConsumerWasGivenIsNotCharged) {
  const std::int64_t budget = 256 * kKiB;
  Iterator it =
      large(100, 10 * kKiB).with_options({.memory_budget = budget}).iterator();
  // All of it together is four times the budget.
  const Outcomes kept = take_some(it, 1000);
  ASSERT_EQ(kept.size(), 100U);
  for (const Outcome& o : kept) EXPECT_TRUE(o.ok()) << o;
  EXPECT_EQ(it.stats().bytes_held, 0);
}

TEST(Memory, IteratorsShareTheProcessAccount) {
  const std::int64_t before = Account::process().used();
  {
    Iterator a = large(50, 10 * kKiB).iterator();
    Iterator b = large(50, 10 * kKiB).iterator();
    (void)take_some(a, 1);
    (void)take_some(b, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_GE(Account::process().used() - before, a.stats().bytes_held);
  }
  EXPECT_EQ(Account::process().used(), before);
}

}  // namespace
}  // namespace penstock::testing
