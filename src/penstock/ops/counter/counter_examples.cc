#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    counter,
    {
        {.name = "from 0",
         .make = [] { return Dataset::counter(); },
         .limit = 100},
        {.name = "downwards",
         .make = [] { return Dataset::counter(5, -2).take(5); },
         .model =
             [] {
               return scalars({5, 3, 1, -1, -3});
             }},
        {.name = "standing still",
         .make = [] { return Dataset::counter(9, 0).take(3); },
         .model =
             [] {
               return scalars({9, 9, 9});
             }},
        {.name = "past the largest number",
         .make =
             [] {
               return Dataset::counter(std::numeric_limits<std::int64_t>::max())
                   .take(2);
             },
         .model =
             [] {
               return scalars({std::numeric_limits<std::int64_t>::max(),
                               std::numeric_limits<std::int64_t>::min()});
             }},
        {.name = "behind a filter and a shuffle",
         .make =
             [] {
               return Dataset::counter()
                   .filter([](std::int64_t x) { return x % 3 == 0; })
                   .shuffle(8, 1)
                   .take(30);
             }},
    });

}  // namespace
}  // namespace penstock::testing
