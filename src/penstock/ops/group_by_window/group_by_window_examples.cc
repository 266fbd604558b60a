#include "tests/support/example.h"

namespace penstock::testing {
namespace {

Element batch_of(std::vector<std::int64_t> values) {
  return Element(Tensor::from(values));
}

PENSTOCK_EXAMPLES(
    group_by_window,
    {
        {"batches of equal parity",
         [] {
           return Dataset::range(10).group_by_window(
               [](std::int64_t x) { return x % 2; },
               [](std::int64_t, const Dataset& window) {
                 return window.batch(3);
               },
               {.window_size = 3});
         },
         [] {
           return std::vector<Element>{batch_of({0, 2, 4}), batch_of({1, 3, 5}),
                                       batch_of({6, 8}), batch_of({7, 9})};
         }},
        {"windows read twice, behind a filter",
         [] {
           return Dataset::range(12)
               .filter([](std::int64_t x) { return x != 5; })
               .group_by_window([](std::int64_t x) { return -(x % 3); },
                                [](std::int64_t, const Dataset& window) {
                                  return window.take(1)
                                      .filter([](std::int64_t) { return true; })
                                      .repeat(2);
                                },
                                {.window_size = 2});
         },
         [] {
           return scalars({0, 0, 1, 1, 2, 2, 6, 6, 7, 7, 11, 11});
         }},
        {"a size for each key, and an error in the input",
         [] {
           return Dataset::range(20)
               .map([](std::int64_t x) {
                 if (x == 6) throw std::runtime_error("bad");
                 return x;
               })
               .group_by_window([](std::int64_t x) { return x % 4; },
                                [](std::int64_t, const Dataset& window) {
                                  return window.batch(5);
                                },
                                {.window_size_func = [](std::int64_t key) {
                                  return key + 1;
                                }});
         }},
        {"shuffled windows",
         [] {
           return Dataset::range(30).group_by_window(
               [](std::int64_t x) { return x % 2; },
               [](std::int64_t, const Dataset& window) {
                 return window.shuffle(5, 3);
               },
               {.window_size = 5});
         }},
    });

}  // namespace
}  // namespace penstock::testing
