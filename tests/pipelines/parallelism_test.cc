// How many calls run at once, and how far ahead of the consumer.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <thread>

#include "penstock/penstock.h"
#include "penstock/runtime/scheduler.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Counts calls, and how many of them run at once.
struct Calls {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> started{0};

  void begin() {
    started.fetch_add(1);
    const int now = running.fetch_add(1) + 1;
    int seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
  }
  void end() { running.fetch_sub(1); }
  void sleep(milliseconds time) {
    begin();
    std::this_thread::sleep_for(time);
    end();
  }
};

std::vector<std::int64_t> values(const Dataset& dataset) {
  std::vector<std::int64_t> out;
  for (const Element& e : dataset) out.push_back(e[0].value<std::int64_t>());
  return out;
}

std::vector<std::int64_t> count_to(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(i);
  return out;
}

std::chrono::nanoseconds thread_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

void compute(milliseconds time) {
  const auto until = thread_time() + time;
  while (thread_time() < until) {
  }
}

Dataset sleeping(Calls& calls, std::int64_t n, milliseconds time,
                 MapOptions options = {}) {
  return Dataset::range(n).map(
      [&calls, time](std::int64_t x) {
        calls.sleep(time);
        return x;
      },
      std::move(options));
}

TEST(Parallelism, AnExplicitWidthIsObeyedExactly) {
  for (const int width : {2, 3, 7}) {
    Calls calls;
    // Long enough to be seen to block, also on a busy machine.
    const Dataset dataset = sleeping(calls, 8 * width, milliseconds(40),
                                     {.num_parallel_calls = width});
    EXPECT_EQ(values(dataset), count_to(8 * width));
    EXPECT_EQ(calls.most, width);
    EXPECT_EQ(calls.started, 8 * width);
  }
}

TEST(Parallelism, OneIsSerialAlsoWithManyWorkers) {
  Calls calls;
  const Dataset dataset =
      sleeping(calls, 20, milliseconds(7), {.num_parallel_calls = 1})
          .with_options({.cpu_budget = 8});
  EXPECT_EQ(values(dataset), count_to(20));
  EXPECT_EQ(calls.most, 1);
}

TEST(Parallelism, TwoCappedStagesAreEachObeyed) {
  Calls first;
  Calls second;
  const Dataset dataset =
      sleeping(first, 30, milliseconds(40), {.num_parallel_calls = 3})
          .map(
              [&second](std::int64_t x) {
                second.sleep(milliseconds(40));
                return x;
              },
              {.num_parallel_calls = 2});
  EXPECT_EQ(values(dataset), count_to(30));
  EXPECT_EQ(first.most, 3);
  EXPECT_EQ(second.most, 2);
}

TEST(Parallelism, CpuBudgetOfOneRunsOneComputingCallAtOnce) {
  Calls calls;
  const Dataset dataset =
      Dataset::range(200)
          .map([&calls](std::int64_t x) {
            calls.begin();
            const auto until =
                steady_clock::now() + std::chrono::microseconds(200);
            while (steady_clock::now() < until) {
            }
            calls.end();
            return x;
          })
          .with_options({.cpu_budget = 1});
  EXPECT_EQ(values(dataset), count_to(200));
  EXPECT_EQ(calls.most, 1);
}

TEST(Parallelism, BlockingCallsOverlap) {
  Calls calls;
  EXPECT_EQ(values(sleeping(calls, 100, milliseconds(10))
                       .with_options({.cpu_budget = 2})),
            count_to(100));
  EXPECT_GE(calls.most, 4);
  EXPECT_EQ(calls.started, 100);
}

// All calls of such a service wait, however few they are.
TEST(Parallelism, AServiceThatDoesLessTheMoreAreWaitingIsAskedForLess) {
  std::atomic<int> waiting{0};
  Iterator it =
      Dataset::range(1'000'000)
          .map([&](std::int64_t x) {
            // Eight take 5 ms each, 64 of them 320.
            const double busy = std::max(1.0, ++waiting / 8.0);
            std::this_thread::sleep_for(milliseconds(5) * busy * busy);
            --waiting;
            return x;
          })
          .iterator();
  // Mostly it is 64 wide before a first call is back.
  int width = 0;
  const auto start = steady_clock::now();
  const auto passed = [&] { return steady_clock::now() - start; };
  while (passed() < std::chrono::seconds(2) ||
         (width > 32 && passed() < std::chrono::seconds(30))) {
    ASSERT_TRUE(it.next());
    for (const StageStats& stage : it.stats().stages) {
      if (stage.stage == "map#1") width = stage.width;
    }
  }
  EXPECT_GT(width, 1);
  EXPECT_LE(width, 32);
}

TEST(Parallelism, ShortCallsThatWaitOverlapToo) {
  // Enough for a monitor that other load keeps from its core.
  constexpr std::int64_t kCalls = 4000;
  Calls calls;
  EXPECT_EQ(values(sleeping(calls, kCalls, milliseconds(1))
                       .with_options({.cpu_budget = 2})),
            count_to(kCalls));
  EXPECT_GE(calls.most, 6);
  EXPECT_EQ(calls.started, kCalls);
}

TEST(Parallelism, StagesThatWaitInTurnOverlapToo) {
  for (const milliseconds time : {milliseconds(1), milliseconds(3)}) {
    Calls calls;
    const auto wait = [&calls, time](std::int64_t x) {
      calls.sleep(time);
      return x;
    };
    EXPECT_EQ(values(Dataset::range(600).map(wait).map(wait).with_options(
                  {.cpu_budget = 2})),
              count_to(600));
    EXPECT_GE(calls.most, 6) << time.count() << " ms";
    EXPECT_EQ(calls.started, 1200);
  }
}

TEST(Parallelism, CallsOfTwoStagesThatAllWaitGetTwiceTheWidth) {
  Calls calls;
  const auto wait = [&calls](std::int64_t x) {
    calls.sleep(milliseconds(20));
    return x;
  };
  EXPECT_EQ(values(Dataset::range(600).map(wait).map(wait).with_options(
                {.cpu_budget = 2})),
            count_to(600));
  EXPECT_GE(calls.most, 32);
}

TEST(Parallelism, ShortWaitsBesideAStageThatComputesOverlap) {
  Calls waits;
  Calls computes;
  const Dataset dataset = sleeping(waits, 600, milliseconds(3))
                              .map([&computes](std::int64_t x) {
                                computes.begin();
                                compute(milliseconds(2));
                                computes.end();
                                return x;
                              })
                              .with_options({.cpu_budget = 2});
  EXPECT_EQ(values(dataset), count_to(600));
  EXPECT_GE(waits.most, 4);
  EXPECT_LE(computes.most, 2);
}

class CallsThatCompute : public ::testing::TestWithParam<milliseconds> {};

TEST_P(CallsThatCompute, AreNotTakenForWaiting) {
  // More of them than cores: most of their time they wait for one.
  Calls calls;
  const auto work = [&calls](std::int64_t x) {
    calls.begin();
    compute(GetParam());
    calls.end();
    return x;
  };
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 8; ++i) {
    others.emplace_back([&stop] {
      while (!stop.load()) {
      }
    });
  }
  EXPECT_EQ(
      values(Dataset::range(100).map(work).with_options({.cpu_budget = 2})),
      count_to(100));
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_LE(calls.most, 2);
}

INSTANTIATE_TEST_SUITE_P(Parallelism, CallsThatCompute,
                         ::testing::Values(milliseconds(1), milliseconds(3)));

/// Another process that waits, or computes, until it is ended.
class OtherProcess {
 public:
  explicit OtherProcess(bool computes) : pid_(fork()) {
    if (pid_ != 0) return;
    for (;;) {
      if (!computes) pause();
    }
  }
  ~OtherProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

TEST(Parallelism, CallsInAnotherProcessOverlapWhileThatWaits) {
  for (const bool computes : {false, true}) {
    const OtherProcess other(computes);
    Calls calls;
    const Dataset dataset = Dataset::range(30)
                                .map(
                                    [&](std::int64_t x) {
                                      const WorksElsewhere there(other.pid());
                                      calls.sleep(milliseconds(40));
                                      return x;
                                    },
                                    {.num_parallel_calls = 6})
                                .with_options({.cpu_budget = 2});
    EXPECT_EQ(values(dataset), count_to(30));
    if (computes) {
      EXPECT_LE(calls.most, 2);
    } else {
      EXPECT_EQ(calls.most, 6);
    }
  }
}

TEST(Parallelism, TheRestOfABlockThatTakesTooLongIsGivenBack) {
  // Blocks have grown over cheap calls when the costly ones begin. Those fit
  // into one block; the two of them can only meet if it is shared.
  Calls calls;
  const std::int64_t n = 20'040;
  const auto all = [](std::int64_t) { return true; };
  std::atomic<bool> met{false};
  const auto work = [&](std::int64_t x) {
    if (x < n - 40) return x;
    calls.begin();
    const auto until = steady_clock::now() + milliseconds(100);
    while (!met && steady_clock::now() < until) {
      if (calls.running > 1) met = true;
      std::this_thread::yield();
    }
    calls.end();
    return x;
  };
  for (const Dataset& numbers :
       {Dataset::range(n), Dataset::range(n).filter(all)}) {
    met = false;
    EXPECT_EQ(values(numbers.map(work).with_options({.cpu_budget = 2})),
              count_to(n));
    EXPECT_TRUE(met);
  }
}

TEST(Parallelism, TheRestOfABlockOfNestedDatasetsIsGivenBack) {
  Calls calls;
  const std::int64_t n = 20'040;
  std::atomic<bool> met{false};
  const auto open = [&](std::int64_t x) {
    if (x < n - 40) return Dataset::range(x, x + 1);
    calls.begin();
    const auto until = steady_clock::now() + milliseconds(100);
    while (!met && steady_clock::now() < until) {
      if (calls.running > 1) met = true;
      std::this_thread::yield();
    }
    calls.end();
    return Dataset::range(x, x + 1);
  };
  for (const Dataset& nested :
       {Dataset::range(n).flat_map(open), Dataset::range(n).interleave(open)}) {
    met = false;
    EXPECT_EQ(values(nested.with_options({.cpu_budget = 2})), count_to(n));
    EXPECT_TRUE(met);
  }
}

TEST(Parallelism, OutOfOrderGivesEachElementOnceAndMayOvertake) {
  Calls calls;
  const Dataset dataset = Dataset::range(40).map(
      [&calls](std::int64_t x) {
        calls.sleep(milliseconds(x == 0 ? 300 : 8));
        return x;
      },
      {.num_parallel_calls = 4, .deterministic = false});
  std::vector<std::int64_t> got = values(dataset);
  EXPECT_NE(got.front(), 0) << "the slow first element held up the rest";
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, count_to(40));
  EXPECT_EQ(calls.started, 40);
}

TEST(Parallelism, InOrderResultsDoNotWaitForTheHeadToBeComputed) {
  Calls calls;
  bool others_ran = false;
  const Dataset dataset = Dataset::range(40).map(
      [&](std::int64_t x) {
        calls.begin();
        const auto until = steady_clock::now() + std::chrono::seconds(20);
        while (x == 0 && calls.started < 30 && steady_clock::now() < until) {
          std::this_thread::sleep_for(milliseconds(1));
        }
        if (x == 0) others_ran = calls.started >= 30;
        calls.end();
        return x;
      },
      {.num_parallel_calls = 2});
  EXPECT_EQ(values(dataset), count_to(40));
  EXPECT_TRUE(others_ran) << "the other calls waited for the first one";
}

TEST(CpuBudget, FollowsTheProcess) {
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one core is all there is";
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  Iterator it = Dataset::counter().iterator();
  const auto becomes = [&](int budget) {
    const auto end = steady_clock::now() + std::chrono::seconds(20);
    while (it.stats().cpu_budget != budget && steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    return it.stats().cpu_budget == budget;
  };
  EXPECT_EQ(it.stats().cpu_budget, CPU_COUNT(&all));
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_TRUE(becomes(1));
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
  EXPECT_TRUE(becomes(CPU_COUNT(&all)));
}

TEST(Prefetch, ZeroStartsNoCallAfterNextHasReturned) {
  Calls calls;
  const Dataset dataset = sleeping(calls, 20, milliseconds(1)).prefetch(0);
  Iterator it = dataset.iterator();
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_EQ(calls.started, 0) << "before the first next()";
  for (int i = 1; i <= 10; ++i) {
    ASSERT_TRUE(it.next().has_value());
    EXPECT_EQ(calls.started, i);
    EXPECT_EQ(calls.running, 0);
    std::this_thread::sleep_for(milliseconds(i % 3 == 0 ? 20 : 0));
    EXPECT_EQ(calls.started, i);
  }
}

TEST(Prefetch, ZeroMakesOnlyWhatIsWaitedForAlsoOfACappedMap) {
  for (const std::int64_t rows : {1, 4}) {
    Calls calls;
    const Dataset dataset =
        sleeping(calls, 40, milliseconds(1), {.num_parallel_calls = 3})
            .batch(rows)
            .prefetch(0);
    Iterator it = dataset.iterator();
    for (int i = 1; i <= 5; ++i) {
      ASSERT_TRUE(it.next().has_value());
      std::this_thread::sleep_for(milliseconds(10));
      EXPECT_EQ(calls.started, rows * i);
    }
  }
}

TEST(Prefetch, ZeroHoldsBehindABatchToo) {
  Calls calls;
  const Dataset dataset =
      sleeping(calls, 40, milliseconds(0)).batch(4).prefetch(0);
  Iterator it = dataset.iterator();
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(it.next().has_value());
    std::this_thread::sleep_for(milliseconds(10));
    EXPECT_EQ(calls.started, 4 * i);
  }
}

TEST(Prefetch, ZeroRunsTheCallsOfABatchSideBySide) {
  for (const std::int64_t size : {2, 3, 4}) {
    Calls calls;
    const Dataset dataset =
        Dataset::range(40 * size)
            .map(
                [&calls](std::int64_t x) {
                  calls.sleep(milliseconds(5));
                  return x;
                },
                {.num_parallel_calls = 2})
            .batch(size)
            .prefetch(0);
    auto it = dataset.iterator();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(it.next());
    calls.most = 0;
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(it.next());
    EXPECT_EQ(calls.most, 2) << "batches of " << size;
  }
}

TEST(Prefetch, NBoundsTheCallsAheadOfTheConsumer) {
  for (const int n : {1, 2, 5}) {
    Calls calls;
    const Dataset dataset = sleeping(calls, 60, milliseconds(0))
                                .prefetch(n)
                                .with_options({.cpu_budget = 2});
    Iterator it = dataset.iterator();
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_LE(calls.started, n) << "before the first next()";
    for (int i = 1; i <= 20; ++i) {
      ASSERT_TRUE(it.next().has_value());
      if (i % 5 == 0) std::this_thread::sleep_for(milliseconds(15));
      EXPECT_LE(calls.started, i + n);
      if (i % 5 == 0) {
        EXPECT_EQ(calls.started, i + n) << "it works ahead";
      }
    }
  }
}

// Calls that block may go beyond n, to as many as run at once without it.
constexpr int kWidest = 64;

TEST(Prefetch, AMapIsAsWideAsWithoutIt) {
  using Rest = Dataset (*)(const Dataset&);
  const Rest rests[] = {
      [](const Dataset& ds) { return ds; },
      [](const Dataset& ds) { return ds.batch(1); },
      [](const Dataset& ds) {
        return ds.batch(1).map([](const Tensor& batch) { return batch; });
      },
      [](const Dataset& ds) { return ds.shuffle(4, 1); },
      [](const Dataset& ds) {
        return ds.filter([](std::int64_t) { return true; });
      },
      [](const Dataset& ds) {
        return ds.scan(std::int64_t{0}, [](std::int64_t, std::int64_t x) {
          return std::pair(x, x);
        });
      },
      [](const Dataset& ds) {
        return Dataset::range(1).flat_map([ds](std::int64_t) { return ds; });
      },
  };
  for (const Rest& rest : rests) {
    Calls calls;
    const Dataset dataset =
        rest(sleeping(calls, 160, milliseconds(20))).prefetch(1);
    SCOPED_TRACE(dataset.explain());
    Iterator it = dataset.iterator();
    for (int i = 1; it.next().has_value(); ++i) {
      EXPECT_LE(calls.started, i + 2 * kWidest);
    }
    EXPECT_GE(calls.most, 12);
    EXPECT_EQ(calls.started, 160);
  }
}

TEST(Prefetch, AConsumerThatIsSlowGetsHardlyMoreThanN) {
  // Calls that block are not widened while enough lies ready.
  Calls calls;
  Iterator it = sleeping(calls, 500, milliseconds(8)).prefetch(2).iterator();
  ASSERT_TRUE(it.next().has_value());
  std::this_thread::sleep_for(milliseconds(100));
  for (int i = 2; i <= 20; ++i) {
    ASSERT_TRUE(it.next().has_value());
    std::this_thread::sleep_for(milliseconds(15));
    EXPECT_LE(calls.started, i + 2 + 16);
  }
}

TEST(Prefetch, DatasetsThatAreDrawnFromRunSideBySide) {
  for (const bool chosen : {false, true}) {
    Calls calls;
    std::vector<Dataset> branches;
    for (int i = 0; i < 4; ++i) {
      branches.push_back(
          sleeping(calls, 40, milliseconds(20), {.num_parallel_calls = 1}));
    }
    const Dataset mixed =
        chosen
            ? Dataset::choose_from_datasets(
                  branches,
                  Dataset::range(80).map([](std::int64_t x) { return x % 4; }))
            : Dataset::sample_from_datasets(branches, {.seed = 3});
    Iterator it = mixed.prefetch(8).iterator();
    for (int i = 1; i <= 40; ++i) {
      ASSERT_TRUE(it.next().has_value());
      EXPECT_LE(calls.started, i + 9);
    }
    EXPECT_GE(calls.most, 3) << (chosen ? "chosen" : "sampled");
  }
}

TEST(Prefetch, CallsForTheBatchesAheadRunSideBySide) {
  using Rest = Dataset (*)(const Dataset&);
  const Rest rests[] = {
      [](const Dataset& ds) { return ds.batch(2); },
      [](const Dataset& ds) {
        return ds.batch(2).map([](const Tensor& batch) { return batch; });
      },
      [](const Dataset& ds) {
        return ds.filter([](std::int64_t) { return true; }).batch(2);
      },
      [](const Dataset& ds) { return ds.padded_batch(2); },
      [](const Dataset& ds) { return ds.ignore_errors().batch(2); },
      [](const Dataset& ds) { return ds.batch(1).rebatch(2); },
      [](const Dataset& ds) { return ds.window(2); },
      [](const Dataset& ds) {
        return ds.window(2).flat_map([](const Element& window) {
          return Dataset::of(window[0]).batch(2);
        });
      },
  };
  for (const Rest& rest : rests) {
    Calls calls;
    const Dataset dataset =
        rest(sleeping(calls, 200, milliseconds(20))).prefetch(8);
    SCOPED_TRACE(dataset.explain());
    Iterator it = dataset.iterator();
    for (int i = 1; i <= 100; ++i) {
      ASSERT_TRUE(it.next().has_value());
      EXPECT_LE(calls.started, 2 * (i + 8) + kWidest);
    }
    EXPECT_GT(calls.most, 4);
    EXPECT_EQ(calls.started, 200);
  }
}

TEST(Prefetch, CallsInsideNestedDatasetsRunSideBySide) {
  for (const int rows : {1, 5}) {
    Calls calls;
    const auto open = [&calls, rows](std::int64_t) {
      return sleeping(calls, rows, milliseconds(20));
    };
    const Dataset outer = Dataset::range(80 / rows);
    for (const Dataset& nested :
         {outer.interleave(open, {.cycle_length = 4, .block_length = 1}),
          outer.interleave(
              open,
              {.cycle_length = 4, .block_length = 1, .deterministic = false}),
          outer.flat_map(open)}) {
      const Dataset dataset = nested.prefetch(8);
      SCOPED_TRACE(dataset.explain());
      calls.started = 0;
      calls.most = 0;
      Iterator it = dataset.iterator();
      for (int i = 1; i <= 80; ++i) {
        ASSERT_TRUE(it.next().has_value());
        EXPECT_LE(calls.started, i + 8 + kWidest);
      }
      EXPECT_GT(calls.most, 2);
      EXPECT_EQ(calls.started, 80);
    }
  }
}

TEST(Prefetch, CheapRowsAreMadeAheadWhileTheConsumerPauses) {
  // Nobody is woken for a row or two of them while the consumer takes more.
  Calls calls;
  const Dataset dataset = sleeping(calls, 400, milliseconds(0)).prefetch(64);
  Iterator it = dataset.iterator();
  for (int i = 1; i <= 200; ++i) {
    ASSERT_TRUE(it.next().has_value());
    EXPECT_LE(calls.started, i + 64);
    if (i % 50 != 3) continue;
    const auto until = steady_clock::now() + std::chrono::seconds(5);
    while (calls.started < i + 64 && steady_clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(calls.started, i + 64);
  }
}

TEST(Prefetch, NAddsTheWidthOfACappedMap) {
  Calls calls;
  const Dataset dataset =
      sleeping(calls, 100, milliseconds(2), {.num_parallel_calls = 3})
          .prefetch(2);
  Iterator it = dataset.iterator();
  for (int i = 1; i <= 30; ++i) {
    ASSERT_TRUE(it.next().has_value());
    EXPECT_LE(calls.started, i + 2 + 3);
  }
}

TEST(Prefetch, WithoutItTheOutputRunsAhead) {
  Calls calls;
  Iterator it = sleeping(calls, 50, milliseconds(0)).iterator();
  ASSERT_TRUE(it.next().has_value());
  const auto until = steady_clock::now() + std::chrono::seconds(5);
  while (calls.started < 50 && steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(calls.started, 50);
}

}  // namespace
}  // namespace penstock
