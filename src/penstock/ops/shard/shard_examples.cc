#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    shard,
    {
        {.name = "by index",
         .make = [] { return Dataset::range(10).shard(3, 1); },
         .model =
             [] {
               return scalars({1, 4, 7});
             }},
        {.name = "of a global shuffle",
         .make =
             [] { return Dataset::range(50).shuffle(kGlobal, 3).shard(4, 2); }},
        {.name = "behind a filter",
         .make =
             [] {
               return Dataset::range(40)
                   .filter([](std::int64_t x) { return x % 2 == 0; })
                   .shard(5, 4);
             },
         .model =
             [] {
               return scalars({8, 18, 28, 38});
             }},
        {.name = "behind a shuffle window",
         .make = [] { return Dataset::range(60).shuffle(8, 5).shard(3, 0); }},
        {.name = "more shards than elements",
         .make = [] { return Dataset::range(3).shard(8, 7); },
         .model = [] { return scalars({}); }},
    });

}  // namespace
}  // namespace penstock::testing
