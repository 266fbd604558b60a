// What the always-on counters cost: clock reads, counted, times their price.
//
// A scheduler that stands in front of the executor hands the engine a clock
// that counts. The additions to counters are not measured; there are a dozen
// per block, a few nanoseconds against a block's tens of microseconds.
#include <atomic>

#include "benchmarks/micro/bench.h"
#include "penstock/penstock.h"
#include "tests/support/forwarding_scheduler.h"

namespace penstock::bench {
namespace {

class CountingClock final : public Clock {
 public:
  std::int64_t now() const override {
    reads.fetch_add(1, std::memory_order_relaxed);
    return Clock::real().now();
  }
  std::int64_t thread_cpu() const override {
    cpu_reads.fetch_add(1, std::memory_order_relaxed);
    return Clock::real().thread_cpu();
  }
  mutable std::atomic<std::int64_t> reads{0};
  mutable std::atomic<std::int64_t> cpu_reads{0};
};

class CountingScheduler final : public ForwardingScheduler {
 public:
  const Clock& clock() const override { return counting; }

  CountingClock counting;
};

// Nanoseconds of one clock read.
double price(std::int64_t (Clock::*read)() const) {
  constexpr int kReads = 10'000;
  Samples t;
  for (int i = 0; i < 21; ++i) {
    t.add(time_of([&] {
            for (int k = 0; k < kReads; ++k) keep((Clock::real().*read)());
          }) /
          kReads);
  }
  return t.best();
}

// The share of the CPU time of `ds` that goes into clock reads, in percent.
double clock_share(const Dataset& ds) {
  const double now_price = price(&Clock::now);
  const double cpu_price = price(&Clock::thread_cpu);
  Samples shares;
  for (int i = 0; i < 5; ++i) {
    auto& scheduler = ForwardingScheduler::lasting<CountingScheduler>();
    const double total = cpu_of([&] {
      Iterator it = ds.iterator_on(scheduler);
      while (auto element = it.next()) keep(*element);
    });
    const double spent =
        static_cast<double>(scheduler.counting.reads.load()) * now_price +
        static_cast<double>(scheduler.counting.cpu_reads.load()) * cpu_price;
    shares.add(100 * spent / total);
  }
  return shares.median();
}

}  // namespace

PENSTOCK_BENCH(15, counters) {
  const std::int64_t n = table.quick() ? 1 << 21 : 1 << 24;
  const auto plus_one = [](std::int64_t x) { return x + 1; };
  const Dataset single = Dataset::range(n / 8).map(plus_one);
  const Dataset batches = Dataset::range(n).map(plus_one).batch(1024);
  const Dataset calls = Dataset::range(2'000).map([](std::int64_t x) {
    spin(100'000);
    return x;
  });
  const double a = clock_share(batches);
  const double b = clock_share(single);
  const double c = clock_share(calls);
  table.at_most("clock reads, share of the worst of the next three",
                std::max({a, b, c}), "%", 0.5);
  table.reference("  of range -> map(x+1) -> batch(1024)", a, "%");
  table.reference("  of the same, one element per next()", b, "%");
  table.reference("  of a map of 100 us calls", c, "%");
  table.reference("  one clock read", price(&Clock::now), "ns");
}

}  // namespace penstock::bench
