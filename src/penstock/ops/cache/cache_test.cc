#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "penstock/penstock.h"
#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::counted;
using ::testing::HasSubstr;
using testing::values;
using I64 = std::int64_t;

Dataset random_bits(I64 n) {
  return Dataset::range(n).map([](I64, RandomStream& random) {
    return static_cast<I64>(random.next_u64() >> 1);
  });
}

TEST(Cache, SecondIterationCallsNothing) {
  std::atomic<int> calls{0};
  const Dataset ds = counted(calls).cache();
  const auto first = values(ds);
  EXPECT_EQ(calls, 20);
  EXPECT_EQ(values(ds), first);
  EXPECT_EQ(calls, 20);
}

TEST(Cache, RepetitionsReplay) {
  std::atomic<int> calls{0};
  EXPECT_EQ(values(counted(calls, 5).cache().repeat(3)).size(), 15u);
  EXPECT_EQ(calls, 5);
}

TEST(Cache, BehindAFilterRepetitionsReplay) {
  std::atomic<int> calls{0};
  const Dataset ds =
      counted(calls, 9).filter([](I64 x) { return x % 20 == 0; }).cache();
  EXPECT_EQ(values(ds.repeat(2)),
            (std::vector<I64>{0, 20, 40, 60, 80, 0, 20, 40, 60, 80}));
  EXPECT_EQ(calls, 9);
}

TEST(Cache, IsCompleteOnceAllElementsWereReadWithoutTheEnd) {
  std::atomic<int> calls{0};
  const Dataset ds = counted(calls, 5).cache().prefetch(0);
  {
    Iterator it = ds.iterator();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(it.next().has_value());
  }
  EXPECT_EQ(values(ds).size(), 5u);
  EXPECT_EQ(calls, 5);
}

TEST(Cache, ADroppedPassLeavesNothingBehind) {
  std::atomic<int> calls{0};
  const Dataset ds = counted(calls, 1000).cache();
  {
    const Dataset head = ds.prefetch(0);
    Iterator it = head.iterator();
    it.next();
  }
  const int before = calls;
  EXPECT_LT(before, 1000);
  EXPECT_EQ(values(ds).size(), 1000u);
  EXPECT_EQ(calls, before + 1000);
}

TEST(Cache, OthersComputeForThemselvesWhileOneFills) {
  std::atomic<int> calls{0};
  const Dataset ds = counted(calls, 5).cache().prefetch(0);
  Iterator filling = ds.iterator();
  filling.next();
  Iterator other = ds.iterator();
  for (I64 i = 0; i < 5; ++i)
    EXPECT_EQ((*other.next())[0].value<I64>(), i * 10);
  EXPECT_FALSE(other.next().has_value());
  for (I64 i = 1; i < 5; ++i) {
    EXPECT_EQ((*filling.next())[0].value<I64>(), i * 10);
  }
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(values(ds).size(), 5u);
  EXPECT_EQ(calls, 10);
}

TEST(Cache, APassWithAnErrorIsNotKept) {
  std::atomic<int> calls{0};
  const Dataset ds = Dataset::range(4)
                         .map(
                             [&calls](I64 x) -> StatusOr<I64> {
                               if (++calls == 3)
                                 return absl::InternalError("once");
                               return x;
                             },
                             {.num_parallel_calls = 1})
                         .cache();
  Iterator it = ds.iterator();
  int errors = 0;
  for (int i = 0; i < 4; ++i) errors += it.try_next().ok() ? 0 : 1;
  EXPECT_EQ(errors, 1);
  EXPECT_FALSE(it.next().has_value());
  EXPECT_EQ(values(ds), (std::vector<I64>{0, 1, 2, 3}));
  EXPECT_EQ(calls, 8);
  EXPECT_EQ(values(ds).size(), 4u);
  EXPECT_EQ(calls, 8);
}

TEST(Cache, GlobalShuffleBehindItComputesEachElementOnce) {
  std::atomic<int> calls{0};
  const Dataset ds = counted(calls, 50).cache().shuffle(kGlobal, 3).repeat(3);
  auto all = values(ds);
  EXPECT_EQ(all.size(), 150u);
  EXPECT_EQ(calls, 50);
  std::sort(all.begin(), all.begin() + 50);
  for (I64 i = 0; i < 50; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i * 10);
}

TEST(Cache, RandomAccessGoesThrough) {
  std::atomic<int> calls{0};
  const Dataset ds = counted(calls, 4).cache();
  EXPECT_EQ(ds.at(3)[0].value<I64>(), 30);
  EXPECT_EQ(ds.at(3)[0].value<I64>(), 30);
  EXPECT_EQ(calls, 1);
  for (I64 i = 0; i < 4; ++i) EXPECT_EQ(ds.at(i)[0].value<I64>(), i * 10);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(values(ds), (std::vector<I64>{0, 10, 20, 30}));
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(ds.repeat(2).at(5)[0].value<I64>(), 10);
}

TEST(Cache, FixesTheRandomValuesOfItsFirstIteration) {
  const Dataset ds = random_bits(6).cache().repeat(2);
  const auto all = values(ds);
  EXPECT_EQ(std::vector<I64>(all.begin(), all.begin() + 6),
            std::vector<I64>(all.begin() + 6, all.end()));
  EXPECT_EQ(values(ds), all);
  for (I64 i = 0; i < 12; ++i) {
    EXPECT_EQ(ds.at(i)[0].value<I64>(), all[static_cast<std::size_t>(i)]);
  }
}

TEST(Cache, StagesBehindItStillDifferBetweenRepetitions) {
  const Dataset ds = Dataset::range(6)
                         .filter([](I64) { return true; })
                         .cache()
                         .map([](I64, RandomStream& random) {
                           return static_cast<I64>(random.next_u64() >> 1);
                         })
                         .repeat(2);
  const auto all = values(ds);
  EXPECT_NE(std::vector<I64>(all.begin(), all.begin() + 6),
            std::vector<I64>(all.begin() + 6, all.end()));
}

TEST(Cache, RestoredWithoutTheContentsGivesTheSameValues) {
  // Two equal graphs stand for two processes.
  const auto make = [] {
    return random_bits(5).cache().repeat(3).with_options({.seed = 11});
  };
  const Dataset ds = make();
  values(ds);  // fills in iteration 0
  Iterator it = ds.iterator();
  std::vector<I64> rest;
  std::vector<std::string> states = {it.state_dict()};
  while (auto e = it.next()) {
    rest.push_back((*e)[0].value<I64>());
    states.push_back(it.state_dict());
  }
  ASSERT_EQ(rest.size(), 15u);
  for (std::size_t at = 0; at < states.size(); ++at) {
    const Dataset other = make();
    Iterator restored = other.iterator(states[at]);
    // A state from before the first element says nothing of the cache.
    if (at == 0) continue;
    for (std::size_t i = at; i < rest.size(); ++i) {
      ASSERT_EQ((*restored.next())[0].value<I64>(), rest[i]) << at << " " << i;
    }
    EXPECT_FALSE(restored.next().has_value());
  }
}

TEST(Cache, PastTheBudgetNamesSizeAndRemedy) {
  const Dataset ds = Dataset::range(100)
                         .map([](I64 x) { return std::vector<I64>(10000, x); })
                         .cache()
                         .with_options({.memory_budget = 1 << 20});
  Iterator it = ds.iterator();
  Status failure;
  for (int i = 0; i < 100 && failure.ok(); ++i) {
    failure = it.try_next().status();
  }
  EXPECT_EQ(failure.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(failure.message()),
              AllOf(HasSubstr("cache#2"), HasSubstr("cache(path)"),
                    HasSubstr("1048576 bytes")));
}

TEST(Cache, BytesAreChargedUntilTheDatasetIsGone) {
  const std::int64_t before = Account::process().used();
  {
    const Dataset ds = Dataset::range(1000).cache();
    values(ds);
    EXPECT_GE(Account::process().used(), before + 8000);
  }
  EXPECT_EQ(Account::process().used(), before);
}

TEST(Cache, OfNothingIsNothing) {
  const Dataset ds = Dataset::range(0).cache();
  EXPECT_TRUE(values(ds).empty());
  EXPECT_TRUE(values(ds).empty());
  EXPECT_TRUE(values(ds.repeat()).empty());
}

TEST(Repeat, KeepsTheRandomValuesOfStagesInFrontWhereverItRuns) {
  const auto drawn = [](bool indexed) {
    Dataset ds = random_bits(4);
    if (!indexed) ds = ds.filter([](I64) { return true; });
    return values(ds.repeat(2).with_options({.seed = 5}));
  };
  EXPECT_EQ(drawn(true), drawn(false));
}

}  // namespace
}  // namespace penstock
