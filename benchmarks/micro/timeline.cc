// What a full trace costs: the same pipelines with and without one, in turns.
#include "benchmarks/micro/bench.h"
#include "penstock/penstock.h"

namespace penstock::bench {
namespace {

// Nanoseconds of one pass over `ds`; writing the trace is not part of it.
double pass(const Dataset& ds, bool traced) {
  Iterator it = ds.iterator();
  if (traced) it.start_trace();
  const double ns = time_of([&] {
    while (auto element = it.next()) keep(*element);
  });
  if (traced) keep(it.stop_trace());
  return ns;
}

// Percent that a trace adds to a pass over `ds`.
double cost(const Dataset& ds, int repeats) {
  pass(ds, true);
  const std::vector<Samples> t = interleave(
      repeats,
      {[&] { return pass(ds, false); }, [&] { return pass(ds, true); }});
  return 100 * (median_ratio(t[1], t[0]) - 1);
}

}  // namespace

PENSTOCK_BENCH(16, timeline) {
  const std::int64_t n = table.quick() ? 1 << 21 : 1 << 25;
  const int repeats = table.quick() ? 3 : 31;
  const auto plus_one = [](std::int64_t x) { return x + 1; };
  const Dataset batches = Dataset::range(n).map(plus_one).batch(1024);
  const Dataset single = Dataset::range(n / 16).map(plus_one);
  const Dataset shuffled =
      Dataset::range(n / 32)
          .filter([](std::int64_t x) { return x % 3 != 0; })
          .shuffle(1000, 3)
          .batch(64);
  const Dataset calls = Dataset::range(2'000).map([](std::int64_t x) {
    spin(100'000);
    return x;
  });
  const double a = cost(batches, repeats);
  const double b = cost(single, repeats);
  const double c = cost(shuffled, repeats);
  const double d = cost(calls, repeats);
  table.at_most("a full trace, the worst of the next four",
                std::max({a, b, c, d}), "%", 5);
  table.reference("  range -> map(x+1) -> batch(1024)", a, "%");
  table.reference("  the same, one element per next()", b, "%");
  table.reference("  filter -> shuffle(1000) -> batch(64)", c, "%");
  table.reference("  a map of 100 us calls", d, "%");
}

}  // namespace penstock::bench
