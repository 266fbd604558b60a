// Shuffles: memory of a window, memory, speed and uniformity of the global one.
#include <cmath>
#include <map>

#include "benchmarks/micro/bench.h"
#include "penstock/memory/buffer.h"
#include "penstock/penstock.h"

namespace penstock::bench {
namespace {

constexpr std::int64_t kWindow = 1'000'000;

// Peak growth of the resident memory while `ds` gives `n` elements.
double growth(const Dataset& ds, std::int64_t n) {
  {
    // Threads, their stacks and the first arenas are there before.
    Iterator warm = Dataset::range(100'000)
                        .filter([](std::int64_t) { return true; })
                        .shuffle(1'000, 1)
                        .iterator();
    while (warm.next()) {
    }
  }
  BufferPool::trim();
  reset_peak_rss();
  const std::int64_t before = rss_bytes();
  Iterator it = ds.iterator();
  for (std::int64_t i = 0; i < n; ++i) keep(*it.next());
  return static_cast<double>(peak_rss_bytes() - before);
}

Dataset positions(std::int64_t window) {
  return Dataset::range(4 * kWindow).shuffle(window, 7);
}
Dataset payload(std::int64_t window) {
  return Dataset::range(4 * kWindow)
      .filter([](std::int64_t) { return true; })
      .shuffle(window, 7);
}

Dataset global(std::int64_t n) {
  return Dataset::range(n).shuffle(kGlobal, 7).batch(1024);
}

// How far counts are from `expected` each: chi-square as a normal deviate.
double deviate(const std::vector<std::int64_t>& counts, double expected) {
  double chi = 0;
  for (std::int64_t c : counts) {
    const double d = static_cast<double>(c) - expected;
    chi += d * d / expected;
  }
  const auto k = static_cast<double>(counts.size() - 1);
  // Wilson and Hilferty.
  return (std::cbrt(chi / k) - (1 - 2 / (9 * k))) / std::sqrt(2 / (9 * k));
}

// All orders of n elements over many seeds.
double orders_deviate(std::int64_t n, int seeds) {
  std::map<std::vector<std::int64_t>, std::int64_t> seen;
  for (int seed = 0; seed < seeds; ++seed) {
    const Dataset ds =
        Dataset::range(n).shuffle(kGlobal, static_cast<std::uint64_t>(seed));
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < n; ++i) {
      order.push_back(ds.at(i)[0].value<std::int64_t>());
    }
    ++seen[order];
  }
  double orders = 1;
  for (std::int64_t i = 2; i <= n; ++i) orders *= static_cast<double>(i);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(orders));
  std::size_t k = 0;
  for (const auto& [order, c] : seen) counts[k++] = c;
  return deviate(counts, seeds / orders);
}

// Where elements of one long shuffle go: (place, value) in bins x bins cells,
// and the bins of differences of neighbours.
std::pair<double, double> places_deviate(std::int64_t n, std::int64_t take) {
  constexpr std::int64_t kBins = 64;
  std::vector<std::int64_t> cells(kBins * kBins);
  std::vector<std::int64_t> steps(kBins);
  Iterator it = Dataset::range(n).shuffle(kGlobal, 11).batch(1024).iterator();
  std::int64_t place = 0;
  std::int64_t last = 0;
  while (place < take) {
    const auto batch = it.next();
    for (std::int64_t value : (*batch)[0].as<std::int64_t>()) {
      if (place >= take) break;
      ++cells[static_cast<std::size_t>((place * kBins / take) * kBins +
                                       value * kBins / n)];
      ++steps[static_cast<std::size_t>(((value - last + n) % n) * kBins / n)];
      last = value;
      ++place;
    }
  }
  const auto total = static_cast<double>(take);
  return {deviate(cells, total / (kBins * kBins)),
          deviate(steps, total / kBins)};
}

}  // namespace

PENSTOCK_PROBE(window_positions_small) {
  return growth(positions(1'000), 2 * kWindow);
}
PENSTOCK_PROBE(window_positions) {
  return growth(positions(kWindow), 2 * kWindow);
}
PENSTOCK_PROBE(window_payload_small) {
  return growth(payload(1'000), 2 * kWindow);
}
PENSTOCK_PROBE(window_payload) { return growth(payload(kWindow), 2 * kWindow); }
// What lies ready is bounded: how far threads run ahead of the consumer varies
// by megabytes, and is no matter of the length. Not shorter, or they would come
// to its end.
double global_growth(std::int64_t n) {
  return growth(global(n).prefetch(64), 900);
}
PENSTOCK_PROBE(global_short) { return global_growth(10'000'000); }
PENSTOCK_PROBE(global_billion) { return global_growth(1'000'000'000); }

PENSTOCK_BENCH(10, shuffle_window) {
  // A small window shows what the pipeline holds besides. How far threads run
  // ahead varies by a few blocks.
  const auto bytes = [&](const std::string& probe, double own) {
    const auto held = interleave(table.quick() ? 1 : 5,
                                 {[&] { return run_probe(probe); },
                                  [&] { return run_probe(probe + "_small"); }});
    return (held[0].median() - held[1].median()) / kWindow - own;
  };
  table.at_most("shuffle window of 10^6 over a filter, above the 8 B payload",
                bytes("window_payload", sizeof(std::int64_t)), "B", 16);
  table.at_most("shuffle window of 10^6 over a range, no payload held",
                bytes("window_positions", 0), "B", 16);
}

PENSTOCK_BENCH(11, global_shuffle) {
  const std::int64_t n = 1'000'000'000;
  const std::int64_t prefix = table.quick() ? 1'000'000 : 10'000'000;
  const auto t = interleave(table.quick() ? 1 : 7, {[&] {
                              return time_of([&] {
                                Iterator it = global(n).iterator();
                                for (std::int64_t i = 0; i < prefix; i += 1024)
                                  keep(*it.next());
                              });
                            }});
  table.at_most("global shuffle of 10^9, per element of a prefix of 10^7",
                t[0].best() / static_cast<double>(prefix), "ns", 15);
  const auto memory = interleave(table.quick() ? 1 : 9,
                                 {[] { return run_probe("global_short"); },
                                  [] { return run_probe("global_billion"); }});
  table.at_most("  memory for 10^9 more than for 10^7 elements",
                (memory[1].median() - memory[0].median()) / 1024, "KiB", 1024);
  double worst = 0;
  for (std::int64_t length : {2, 3, 4, 5}) {
    worst = std::max(worst, std::abs(orders_deviate(
                                length, table.quick() ? 1'200 : 24'000)));
  }
  table.at_most("  all orders of 2..5 elements alike, worst chi-square", worst,
                "sigma", 4);
  worst = 0;
  for (std::int64_t length : {1'000'000, 1'000'003, 1'000'000'000}) {
    const auto [places, steps] = places_deviate(length, 1'000'000);
    worst = std::max({worst, std::abs(places), std::abs(steps)});
  }
  table.at_most("  places and steps at 10^6 and 10^9, worst chi-square", worst,
                "sigma", 4);
}

}  // namespace penstock::bench
