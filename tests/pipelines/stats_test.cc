// The counters against truth that the test planted.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "penstock/penstock.h"
#include "penstock/runtime/scheduler.h"
#include "tests/support/outcome.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;

const StageStats& stage(const IteratorStats& stats, const std::string& name) {
  for (const StageStats& s : stats.stages) {
    if (s.stage == name) return s;
  }
  throw std::out_of_range(
      absl::StrCat(name, " is not in\n", stats.to_string()));
}

IteratorStats stats_of(const Dataset& dataset) {
  Iterator it = dataset.iterator();
  (void)take_some(it, 1'000'000);
  return it.stats();
}

TEST(Stats, CountElementsExactly) {
  const IteratorStats stats =
      stats_of(Dataset::range(1000)
                   .map([](std::int64_t x) { return x; })
                   .filter([](std::int64_t x) { return x % 4 == 0; })
                   .batch(10));
  EXPECT_EQ(stage(stats, "range#0").elements, 1000);
  EXPECT_EQ(stage(stats, "map#1").elements, 1000);
  EXPECT_EQ(stage(stats, "filter#2").elements, 250);
  EXPECT_EQ(stage(stats, "batch#3").elements, 25);
  EXPECT_EQ(stats.elements, 25);
}

TEST(Stats, CountErrorsWhereTheyHappen) {
  const IteratorStats stats =
      stats_of(Dataset::range(100)
                   .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x % 10 == 3) return absl::DataLossError("no");
                     return x;
                   })
                   .skip(0));
  EXPECT_EQ(stage(stats, "map#1").errors, 10);
}

TEST(Stats, BusyTimeIsTheTimeSpentInTheStage) {
  std::atomic<std::int64_t> slept_ns{0};  // longer on a busy machine
  const IteratorStats stats = stats_of(Dataset::range(40).map(
      [&slept_ns](std::int64_t x) {
        const auto start = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(milliseconds(5));
        slept_ns += (std::chrono::steady_clock::now() - start).count();
        return x;
      },
      {.num_parallel_calls = 2}));
  const double slept_ms = static_cast<double>(slept_ns) / 1e6;
  const double ms = static_cast<double>(stage(stats, "map#1").busy_ns) / 1e6;
  EXPECT_GE(ms, slept_ms * 0.9);
  EXPECT_LE(ms, slept_ms * 1.5);
  EXPECT_EQ(stage(stats, "map#1").max_parallelism, 2);
  EXPECT_LT(stage(stats, "range#0").busy_ns,
            milliseconds(50).count() * 1000000);
}

TEST(Stats, BusyTimeOfShortBlocksIsEstimated) {
  // 20 us each: blocks far below a millisecond, which are sampled.
  const auto spin = [](std::int64_t x) {
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::microseconds(20);
    while (std::chrono::steady_clock::now() < until) {
    }
    return x;
  };
  const IteratorStats stats =
      stats_of(Dataset::range(5000).map(spin).with_options({.cpu_budget = 1}));
  const double ms = static_cast<double>(stage(stats, "map#1").busy_ns) / 1e6;
  // Wide: a preempted sample may shift time to another stage.
  EXPECT_GE(ms, 100 * 0.3);
  // A worker cannot have been busy for longer than there was time. There are
  // two where other programs held the one up until its call was taken to block.
  const auto workers =
      static_cast<double>(stage(stats, "map#1").max_parallelism);
  EXPECT_LE(ms, workers * static_cast<double>(stats.elapsed_ns) / 1e6);
}

TEST(Stats, ConsumerWaitAndThinkTimeAreToldApart) {
  const Dataset slow = Dataset::range(10).map(
      [](std::int64_t x) {
        std::this_thread::sleep_for(milliseconds(10));
        return x;
      },
      {.num_parallel_calls = 1});
  IteratorStats stats = stats_of(slow);
  EXPECT_GE(stats.consumer_wait_ns, milliseconds(80).count() * 1000000);
  EXPECT_LT(stats.consumer_think_ns, stats.consumer_wait_ns);

  Iterator it = Dataset::range(10).prefetch(1).iterator();
  while (it.next()) std::this_thread::sleep_for(milliseconds(10));
  stats = it.stats();
  EXPECT_GE(stats.consumer_think_ns, milliseconds(90).count() * 1000000);
  EXPECT_LT(stats.consumer_wait_ns, stats.consumer_think_ns);
}

TEST(Stats, StayAfterClose) {
  Iterator it =
      Dataset::range(100).map([](std::int64_t x) { return x; }).iterator();
  (void)take_some(it, 1000);
  it.close();
  EXPECT_EQ(it.stats().elements, 100);
  EXPECT_EQ(stage(it.stats(), "map#1").elements, 100);
}

TEST(Stats, ASourceUnderAShuffleCountsEachElementOnce) {
  const IteratorStats stats = stats_of(
      Dataset::range(100).map([](std::int64_t x) { return x; }).shuffle(10, 1));
  EXPECT_EQ(stage(stats, "range#0").elements, 100);
  EXPECT_EQ(stage(stats, "map#1").elements, 100);
  EXPECT_EQ(stage(stats, "shuffle#2").elements, 100);
}

// What is in front of a sequencer is let go when it has ended.
TEST(Stats, KeepTheTimeOfInputsThatHaveEnded) {
  const auto busy = [](std::int64_t x) {
    const auto end = std::chrono::steady_clock::now() + milliseconds(2);
    while (std::chrono::steady_clock::now() < end) {
    }
    return x;
  };
  for (const Dataset& ds : {Dataset::range(40).map(busy).batch(4),
                            Dataset::range(4).flat_map([&](std::int64_t) {
                              return Dataset::range(10).map(busy);
                            })}) {
    const IteratorStats stats = stats_of(ds);
    std::int64_t busy_ns = 0;
    for (const StageStats& s : stats.stages) busy_ns += s.busy_ns;
    EXPECT_GE(busy_ns, 40 * 2'000'000) << stats.to_string();
  }
}

TEST(Stats, TellWhyAStageRunsWider) {
  const IteratorStats stats =
      stats_of(Dataset::range(60).map([](std::int64_t x) {
        std::this_thread::sleep_for(milliseconds(15));
        return x;
      }));
  EXPECT_TRUE(stage(stats, "map#1").blocking);
  ASSERT_FALSE(stats.decisions.empty());
  for (const Decision& d : stats.decisions) {
    EXPECT_FALSE(d.reason.empty()) << d.what;
  }
}

TEST(Stats, WaitingForALockOfItsOwnIsNotBlocking) {
  const Dataset ds = Dataset::range(6).map([](std::int64_t x) {
    const LockWait waiting;
    std::this_thread::sleep_for(milliseconds(15));
    return x;
  });
  Iterator it = ds.iterator();
  while (it.next()) {
  }
  EXPECT_FALSE(stage(it.stats(), "map#1").blocking);
  EXPECT_LE(stage(it.stats(), "map#1").max_parallelism, it.stats().cpu_budget);
}

TEST(Stats, TakingTurnsAtALockIsNotBlocking) {
  // As functions of Python do at the GIL, which nobody is told of.
  std::mutex turn;
  const Dataset ds = Dataset::range(8).map([&](std::int64_t x) {
    for (int i = 0; i < 10; ++i) {
      const std::lock_guard lock(turn);
      const std::int64_t end = Clock::real().thread_cpu() + 6'000'000;
      while (Clock::real().thread_cpu() < end) {
      }
    }
    return x;
  });
  Iterator it = ds.iterator();
  while (it.next()) {
  }
  EXPECT_FALSE(stage(it.stats(), "map#1").blocking) << it.stats().to_string();
}

TEST(Stats, CallsThatMoveElsewhereLeaveTheBlockingLane) {
  std::atomic<bool> elsewhere{false};
  const Dataset ds = Dataset::counter().map([&](std::int64_t x) {
    std::optional<WorksElsewhere> working;
    if (elsewhere.load()) working.emplace();
    std::this_thread::sleep_for(milliseconds(8));
    return x;
  });
  Iterator it = ds.iterator();
  const auto take_until = [&](bool blocking) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (stage(it.stats(), "map#1").blocking != blocking) {
      ASSERT_LT(std::chrono::steady_clock::now(), end)
          << it.stats().to_string();
      ASSERT_TRUE(it.next());
    }
  };
  take_until(true);
  elsewhere = true;
  take_until(false);
  const Decision last = it.stats().decisions.back();
  EXPECT_EQ(last.what, "runs on the CPU lane") << last.reason;
  elsewhere = false;
  take_until(true);
}

TEST(Stats, MemoryPeakAndBudgetAreReported) {
  const IteratorStats stats =
      stats_of(Dataset::range(100)
                   .map([](std::int64_t) { return std::vector<float>(1000); })
                   .with_options({.cpu_budget = 3, .memory_budget = 1 << 20}));
  EXPECT_GE(stats.bytes_peak, 4000);
  EXPECT_LE(stats.bytes_peak, (1 << 20) + 4000);
  EXPECT_EQ(stats.memory_budget, 1 << 20);
  EXPECT_EQ(stats.cpu_budget, 3);
}

// Bytes that nobody will hold are missing elsewhere, and cut blocks short.
TEST(Stats, AFilterThatDropsAllTakesNoBytes) {
  constexpr std::int64_t kRows = 200'000;
  const Dataset numbers = Dataset::range(kRows);
  const Options options{.cpu_budget = 2, .memory_budget = 64 << 20};
  const auto last = [](std::int64_t x) { return x == kRows - 1; };
  const IteratorStats known =
      stats_of(numbers.filter(last).with_options(options));
  EXPECT_LT(known.bytes_peak, 16 << 20) << known.to_string();
  EXPECT_LT(stage(known, "filter#1").blocks, 1000);
  const IteratorStats unknown =
      stats_of(numbers.map([](const Element& e) { return e; })
                   .filter(last)
                   .with_options(options));
  EXPECT_LT(unknown.bytes_peak, 16 << 20) << unknown.to_string();
  EXPECT_LT(stage(unknown, "filter#2").blocks, 1000);
}

}  // namespace
}  // namespace penstock::testing
