// The size of saved states and what restoring them costs.
#include <atomic>
#include <memory>

#include "benchmarks/micro/bench.h"
#include "penstock/penstock.h"

namespace penstock::bench {
namespace {

Dataset indexed() {
  return Dataset::range(100'000'000)
      .shuffle(kGlobal, 7)
      .map([](std::int64_t x) { return x + 1; })
      .batch(64)
      .repeat(3);
}

struct Reads {
  std::atomic<std::int64_t> lowest{std::numeric_limits<std::int64_t>::max()};
};

Dataset windowed(std::int64_t window, const std::shared_ptr<Reads>& reads) {
  return Dataset::range(100'000'000)
      .filter([reads](std::int64_t x) {
        std::int64_t low = reads->lowest.load(std::memory_order_relaxed);
        while (x < low && !reads->lowest.compare_exchange_weak(low, x)) {
        }
        return true;
      })
      .shuffle(window, 7);
}

}  // namespace

PENSTOCK_BENCH(14, state) {
  {
    const Dataset ds = indexed();
    Iterator it = ds.iterator();
    for (int i = 0; i < 10'000; ++i) keep(*it.next());
    const std::string state = it.state_dict();
    table.at_most("state of an indexed chain",
                  static_cast<double>(state.size()), "B", 4096);
    Samples t;
    for (int i = 0; i < (table.quick() ? 5 : 101); ++i) {
      t.add(time_of([&] { keep(*ds.iterator(state).next()); }));
    }
    table.at_most("  restored -> first element, median", t.median() / 1e6, "ms",
                  10);
  }
  const std::int64_t window = table.quick() ? 10'000 : 100'000;
  double largest = 0;
  double most = 0;
  for (std::int64_t windows = 1; windows <= 12; ++windows) {
    auto reads = std::make_shared<Reads>();
    const Dataset ds = windowed(window, reads);
    const std::int64_t taken = windows * window + window / 3;
    std::string state;
    {
      Iterator it = ds.iterator();
      for (std::int64_t i = 0; i < taken; ++i) keep(*it.next());
      state = it.state_dict();
    }
    largest = std::max(largest, static_cast<double>(state.size()));
    reads->lowest = std::numeric_limits<std::int64_t>::max();
    keep(*ds.iterator(state).next());
    // The window stood at [.., taken + window) of the input.
    most = std::max(most,
                    static_cast<double>(taken + window - reads->lowest.load()) /
                        static_cast<double>(window));
  }
  table.at_most("state of a windowed chain, per window entry",
                largest / static_cast<double>(window), "B", 16);
  table.at_most("  windows of input read again after a restore, at most", most,
                "windows", 5);
}

}  // namespace penstock::bench
