// How well calls of a user's function overlap.
#include <atomic>
#include <chrono>
#include <thread>

#include "benchmarks/micro/bench.h"
#include "penstock/penstock.h"

namespace penstock::bench {
namespace {

std::int64_t count(const Dataset& ds) {
  Iterator it = ds.iterator();
  std::int64_t n = 0;
  while (it.next()) ++n;
  return n;
}

// The best that two threads can do: each takes the next call when it is free.
void bare_threads(std::int64_t calls, int threads, std::int64_t ns) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    while (next.fetch_add(1) < calls) spin(ns);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
}

}  // namespace

PENSTOCK_BENCH(7, cpu_bound) {
  constexpr std::int64_t kCallNs = 100'000;
  const std::int64_t calls = table.quick() ? 400 : 4'000;
  const Dataset ds = Dataset::range(calls)
                         .map([](std::int64_t x) {
                           spin(kCallNs);
                           return x;
                         })
                         .with_options({.cpu_budget = 2});
  const auto t = interleave(
      table.quick() ? 3 : 11,
      {[&] { return time_of([&] { bare_threads(calls, 2, kCallNs); }); },
       [&] { return time_of([&] { count(ds); }); }});
  table.at_least("CPU-bound lambda of 100 us, share of two bare threads",
                 median_ratio(t[0], t[1]), "x", 0.98);
  table.reference("  two bare threads, calls overlapped",
                  static_cast<double>(calls * kCallNs) / t[0].best(), "x");
  table.reference("  two workers, calls overlapped",
                  static_cast<double>(calls * kCallNs) / t[1].best(), "x");
}

PENSTOCK_BENCH(8, stragglers) {
  constexpr std::int64_t kCallNs = 50'000;
  const std::int64_t calls = table.quick() ? 800 : 8'000;
  const auto uneven = [](std::int64_t x) {
    spin(x % 16 == 15 ? 10 * kCallNs : kCallNs);
    return x;
  };
  const Dataset in_order = Dataset::range(calls).map(uneven);
  const Dataset any_order =
      Dataset::range(calls).map(uneven, {.deterministic = false});
  const auto t =
      interleave(table.quick() ? 3 : 11,
                 {[&] { return time_of([&] { count(any_order); }); },
                  [&] { return time_of([&] { count(in_order); }); }});
  table.at_least("in order, every 16th call 10x slower, share of any order",
                 median_ratio(t[0], t[1]), "x", 0.95);
}

PENSTOCK_BENCH(9, sleeping) {
  const Dataset ds = Dataset::range(100).map([](std::int64_t x) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return x;
  });
  const auto t = interleave(table.quick() ? 1 : 5,
                            {[&] { return time_of([&] { count(ds); }); }});
  table.at_most("100 calls that sleep 0.1 s, AUTOTUNE", t[0].median() / 1e9,
                "s", 0.5);
}

}  // namespace penstock::bench
