// Each allocation of a running pipeline fails once: the iterator gives an error
// and goes on or ends, but the process goes on, nothing waits for good, and no
// element is lost without an error.
//
// This program replaces operator new, so it is one of its own, and each case
// runs in a child. PENSTOCK_ALLOCATIONS says how many allocations of each
// pipeline fail, one in each run.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "penstock/memory/ledger.h"
#include "penstock/penstock.h"

namespace {

std::atomic<std::int64_t> g_left{-1};  // until they fail; below zero: none does
std::atomic<std::int64_t> g_failing{0};
thread_local bool t_exempt = false;

bool refused() {
  if (t_exempt || g_left.load(std::memory_order_relaxed) < 0) return false;
  if (g_left.fetch_sub(1) > 0) return false;
  g_left.store(0);
  if (g_failing.fetch_sub(1) > 0) return true;
  g_left.store(-1);
  return false;
}

}  // namespace

void* operator new(std::size_t size) {
  void* p = refused() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace penstock::testing {
namespace {

constexpr int kHung = 3;
constexpr int kWrong = 4;

struct Got {
  std::vector<Element> elements;
  int errors = 0;
  int stops = 0;  // errors after which the iterator ended
  std::vector<Element> rest;
  bool wrong = false;
};

void complain(std::int64_t at, const char* what) {
  std::fprintf(stderr, "allocation %lld: %s\n", static_cast<long long>(at),
               what);
}

// Allocations `at` to `at + n` fail; below zero none does.
Got run_failing(const Dataset& dataset, std::int64_t at, std::int64_t n) {
  Got got;
  {
    t_exempt = true;
    Iterator it = dataset.iterator();
    t_exempt = false;
    g_failing.store(n);
    g_left.store(at);
    bool stopped = false;
    for (;;) {
      auto next = it.try_next();
      t_exempt = true;
      if (!next.ok()) {
        ++got.errors;
        stopped = next.status().message().find("engine notes") !=
                  absl::string_view::npos;
        if (stopped && ++got.stops > 1) got.wrong = true;
        if (next.status().code() != StatusCode::kResourceExhausted) {
          std::fprintf(stderr, "%s\n", next.status().ToString().c_str());
          got.wrong = true;
        }
      } else if (!next->has_value()) {
        break;
      } else {
        if (stopped) got.wrong = true;
        got.elements.push_back(**next);
      }
      t_exempt = false;
    }
    t_exempt = false;
    if (stopped && got.errors == 1) {
      t_exempt = true;
      g_left.store(-1);
      const std::string state = it.state_dict();
      t_exempt = false;
      Iterator again = dataset.iterator(state);
      while (auto next = again.next()) got.rest.push_back(*next);
    }
    // Closed while memory may be short.
  }
  g_left.store(-1);
  return got;
}

bool in_order(const std::vector<Element>& got,
              const std::vector<Element>& expected) {
  std::size_t at = 0;
  for (const Element& e : got) {
    while (at < expected.size() && !(expected[at] == e)) ++at;
    if (at++ >= expected.size()) return false;
  }
  return true;
}

void check(const Dataset& dataset, const std::vector<Element>& expected,
           std::int64_t at, std::int64_t n) {
  Got got = run_failing(dataset, at, n);
  if (got.wrong || !in_order(got.elements, expected)) {
    complain(at, "wrong elements or errors");
    _exit(kWrong);
  }
  if (got.errors == 0 && got.elements.size() != expected.size()) {
    complain(at, "elements are lost without an error");
    _exit(kWrong);
  }
  if (got.stops == 1 && got.errors == 1) {
    got.elements.insert(got.elements.end(), got.rest.begin(), got.rest.end());
    if (got.elements != expected) {
      complain(at, "the state after the error does not go on");
      _exit(kWrong);
    }
  }
  for (int i = 0; Account::process().used() != 0; ++i) {
    if (i == 2000) {
      complain(at, "bytes are left");
      _exit(kWrong);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void survives(const std::function<Dataset()>& make) {
  const char* text = std::getenv("PENSTOCK_ALLOCATIONS");
  const std::int64_t count = text != nullptr ? std::atoll(text) : 200;
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    const Dataset dataset = make();
    const std::vector<Element> expected = run_failing(dataset, -1, 0).elements;
    for (std::int64_t at = 0; at < count; ++at) {
      check(dataset, expected, at, 1);
      if (at % 4 == 0) check(dataset, expected, at, 5);
    }
    _exit(expected.empty() ? kHung : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(WIFSIGNALED(status)) << "ended by signal " << WTERMSIG(status);
  if (WIFEXITED(status)) {
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

std::int64_t twice(std::int64_t x) { return 2 * x; }

TEST(AllocationFailure, OfAnIndexedChainIsAnError) {
  survives([] { return Dataset::range(300).map(twice).batch(8).prefetch(4); });
}

TEST(AllocationFailure, OfAFilterIsAnError) {
  survives([] {
    return Dataset::range(300)
        .filter([](std::int64_t x) { return x % 3 != 0; })
        .map(twice);
  });
}

TEST(AllocationFailure, OfAShuffleWindowIsAnError) {
  survives([] {
    return Dataset::range(200)
        .map([](std::int64_t x) { return std::vector<std::int64_t>(100, x); })
        .shuffle(
            {.buffer_size = 16, .seed = 7, .reshuffle_each_iteration = false})
        .batch(4);
  });
}

TEST(AllocationFailure, OfCallsBesideEachOtherIsAnError) {
  survives([] {
    return Dataset::range(60)
        .map(
            [](std::int64_t x) {
              std::this_thread::sleep_for(std::chrono::microseconds(50));
              return x;
            },
            {.num_parallel_calls = 4})
        .prefetch(2);
  });
}

// Datasets that are read by pipes of their own.
TEST(AllocationFailure, OfNestedDatasetsIsAnError) {
  survives([] {
    return Dataset::range(20).flat_map(
        [](std::int64_t x) { return Dataset::range(x % 4).map(twice); });
  });
}

TEST(AllocationFailure, OfSequencersIsAnError) {
  survives([] {
    return Dataset::zip({Dataset::range(120).map(twice),
                         Dataset::range(60).map(twice).repeat(2).skip(0)})
        .enumerate()
        .take(100)
        .skip(3)
        .prefetch(0);
  });
}

}  // namespace
}  // namespace penstock::testing
