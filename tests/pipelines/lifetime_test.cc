// Cancel, close, exit and fork, with user calls under way.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "penstock/penstock.h"
#include "penstock/runtime/cpu_budget.h"
#include "penstock/runtime/iterator.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Gate {
  std::atomic<int> inside{0};
  std::atomic<int> started{0};
  std::atomic<bool> open{false};

  std::int64_t pass(std::int64_t x) {
    ++started;
    ++inside;
    while (!open) std::this_thread::sleep_for(milliseconds(1));
    --inside;
    return x;
  }
  void wait_for_calls(int n) const {
    while (inside < n) std::this_thread::sleep_for(milliseconds(1));
  }
};

int threads_of_process() {
  namespace fs = std::filesystem;
  return static_cast<int>(std::distance(
      fs::directory_iterator("/proc/self/task"), fs::directory_iterator()));
}

TEST(Lifetime, CancelReturnsAtOnceWhileACallRuns) {
  Gate gate;
  Iterator it = Dataset::range(10)
                    .map([&](std::int64_t x) { return gate.pass(x); })
                    .iterator();
  StatusOr<std::optional<Element>> got;
  std::thread consumer([&] { got = it.try_next(); });
  gate.wait_for_calls(1);
  const auto start = steady_clock::now();
  it.cancel();
  consumer.join();
  EXPECT_LT(steady_clock::now() - start, milliseconds(500));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), StatusCode::kCancelled);
  EXPECT_GE(gate.inside, 1) << "the call still runs";
  gate.open = true;
}

TEST(Lifetime, CloseWaitsForRunningCallsAndNoneStartsAfterwards) {
  Gate gate;
  std::atomic<bool> closed{false};
  auto it = std::make_unique<Iterator>(Dataset::range(1000)
                                           .map([&](std::int64_t x) {
                                             EXPECT_FALSE(closed)
                                                 << "a call after close()";
                                             return gate.pass(x);
                                           })
                                           .iterator());
  gate.wait_for_calls(1);
  std::thread opener([&] {
    std::this_thread::sleep_for(milliseconds(50));
    gate.open = true;
  });
  it->close();
  EXPECT_TRUE(gate.open) << "close() did not wait";
  EXPECT_EQ(gate.inside, 0);
  closed = true;
  const int started = gate.started;
  opener.join();
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(gate.started, started);
}

TEST(Lifetime, TheDestructorWaitsLikeClose) {
  for (int round = 0; round < 20; ++round) {
    // What the function refers to lives on this stack frame.
    std::atomic<int> inside{0};
    {
      Iterator it = Dataset::range(1000)
                        .map([&](std::int64_t x) {
                          ++inside;
                          std::this_thread::sleep_for(milliseconds(1));
                          --inside;
                          return x;
                        })
                        .iterator();
      (void)it.next();
    }
    ASSERT_EQ(inside, 0);
  }
}

TEST(Lifetime, CloseFromAnotherThreadEndsAWaitingNext) {
  Gate gate;
  Iterator it = Dataset::range(10)
                    .map([&](std::int64_t x) { return gate.pass(x); })
                    .iterator();
  std::thread consumer([&] { EXPECT_FALSE(it.try_next().ok()); });
  gate.wait_for_calls(1);
  std::thread closer([&] { it.close(); });
  while (!it.core().run().cancelled()) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  gate.open = true;
  closer.join();
  consumer.join();
}

TEST(Lifetime, ANextBesideACloseTakesWhatItHasOfABlock) {
  // close() lets the run go before it gets at the iterator, which may be in
  // next(): that tells the run how much of its block is left.
  for (int before = 1; before < 60; ++before) {
    Iterator it = Dataset::range(100)
                      .map([](std::int64_t x) { return x; })
                      .prefetch(8)
                      .iterator();
    for (int i = 0; i < before; ++i) ASSERT_TRUE(it.next());
    it.core().run().close();
    while (it.try_next().ok()) {
    }
    EXPECT_EQ(it.try_next().status().code(), StatusCode::kCancelled);
  }
}

TEST(Lifetime, NoThreadBeyondTheBaseWorkersRemains) {
  {
    // Twenty blocking calls at once need as many threads.
    std::vector<Element> all =
        Dataset::range(200)
            .map([](std::int64_t x) {
              std::this_thread::sleep_for(milliseconds(5));
              return x;
            })
            .to_list();
    EXPECT_EQ(all.size(), 200U);
  }
  // Main thread, monitor, base workers; a sanitizer has a thread of its own.
#ifdef PENSTOCK_SANITIZED
  const int base = 3 + detect_cpu_budget();
#else
  const int base = 2 + detect_cpu_budget();
#endif
  const auto until = steady_clock::now() + std::chrono::seconds(10);
  while (threads_of_process() > base && steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_LE(threads_of_process(), base);
}

TEST(LifetimeDeathTest, TheProcessMayExitWhileIteratorsLive) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        alarm(20);
        // Never destroyed, at work when the process ends; static, so that the
        // leak checker finds them.
        static auto* busy =
            new Iterator(Dataset::range(1'000'000)
                             .repeat()
                             .shuffle(1000, 1)
                             .map([](std::int64_t x) { return x + 1; })
                             .iterator());
        static auto* asleep =
            new Iterator(Dataset::range(100)
                             .map([](std::int64_t x) {
                               std::this_thread::sleep_for(milliseconds(10));
                               return x;
                             })
                             .iterator());
        (void)busy->next();
        (void)asleep->next();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(LifetimeDeathTest, AStaticIteratorMayOutliveMain) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        alarm(20);
        static Iterator it = Dataset::range(1'000'000)
                                 .map([](std::int64_t x) { return x; })
                                 .iterator();
        (void)it.next();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

struct IteratesAtTheEnd {
  std::unique_ptr<Iterator> it;
  ~IteratesAtTheEnd() {
    StatusOr<std::optional<Element>> got;
    do {
      got = it->try_next();
    } while (got.ok() && *got);
    if (got.status().code() != StatusCode::kCancelled) _exit(1);
    try {
      (void)Dataset::range(3).to_list();
      _exit(2);
    } catch (const Error& error) {
      if (error.code() != StatusCode::kCancelled) _exit(3);
    }
  }
};

TEST(LifetimeDeathTest, WhatIteratesAfterMainIsToldThatTheProcessEnds) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        alarm(20);
        static IteratesAtTheEnd late;  // destroyed after the workers stopped
        late.it = std::make_unique<Iterator>(Dataset::range(1'000'000)
                                                 .map([](std::int64_t x) {
                                                   std::this_thread::sleep_for(
                                                       milliseconds(1));
                                                   return x;
                                                 })
                                                 .iterator());
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

// The system refuses every further thread, as a container's limit does. Such a
// process ends by _exit(): LeakSanitizer would want a thread at exit().
void refuse_threads() {
  constexpr int kNobodyElse = 61234;
  if (geteuid() == 0 && (setgid(kNobodyElse) != 0 || setuid(kNobodyElse) != 0))
    _exit(90);
  const rlimit one{1, 1};
  if (setrlimit(RLIMIT_NPROC, &one) != 0) _exit(91);
}

TEST(LifetimeDeathTest, PipelinesGoOnWithTheThreadsThereAre) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        alarm(30);
        (void)Dataset::range(1).to_list();
        refuse_threads();
        const auto nap = [](std::int64_t x) {
          std::this_thread::sleep_for(milliseconds(10));
          return x;
        };
        // More calls than threads wait at once, and calls that wait for others.
        if (Dataset::range(40).map(nap).to_list().size() != 40) _exit(1);
        const auto inner = [&](std::int64_t x) {
          return static_cast<std::int64_t>(
              Dataset::range(x).map(nap).to_list().size());
        };
        const auto sum = [](std::int64_t a, std::int64_t b) { return a + b; };
        const Element total =
            Dataset::range(10).map(inner).reduce(std::int64_t{0}, sum);
        _exit(total[0].value<std::int64_t>() == 45 ? 0 : 2);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(LifetimeDeathTest, CallsThatTakeAllThreadsLeaveSomeToOthers) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        alarm(30);
        const auto nap = [](std::int64_t x) {
          std::this_thread::sleep_for(milliseconds(10));
          return x;
        };
        MapOptions many;
        many.num_parallel_calls = 50;
        Iterator endless = Dataset::counter().map(nap, many).iterator();
        std::thread consumer([&] {
          while (endless.try_next().ok()) {
          }
        });
        refuse_threads();
        // Its stage is known to block after the first calls.
        const auto got = Dataset::range(20).map(nap, many).to_list();
        endless.cancel();
        consumer.join();
        _exit(got.size() == 20 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(LifetimeDeathTest, WithoutAnyThreadAnIteratorIsRefused) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        alarm(20);
        refuse_threads();
        for (int i = 0; i < 3; ++i) {
          try {
            (void)Dataset::range(10).to_list();
            _exit(1);
          } catch (const Error& error) {
            if (error.code() != StatusCode::kResourceExhausted) _exit(2);
          }
        }
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

// The system refuses more than a little memory besides what there is.
void refuse_memory() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  constexpr rlim_t kMore = rlim_t{64} << 20;
  const rlimit limit{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + kMore,
                     RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(91);
}

TEST(LifetimeDeathTest, AWindowLargerThanTheAddressSpaceIsAnError) {
#ifdef PENSTOCK_SANITIZED
  GTEST_SKIP() << "the sanitizers take more address space than any limit";
#endif
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        alarm(60);
        Iterator it = Dataset::range(1'000'000'000)
                          .filter([](std::int64_t) { return true; })
                          .shuffle(500'000'000, 1)
                          .prefetch(0)
                          .iterator();
        refuse_memory();
        const auto got = it.try_next();
        if (got.status().code() != StatusCode::kResourceExhausted) _exit(1);
        std::exit(it.try_next().ok() ? 0 : 2);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(LifetimeDeathTest, AfterAForkTheOldIteratorFailsAndANewOneWorks) {
#ifdef PENSTOCK_SANITIZED
  GTEST_SKIP() << "the sanitizers' allocator locks do not survive a fork";
#endif
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        alarm(20);
        const Dataset dataset =
            Dataset::range(100000).map([](std::int64_t x) { return x * 2; });
        Iterator old = dataset.iterator();
        (void)old.next();
        const pid_t child = fork();
        if (child == 0) {
          alarm(15);
          // What had been handed over already may still be read.
          StatusOr<std::optional<Element>> got;
          for (int i = 0; i < 200000; ++i) {
            got = old.try_next();
            if (!got.ok()) break;
          }
          if (got.ok()) _exit(1);
          if (got.status().message().find("fork") == absl::string_view::npos) {
            _exit(2);
          }
          if (dataset.take(1000).to_list().size() != 1000) _exit(3);
          old.close();
          _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status)) std::exit(100 + WTERMSIG(status));
        if (WEXITSTATUS(status) != 0) std::exit(WEXITSTATUS(status));
        // The parent's goes on.
        std::int64_t n = 1;
        while (old.next()) ++n;
        std::exit(n == 100000 ? 0 : 50);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Lifetime, TheStateIsThatBeforeAnElementThatIsWaitedFor) {
  Gate gate;
  const Dataset dataset =
      Dataset::range(10).map([&](std::int64_t x) { return gate.pass(x); });
  Iterator it = dataset.iterator();
  std::optional<Element> got;
  std::thread consumer([&] { got = it.next(); });
  gate.wait_for_calls(1);
  std::this_thread::sleep_for(milliseconds(20));
  const std::string state = it.state_dict();  // does not wait for the call
  gate.open = true;
  consumer.join();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(dataset.iterator(state).next(), got);
  EXPECT_NE(it.state_dict(), state);
}

TEST(Lifetime, AFunctionMayAskItsOwnIteratorForItsState) {
  std::atomic<Iterator*> self{nullptr};
  Iterator it = Dataset::range(3)
                    .map([&](std::int64_t x) {
                      while (self == nullptr) std::this_thread::yield();
                      std::this_thread::sleep_for(milliseconds(5));
                      return self.load()->state_dict().empty() ? -1 : x;
                    })
                    .iterator();
  self = &it;
  for (std::int64_t x = 0; x < 3; ++x) {
    EXPECT_EQ(it.next(), Element(Tensor::scalar(x)));
  }
}

// A thread that waits in next() has the iterator's lock, and is not there in
// the child.
TEST(LifetimeDeathTest, AForkWhileAnotherThreadWaitsLeavesNoChildWaiting) {
#ifdef PENSTOCK_SANITIZED
  GTEST_SKIP() << "the sanitizers' allocator locks do not survive a fork";
#endif
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        alarm(20);
        Gate gate;
        Iterator it = Dataset::range(10)
                          .map([&](std::int64_t x) { return gate.pass(x); })
                          .iterator();
        std::thread waiting([&] { (void)it.next(); });
        gate.wait_for_calls(1);
        std::this_thread::sleep_for(milliseconds(50));
        const pid_t child = fork();
        if (child == 0) {
          alarm(10);
          (void)it.stats();
          (void)it.state_dict();
          const auto got = it.try_next();
          const bool refused =
              !got.ok() &&
              got.status().message().find("fork") != absl::string_view::npos;
          it.cancel();
          it.close();
          _exit(refused ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        gate.open = true;
        waiting.join();
        if (!WIFEXITED(status)) std::exit(100 + WTERMSIG(status));
        std::exit(WEXITSTATUS(status));
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace penstock
