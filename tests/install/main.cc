// The README's pipeline, built against the installed package: every batch is
// full, and together they hold distinct values of the source.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "penstock/penstock.h"

namespace ps = penstock;

int main() {
  constexpr std::int64_t kCount = 1'000'000;
  constexpr std::int64_t kBatch = 256;
  auto ds = ps::Dataset::range(kCount)
                .map([](std::int64_t x) { return x * 2 + 1; })
                .shuffle({.buffer_size = 10'000, .seed = 7})
                .batch(kBatch, {.drop_remainder = true});

  std::vector<bool> seen(kCount, false);
  std::int64_t batches = 0;
  bool in_order = true;
  std::int64_t previous = -1;
  for (const ps::Element& batch : ds) {
    std::int64_t size = 0;
    for (std::int64_t y : batch[0].as<std::int64_t>()) {
      ++size;
      if (y < 1 || y >= 2 * kCount || y % 2 == 0 ||
          seen[static_cast<std::size_t>(y / 2)]) {
        std::fprintf(stderr, "unexpected or repeated value %lld\n",
                     static_cast<long long>(y));
        return 1;
      }
      seen[static_cast<std::size_t>(y / 2)] = true;
      in_order = in_order && y > previous;
      previous = y;
    }
    if (size != kBatch) {
      std::fprintf(stderr, "batch of %lld\n", static_cast<long long>(size));
      return 1;
    }
    ++batches;
  }
  if (batches != kCount / kBatch || in_order) {
    std::fprintf(stderr, "%lld batches, %s\n", static_cast<long long>(batches),
                 in_order ? "not shuffled" : "shuffled");
    return 1;
  }
  std::printf("%lld batches\n", static_cast<long long>(batches));
  return 0;
}
