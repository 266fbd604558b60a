// What an element costs: in batches, one by one, per map, per length.
#include <cmath>

#include "benchmarks/micro/bench.h"
#include "penstock/penstock.h"

namespace penstock::bench {
namespace {

constexpr std::int64_t kRows = 1024;

Dataset plus_one(std::int64_t n, int maps = 1) {
  Dataset ds = Dataset::range(n);
  for (int i = 0; i < maps; ++i) {
    ds = ds.map([](std::int64_t x) { return x + 1; });
  }
  return ds;
}

void add_up(const Dataset& ds) {
  Iterator it = ds.iterator();
  std::int64_t sum = 0;
  while (auto element = it.next()) {
    sum += (*element)[0].value<std::int64_t>();
  }
  keep(sum);
}

void bare_loop(std::int64_t n) {
  alignas(64) static std::int64_t batch[kRows];
  for (std::int64_t begin = 0; begin < n; begin += kRows) {
    for (std::int64_t i = 0; i < kRows; ++i) batch[i] = begin + i + 1;
    keep(batch);
  }
}

// Least squares through (x, y): the slope.
double slope(const std::vector<double>& x, const std::vector<double>& y) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i];
    sy += y[i];
    sxx += x[i] * x[i];
    sxy += x[i] * y[i];
  }
  const auto n = static_cast<double>(x.size());
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

}  // namespace

PENSTOCK_BENCH(1, batches) {
  const std::int64_t n = table.quick() ? 1 << 22 : 1 << 23;
  const Dataset ds = plus_one(n).batch(kRows);
  const auto t = interleave(table.quick() ? 3 : 51,
                            {[&] { return time_of([&] { bare_loop(n); }); },
                             [&] { return time_of([&] { add_up(ds); }); },
                             [&] { return cpu_of([&] { add_up(ds); }); }});
  const auto per = static_cast<double>(n);
  table.at_most("range -> map(x+1) -> batch(1024), per element",
                t[1].best() / per, "ns", 1);
  table.reference("  CPU time of all threads", t[2].best() / per, "ns");
  table.reference("  the same as a bare loop", t[0].best() / per, "ns");
  table.reference("  median ratio to the bare loop", median_ratio(t[1], t[0]),
                  "x");
}

PENSTOCK_BENCH(2, single_elements) {
  const std::int64_t n = table.quick() ? 1 << 18 : 1 << 21;
  const Dataset ds = plus_one(n);
  const auto t = interleave(table.quick() ? 3 : 51,
                            {[&] { return time_of([&] { bare_loop(n); }); },
                             [&] { return time_of([&] { add_up(ds); }); },
                             [&] { return cpu_of([&] { add_up(ds); }); }});
  const auto per = static_cast<double>(n);
  table.at_most("range -> map(x+1), one element per next()", t[1].best() / per,
                "ns", 40);
  table.reference("  CPU time of all threads", t[2].best() / per, "ns");
}

PENSTOCK_BENCH(3, map_chain) {
  // CPU time adds up; of the wall time the first maps take none, as they run
  // beside the hand-over to the consumer.
  const std::int64_t n = table.quick() ? 1 << 18 : 1 << 22;
  const std::vector<double> lengths = {1,  5,  10, 15, 20, 25,
                                       30, 35, 40, 45, 50};
  std::vector<std::function<double()>> runs;
  for (double maps : lengths) {
    const Dataset ds = plus_one(n, static_cast<int>(maps)).batch(kRows);
    runs.emplace_back([ds] { return cpu_of([&] { add_up(ds); }); });
  }
  const auto t = interleave(table.quick() ? 3 : 15, runs);
  std::vector<double> cost;
  for (const Samples& s : t) cost.push_back(s.best() / static_cast<double>(n));
  for (const std::size_t i : {0u, 5u, 10u}) {
    table.reference("  CPU per element of " +
                        std::to_string(static_cast<int>(lengths[i])) + " maps",
                    cost[i], "ns");
  }
  const auto half = [](const std::vector<double>& v, bool upper) {
    const auto middle = v.begin() + 5;  // 25 maps
    return upper ? std::vector<double>(middle, v.end())
                 : std::vector<double>(v.begin(), middle + 1);
  };
  table.at_most("one further map(x+1), CPU per element", slope(lengths, cost),
                "ns", 2);
  table.at_most("  slope of maps 25..50 over slope of maps 1..25",
                slope(half(lengths, true), half(cost, true)) /
                    slope(half(lengths, false), half(cost, false)),
                "x", 1.25);
}

PENSTOCK_BENCH(13, length) {
  // CPU time: the wall time of a run of seconds contains everybody else's work,
  // that of a run of a millisecond does not. Every turn takes all lengths up
  // and down again, the short ones many times: the machine's speed drifts.
  std::vector<std::int64_t> sizes = {1'000'000, 10'000'000};
  if (!table.quick()) {
    sizes.insert(sizes.end(), {100'000'000, 1'000'000'000});
  }
  const auto run = [](std::int64_t n) {
    const Dataset ds = plus_one(n).batch(kRows);
    const std::int64_t times = std::max<std::int64_t>(1, 50'000'000 / n);
    return [ds, times] {
      return cpu_of([&] {
               for (std::int64_t i = 0; i < times; ++i) add_up(ds);
             }) /
             static_cast<double>(times);
    };
  };
  // Long enough that the workers were woken: that is start-up, too.
  constexpr std::int64_t kStart = 64 * kRows;
  std::vector<std::function<double()>> runs;
  for (std::int64_t n : sizes) runs.emplace_back(run(n));
  for (std::size_t i = sizes.size(); i-- > 0;) runs.push_back(runs[i]);
  runs.emplace_back(run(kStart));
  const auto t = interleave(table.quick() ? 1 : 7, runs);
  const auto median = [&](std::size_t i) {
    return (t[i].median() + t[2 * sizes.size() - 1 - i].median()) / 2;
  };
  std::vector<double> cost;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto n = static_cast<double>(sizes[i]);
    cost.push_back((median(i) - t.back().median()) / (n - kStart));
    table.reference("  CPU per element of 10^" +
                        std::to_string(std::lround(std::log10(n))) +
                        ", start-up subtracted",
                    cost.back(), "ns");
  }
  const auto [low, high] = std::minmax_element(cost.begin(), cost.end());
  table.at_most("cost per element from 10^6 to 10^9, highest over lowest",
                *high / *low, "x", 1.1);
}

}  // namespace penstock::bench
