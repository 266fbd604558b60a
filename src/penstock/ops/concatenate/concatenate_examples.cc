#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    concatenate,
    {
        {.name = "by index",
         .make =
             [] {
               return Dataset::range(3).concatenate(Dataset::range(8, 10));
             },
         .model =
             [] {
               return scalars({0, 1, 2, 8, 9});
             }},
        {.name = "in front of a global shuffle",
         .make =
             [] {
               return Dataset::range(20)
                   .concatenate(Dataset::range(100, 130))
                   .shuffle(kGlobal, 5);
             }},
        {.name = "behind a filter",
         .make =
             [] {
               const Dataset odd = Dataset::range(8).filter(
                   [](std::int64_t x) { return x % 2 == 1; });
               return odd.concatenate(Dataset::range(2)).concatenate(odd);
             },
         .model =
             [] {
               return scalars({1, 3, 5, 7, 0, 1, 1, 3, 5, 7});
             }},
        {.name = "with an error, repeated",
         .make =
             [] {
               return Dataset::range(3)
                   .concatenate(Dataset::range(3).map(
                       [](std::int64_t x) -> StatusOr<std::int64_t> {
                         if (x == 1) return absl::DataLossError("bad");
                         return x;
                       }))
                   .repeat(2)
                   .ignore_errors();
             },
         .model =
             [] {
               return scalars({0, 1, 2, 0, 2, 0, 1, 2, 0, 2});
             }},
        {.name = "nothing and something",
         .make =
             [] { return Dataset::range(0).concatenate(Dataset::range(2)); },
         .model =
             [] {
               return scalars({0, 1});
             }},
    });

}  // namespace
}  // namespace penstock::testing
