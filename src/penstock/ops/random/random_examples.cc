#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    random, {
                {.name = "seeded",
                 .make = [] { return Dataset::random(7); },
                 .limit = 100},
                {.name = "other values in each iteration",
                 .make = [] { return Dataset::random(7, true).take(50); }},
                {.name = "behind a filter",
                 .make =
                     [] {
                       return Dataset::random(1)
                           .filter([](std::int64_t x) { return x % 2 == 0; })
                           .batch(4)
                           .take(9);
                     }},
                {.name = "without a seed",
                 .make =
                     [] {
                       Options options;
                       options.seed = 3;
                       return Dataset::random().take(40).with_options(options);
                     }},
            });

}  // namespace
}  // namespace penstock::testing
