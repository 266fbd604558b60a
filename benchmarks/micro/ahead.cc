// What prefetch(n) costs, and what it lets run side by side. Results are
// compared with those of the same pipeline without it before they are timed.
#include <chrono>
#include <limits>
#include <thread>

#include "benchmarks/micro/bench.h"
#include "penstock/penstock.h"

namespace penstock::bench {
namespace {

std::vector<std::int64_t> values(const Dataset& ds) {
  std::vector<std::int64_t> out;
  for (const Element& batch : ds) {
    const auto rows = batch[0].as<std::int64_t>();
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

}  // namespace

PENSTOCK_BENCH(9, ahead) {
  const std::int64_t batches = table.quick() ? 200 : 5'000;
  const Dataset cheap = Dataset::range(batches * 1024)
                            .map([](std::int64_t x) { return x + 1; })
                            .batch(1024);
  const Dataset sleeps =
      Dataset::range(table.quick() ? 20 : 100)
          .map([](std::int64_t x) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return x;
          })
          .batch(2);
  const double unequal = std::numeric_limits<double>::quiet_NaN();
  const auto rows = [&](const Dataset& ds, const std::string& name,
                        const std::string& unit, double scale) {
    std::vector<std::function<double()>> runs;
    const std::vector<std::int64_t> ahead = {-1, 0, 2, 8, 32};
    std::vector<bool> equal;
    for (const std::int64_t n : ahead) {
      const Dataset bounded = n < 0 ? ds : ds.prefetch(n);
      equal.push_back(values(bounded) == values(ds));
      runs.emplace_back([bounded] { return time_of([&] { drain(bounded); }); });
    }
    const auto t = interleave(table.quick() ? 1 : 7, runs);
    for (std::size_t i = 0; i < ahead.size(); ++i) {
      table.reference(
          i == 0 ? name : "  behind prefetch(" + std::to_string(ahead[i]) + ")",
          equal[i] ? t[i].median() / scale : unequal, unit);
    }
  };
  rows(cheap, "range -> map(x+1) -> batch(1024), per batch", "us",
       static_cast<double>(batches) * 1e3);
  rows(sleeps, "calls that sleep 20 ms, in batches of 2", "s", 1e9);
}

}  // namespace penstock::bench
