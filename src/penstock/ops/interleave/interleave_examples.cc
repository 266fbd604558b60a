#include "tests/support/example.h"
#include "tests/support/interleaved.h"

namespace penstock::testing {
namespace {

// Element x becomes (7 * x) % 5 numbers from 100 * x on.
std::vector<std::vector<std::int64_t>> lists(std::int64_t n) {
  std::vector<std::vector<std::int64_t>> out;
  for (std::int64_t x = 0; x < n; ++x) {
    out.emplace_back();
    for (std::int64_t i = 0; i < 7 * x % 5; ++i) {
      out.back().push_back(100 * x + i);
    }
  }
  return out;
}

Dataset interleave_small(std::int64_t x) {
  return Dataset::range(100 * x, 100 * x + 7 * x % 5);
}
Dataset interleave_streamed(std::int64_t x) {
  return interleave_small(x).filter([](std::int64_t) { return true; });
}

PENSTOCK_EXAMPLES(
    interleave,
    {
        {"small datasets of different lengths",
         [] {
           return Dataset::range(20).interleave(interleave_small,
                                                {.cycle_length = 3});
         },
         [] { return scalars(interleaved(lists(20), 3, 1)); }},
        {"blocks of two from opened datasets behind a filter",
         [] {
           return Dataset::range(12)
               .filter([](std::int64_t) { return true; })
               .interleave(interleave_streamed,
                           {.cycle_length = 4, .block_length = 2});
         },
         [] { return scalars(interleaved(lists(12), 4, 2)); }},
        {"the default cycle, small and opened ones mixed",
         [] {
           return Dataset::range(30).interleave([](std::int64_t x) {
             return x % 3 == 0 ? interleave_streamed(x) : interleave_small(x);
           });
         },
         [] { return scalars(interleaved(lists(30), 16, 1)); }},
        {"an element whose function throws, and a bad inner element",
         [] {
           return Dataset::range(7).interleave(
               [](std::int64_t x) {
                 if (x == 2) throw std::runtime_error("no second");
                 return Dataset::range(3).map([x](std::int64_t y) {
                   if (x == 4 && y == 1) throw std::runtime_error("bad");
                   return 10 * x + y;
                 });
               },
               {.cycle_length = 3});
         }},
        {"endless datasets",
         [] {
           return Dataset::range(5).interleave(
               [](std::int64_t x) { return Dataset::range(x, x + 1).repeat(); },
               {.cycle_length = 2, .block_length = 3});
         },
         nullptr, 50},
        {"in any order",
         [] {
           return Dataset::range(9).interleave(
               [](std::int64_t x) {
                 return x % 2 == 0 ? interleave_streamed(x)
                                   : interleave_small(x);
               },
               {.cycle_length = 3, .deterministic = false});
         },
         nullptr, 200, false},
        {"in any order, then a shuffle",
         [] {
           return Dataset::range(14)
               .interleave(
                   [](std::int64_t x) {
                     return x % 2 == 0 ? interleave_streamed(x)
                                       : interleave_small(x);
                   },
                   {.cycle_length = 3, .deterministic = false})
               .shuffle(6, 5);
         },
         nullptr, 200, false},
        {"in any order by the options, in blocks",
         [] {
           return Dataset::range(14)
               .interleave(interleave_streamed,
                           {.cycle_length = 4, .block_length = 2})
               .with_options({.deterministic = false});
         },
         nullptr, 200, false},
        {"with a width",
         [] {
           return Dataset::range(12).interleave(
               interleave_streamed,
               {.cycle_length = 5, .num_parallel_calls = 2});
         },
         [] { return scalars(interleaved(lists(12), 5, 1)); }},
    });

}  // namespace
}  // namespace penstock::testing
