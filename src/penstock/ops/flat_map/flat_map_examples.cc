#include "tests/support/example.h"

namespace penstock::testing {
namespace {

// x copies of 10 * x, for x = 0 .. n - 1.
std::vector<std::int64_t> copies(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t x = 0; x < n; ++x) {
    for (std::int64_t i = 0; i < x; ++i) out.push_back(10 * x + i);
  }
  return out;
}

Dataset small(std::int64_t x) { return Dataset::range(10 * x, 11 * x); }

// Not indexed, so it is opened as an input of its own.
Dataset streamed(std::int64_t x) {
  return Dataset::range(10 * x, 11 * x).filter([](std::int64_t) {
    return true;
  });
}

PENSTOCK_EXAMPLES(
    flat_map,
    {
        {"small datasets, the first one empty",
         [] { return Dataset::range(8).flat_map(small); },
         [] { return scalars(copies(8)); }},
        {"behind a filter, with datasets that are opened",
         [] {
           return Dataset::range(8)
               .filter([](std::int64_t) { return true; })
               .flat_map(streamed);
         },
         [] { return scalars(copies(8)); }},
        {"small and opened ones by turns",
         [] {
           return Dataset::range(9).flat_map([](std::int64_t x) {
             return x % 2 == 0 ? small(x) : streamed(x);
           });
         },
         [] { return scalars(copies(9)); }},
        {"an element whose function throws",
         [] {
           return Dataset::range(6).flat_map([](std::int64_t x) {
             if (x == 3) throw std::runtime_error("no third");
             return small(x);
           });
         }},
        {"errors inside an opened dataset",
         [] {
           return Dataset::range(4).flat_map([](std::int64_t x) {
             return Dataset::range(3).map([x](std::int64_t y) {
               if (x == 2 && y == 1) throw std::runtime_error("bad");
               return 10 * x + y;
             });
           });
         }},
        {"shuffled nested datasets, each in its own order",
         [] {
           return Dataset::range(5).flat_map([](std::int64_t x) {
             return Dataset::range(10 * x, 10 * x + 6).shuffle(4, 7);
           });
         }},
        {"two levels deep, over an endless input",
         [] {
           return Dataset::range(3).repeat().flat_map([](std::int64_t x) {
             return Dataset::range(x + 1).flat_map(
                 [x](std::int64_t y) { return small(x + y); });
           });
         },
         nullptr, 60},
    });

}  // namespace
}  // namespace penstock::testing
