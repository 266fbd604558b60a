// Nested datasets: what opening a small one costs.
#include "benchmarks/micro/bench.h"
#include "penstock/penstock.h"

namespace penstock::bench {

PENSTOCK_BENCH(12, nested) {
  const std::int64_t n = table.quick() ? 2'000 : 50'000;
  const Dataset ds =
      Dataset::range(n)
          .flat_map([](std::int64_t x) { return Dataset::range(x, x + 3); })
          .batch(1024);
  const auto drain = [&] {
    Iterator it = ds.iterator();
    while (auto batch = it.next()) keep(*batch);
  };
  const auto t = interleave(
      table.quick() ? 3 : 11,
      {[&] { return time_of(drain); }, [&] { return cpu_of(drain); }});
  const auto per = static_cast<double>(n) * 1e3;
  table.at_most("flat_map to a 3-element range, per inner dataset",
                t[0].best() / per, "us", 1);
  table.reference("  CPU time of all threads", t[1].best() / per, "us");
}

}  // namespace penstock::bench
