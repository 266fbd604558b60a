// Numbers through a pipeline: what runs in parallel, and how fast.
//
//   range -> map -> shuffle -> batch, with a function that takes about 20 us,
// first with one call at a time and then as Penstock runs it by default.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "penstock/penstock.h"

namespace ps = penstock;

namespace {

// Some arithmetic that cannot be optimised away: about 20 us.
double work(std::int64_t x) {
  double sum = static_cast<double>(x);
  for (int i = 0; i < 4000; ++i) sum = std::fma(sum, 0.999, 1.0);
  return sum;
}

ps::Dataset pipeline(std::int64_t calls) {
  return ps::Dataset::range(50'000)
      .map([](std::int64_t x) { return work(x); },
           {.num_parallel_calls = calls, .name = "work"})
      .shuffle({.buffer_size = 1'000, .seed = 7})
      .batch(256, {.drop_remainder = true});
}

struct Result {
  double seconds = 0;
  double sum = 0;
  std::int64_t elements = 0;
};

Result consume(ps::Iterator& it) {
  Result result;
  const auto start = std::chrono::steady_clock::now();
  while (const auto batch = it.next()) {
    for (const double v : (*batch)[0].as<double>()) result.sum += v;
    result.elements += (*batch)[0].num_elements();
  }
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return result;
}

}  // namespace

int main() {
  const ps::Dataset parallel = pipeline(ps::kAutotune);
  std::printf("The pipeline, and the plan it runs as:\n%s\n",
              parallel.explain().c_str());

  ps::Iterator one = pipeline(1).iterator();
  const Result serial = consume(one);
  ps::Iterator all = parallel.iterator();
  const Result result = consume(all);

  const ps::IteratorStats stats = all.stats();
  std::printf("%s\n", stats.to_string().c_str());
  std::printf("one call at a time: %7.0f elements/s\n",
              static_cast<double>(serial.elements) / serial.seconds);
  std::printf("default (AUTOTUNE): %7.0f elements/s, %.2fx on %d cores\n",
              static_cast<double>(result.elements) / result.seconds,
              serial.seconds / result.seconds, stats.cpu_budget);
  const bool same = serial.sum == result.sum;
  std::printf("the same elements in the same order: %s\n", same ? "yes" : "NO");
  return same ? 0 : 1;
}
