#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    unique,
    {
        {.name = "remainders",
         .make =
             [] {
               return Dataset::range(100)
                   .map([](std::int64_t x) { return x * 3 % 7; })
                   .unique();
             },
         .model =
             [] {
               return scalars({0, 3, 6, 2, 5, 1, 4});
             }},
        {.name = "behind a filter, of strings",
         .make =
             [] {
               return Dataset::range(40)
                   .filter([](std::int64_t x) { return x % 4 != 0; })
                   .map([](std::int64_t x) { return std::to_string(x % 9); })
                   .unique();
             }},
        {.name = "with an error",
         .make =
             [] {
               return Dataset::range(9)
                   .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x == 4) return absl::DataLossError("bad");
                     return x / 2;
                   })
                   .unique()
                   .ignore_errors();
             },
         .model =
             [] {
               return scalars({0, 1, 2, 3, 4});
             }},
        {.name = "of a repeated shuffle",
         .make =
             [] {
               return Dataset::range(20).shuffle(5, 1).repeat(3).unique();
             }},
    });

}  // namespace
}  // namespace penstock::testing
