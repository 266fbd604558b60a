#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(with_options,
                  {
                      {.name = "in the middle",
                       .make =
                           [] {
                             return Dataset::range(6)
                                 .with_options({.cpu_budget = 1})
                                 .map([](std::int64_t x) { return x + 1; });
                           },
                       .model =
                           [] {
                             return scalars({1, 2, 3, 4, 5, 6});
                           }},
                      {.name = "twice",
                       .make =
                           [] {
                             return Dataset::range(20)
                                 .with_options({.max_block_rows = 2})
                                 .with_options({.fuse = false})
                                 .filter([](std::int64_t x) { return x > 15; });
                           },
                       .model =
                           [] {
                             return scalars({16, 17, 18, 19});
                           }},
                      {.name = "a seed",
                       .make =
                           [] {
                             return Dataset::range(30).shuffle(6).with_options(
                                 {.seed = 9});
                           }},
                      {.name = "any order",
                       .make =
                           [] {
                             return Dataset::range(60)
                                 .map([](std::int64_t x) { return x * 2; })
                                 .with_options({.deterministic = false});
                           },
                       .ordered = false},
                      {.name = "between sequencers",
                       .make =
                           [] {
                             return Dataset::range(20)
                                 .filter(
                                     [](std::int64_t x) { return x % 2 == 1; })
                                 .skip(1)
                                 .with_options({.cpu_budget = 2})
                                 .take(3);
                           },
                       .model =
                           [] {
                             return scalars({3, 5, 7});
                           }},
                  });

}  // namespace
}  // namespace penstock::testing
