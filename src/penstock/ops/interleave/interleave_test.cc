#include "penstock/ops/interleave/interleave.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "penstock/penstock.h"
#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_error;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::values;

Dataset copies(std::int64_t x, std::int64_t n) {
  return Dataset::range(n).map([x](std::int64_t) { return x; });
}

// The reference: slots take turns; one that has ended passes its turn on and
// is filled again when the turn comes round.
std::vector<std::int64_t> interleave_model(
    const std::vector<std::int64_t>& sizes, std::size_t cycle,
    std::int64_t block) {
  std::vector<std::int64_t> out;
  std::vector<std::int64_t> list(cycle, -1);
  std::vector<std::int64_t> at(cycle, 0);
  const auto n = static_cast<std::int64_t>(sizes.size());
  std::int64_t next = 0;
  std::int64_t open = 0;
  while (next < n || open > 0) {
    for (std::size_t s = 0; s < cycle; ++s) {
      if (list[s] < 0) {
        if (next == n) continue;
        list[s] = next++;
        at[s] = 0;
        ++open;
      }
      for (std::int64_t i = 0; i < block; ++i) {
        if (at[s] == sizes[static_cast<std::size_t>(list[s])]) {
          list[s] = -1;
          --open;
          break;
        }
        out.push_back(1000 * list[s] + at[s]++);
      }
    }
  }
  return out;
}

TEST(Interleave, GivesTheOrderOfTheDocumentedExample) {
  const auto ds = Dataset::range(1, 6).interleave(
      [](std::int64_t x) { return copies(x, 6); },
      {.cycle_length = 2, .block_length = 4});
  EXPECT_THAT(values(ds),
              ElementsAre(1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4,
                          4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5));
}

TEST(Interleave, FollowsTheReferenceOrderForRandomSizes) {
  RandomStream random(11);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::int64_t> sizes(random.below(20));
    for (auto& size : sizes) {
      size = static_cast<std::int64_t>(random.below(7));
    }
    const auto cycle = static_cast<std::int64_t>(1 + random.below(6));
    const auto block = static_cast<std::int64_t>(1 + random.below(4));
    const std::uint64_t kind = random.below(3);
    const auto ds =
        Dataset::range(static_cast<std::int64_t>(sizes.size()))
            .interleave(
                [sizes, kind](std::int64_t x) {
                  const auto small = Dataset::range(
                      1000 * x, 1000 * x + sizes[static_cast<std::size_t>(x)]);
                  return kind == 0 || (kind == 1 && x % 2)
                             ? small
                             : small.filter([](std::int64_t) { return true; });
                },
                {.cycle_length = cycle, .block_length = block});
    ASSERT_THAT(values(ds), ElementsAreArray(interleave_model(
                                sizes, static_cast<std::size_t>(cycle), block)))
        << "round " << round;
  }
}

TEST(Interleave, AVeryLongCycleCostsNothing) {
  const auto ds = Dataset::range(3).interleave(
      [](std::int64_t x) { return Dataset::range(x, x + 2); },
      {.cycle_length = std::int64_t{1} << 40});
  EXPECT_THAT(values(ds), ElementsAre(0, 1, 2, 1, 2, 3));
}

TEST(Interleave, TheDefaultCycleIs16) {
  const auto fn = [](std::int64_t x) { return Dataset::range(x, x + 2); };
  EXPECT_EQ(values(Dataset::range(40).interleave(fn)),
            values(Dataset::range(40).interleave(fn, {.cycle_length = 16})));
  EXPECT_THAT(Dataset::range(40).interleave(fn).explain(),
              HasSubstr("interleave(fn, cycle_length=16, block_length=1)"));
}

TEST(Interleave, RefusesBadArguments) {
  const auto fn = [](std::int64_t x) { return Dataset::range(x); };
  const auto ds = Dataset::range(3);
  EXPECT_EQ(build_error([&] { ds.interleave(fn, {.cycle_length = 0}); }),
            "interleave: cycle_length must be >= 1 or AUTOTUNE, got 0");
  EXPECT_EQ(build_error([&] { ds.interleave(fn, {.block_length = -2}); }),
            "interleave: block_length must be >= 1, got -2");
  EXPECT_EQ(build_error([&] { ds.interleave(fn, {.num_parallel_calls = 0}); }),
            "interleave: num_parallel_calls must be >= 1 or AUTOTUNE, got 0");
}

TEST(Interleave, CardinalityFollowsTheInput) {
  const auto fn = [](std::int64_t x) { return Dataset::range(x); };
  EXPECT_EQ(Dataset::range(0).interleave(fn).cardinality(), Cardinality(0));
  EXPECT_TRUE(Dataset::range(3).interleave(fn).cardinality().is_unknown());
  EXPECT_TRUE(
      Dataset::range(3).repeat().interleave(fn).cardinality().is_infinite());
}

TEST(Interleave, AFailingFunctionTakesOneTurn) {
  const auto ds = Dataset::range(3).interleave(
      [](std::int64_t x) {
        if (x == 1) throw std::runtime_error("boom");
        return Dataset::range(10 * x, 10 * x + 2);
      },
      {.cycle_length = 3});
  Iterator it = ds.iterator();
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 0);
  EXPECT_EQ(build_error([&] { it.next(); }),
            "interleave#1: element 1: the function threw: boom");
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 20);
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 1);
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 21);
  EXPECT_FALSE(it.next().has_value());
}

TEST(Interleave, OpenedDatasetsRunAtTheSameTime) {
  // Each first call waits until all four datasets are running.
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  bool together = true;
  const auto ds = Dataset::range(4).interleave(
      [&](std::int64_t x) {
        return Dataset::range(3).map([&, x](std::int64_t y) {
          if (y == 0) {
            std::unique_lock lock(mutex);
            ++running;
            changed.notify_all();
            together &= changed.wait_for(lock, std::chrono::seconds(20),
                                         [&] { return running == 4; });
          }
          return 10 * x + y;
        });
      },
      {.cycle_length = 4});
  EXPECT_THAT(values(ds),
              ElementsAre(0, 10, 20, 30, 1, 11, 21, 31, 2, 12, 22, 32));
  EXPECT_TRUE(together);
}

TEST(Interleave, StateStaysSmallAndRestoresAnywhere) {
  const auto make = [] {
    return Dataset::range(60).interleave([](std::int64_t x) {
      const auto small = Dataset::range(100 * x, 100 * x + x % 7);
      return x % 2 ? small
                   : small.shuffle(3, 5).map([](std::int64_t y) { return y; });
    });
  };
  const auto all = values(make());
  const auto ds = make();
  Iterator it = ds.iterator();
  for (std::size_t i = 0; i <= all.size(); ++i) {
    const std::string state = it.state_dict();
    ASSERT_LT(state.size(), 10'000u);
    Iterator restored = ds.iterator(state);
    for (std::size_t k = i; k < std::min(all.size(), i + 40); ++k) {
      ASSERT_EQ((*restored.next())[0].value<std::int64_t>(), all[k])
          << "saved at " << i << ", element " << k;
    }
    it.next();
  }
}

TEST(Interleave, WithoutOrderNothingIsLostOrDoubledOverARestore) {
  const auto ds = Dataset::range(12).interleave(
      [](std::int64_t x) {
        return Dataset::range(10 * x, 10 * x + 5).filter([](std::int64_t) {
          return true;
        });
      },
      {.cycle_length = 4, .deterministic = false});
  std::vector<std::int64_t> expected = values(ds);
  std::sort(expected.begin(), expected.end());
  for (int stop = 0; stop <= 60; stop += 7) {
    std::vector<std::int64_t> got;
    Iterator it = ds.iterator();
    for (int i = 0; i < stop; ++i) {
      got.push_back((*it.next())[0].value<std::int64_t>());
    }
    Iterator rest = ds.iterator(it.state_dict());
    while (auto e = rest.next()) {
      got.push_back((*e)[0].value<std::int64_t>());
    }
    std::sort(got.begin(), got.end());
    ASSERT_EQ(got, expected) << stop;
  }
}

// Dataset 0 waits until it is released; nothing else waits for it.
Dataset with_a_slow_one(std::shared_ptr<std::atomic<bool>> released,
                        InterleaveOptions options) {
  options.cycle_length = 2;
  return Dataset::range(4).interleave(
      [released](std::int64_t x) {
        return Dataset::range(10 * x, 10 * x + 3)
            .map([released](std::int64_t y) {
              while (y < 10 && !released->load()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
              }
              return y;
            });
      },
      options);
}

TEST(Interleave, WithoutOrderASlowDatasetHoldsUpNoOther) {
  for (const bool by_options : {false, true}) {
    auto released = std::make_shared<std::atomic<bool>>(false);
    const Dataset ds =
        by_options ? with_a_slow_one(released, {})
                         .with_options({.deterministic = false})
                   : with_a_slow_one(released, {.deterministic = false});
    Iterator it = ds.iterator();
    std::vector<std::int64_t> first;
    for (int i = 0; i < 9; ++i) {
      first.push_back((*it.next())[0].value<std::int64_t>());
    }
    EXPECT_THAT(first, ::testing::Each(::testing::Ge(10)));
    released->store(true);
    std::vector<std::int64_t> last;
    while (auto e = it.next()) last.push_back((*e)[0].value<std::int64_t>());
    EXPECT_THAT(last, ::testing::UnorderedElementsAre(0, 1, 2));
  }
}

TEST(Interleave, WithoutOrderARestoreBehindAWindowLosesNothing) {
  // The window holds elements of several datasets; they are read again, in the
  // order in which they came.
  const auto make = [] {
    return Dataset::range(30)
        .interleave(
            [](std::int64_t x) {
              return Dataset::range(10 * x, 10 * x + 6).map([](std::int64_t y) {
                std::this_thread::sleep_for(
                    std::chrono::microseconds(37 * y % 211));
                return y;
              });
            },
            {.cycle_length = 5, .deterministic = false})
        .shuffle(16, 3);
  };
  std::vector<std::int64_t> expected = values(make());
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(expected.size(), 180U);
  for (int stop = 1; stop < 180; stop += 23) {
    std::vector<std::int64_t> got;
    Iterator it = make().iterator();
    for (int i = 0; i < stop; ++i) {
      got.push_back((*it.next())[0].value<std::int64_t>());
    }
    Iterator second = make().iterator(it.state_dict());
    for (int i = 0; i < 7 && stop + i < 180; ++i) {
      got.push_back((*second.next())[0].value<std::int64_t>());
    }
    Iterator third = make().iterator(second.state_dict());
    while (auto e = third.next()) {
      got.push_back((*e)[0].value<std::int64_t>());
    }
    std::sort(got.begin(), got.end());
    ASSERT_EQ(got, expected) << stop;
  }
}

TEST(Interleave, NumParallelCallsBoundsTheDatasetsWorkedOn) {
  struct Seen {
    std::mutex mutex;
    std::map<std::int64_t, int> running;
    std::size_t most = 0;
  };
  auto seen = std::make_shared<Seen>();
  const Dataset ds = Dataset::range(24).interleave(
      [seen](std::int64_t x) {
        return Dataset::range(4).map([seen, x](std::int64_t y) {
          {
            std::lock_guard lock(seen->mutex);
            ++seen->running[x];
            seen->most = std::max(seen->most, seen->running.size());
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          std::lock_guard lock(seen->mutex);
          if (--seen->running[x] == 0) seen->running.erase(x);
          return 10 * x + y;
        });
      },
      {.cycle_length = 8, .num_parallel_calls = 2});
  EXPECT_EQ(values(ds).size(), 96U);
  EXPECT_LE(seen->most, 2U);
}

TEST(Interleave, ManyOpenedDatasetsLeaveNothingBehind) {
  const auto ds = Dataset::range(2000).interleave(
      [](std::int64_t x) {
        return Dataset::range(x, x + 2).filter(
            [](std::int64_t) { return true; });
      },
      {.cycle_length = 8});
  Iterator it = ds.iterator();
  std::int64_t n = 0;
  while (it.next()) ++n;
  EXPECT_EQ(n, 4000);
  // Stages of nested datasets share one set of counters.
  EXPECT_LT(it.stats().stages.size(), 10u);
}

}  // namespace
}  // namespace penstock
