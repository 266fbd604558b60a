#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    take_while,
    {
        {.name = "ends at the first false",
         .make =
             [] {
               return Dataset::range(20).take_while(
                   [](std::int64_t x) { return x % 5 != 4; });
             },
         .model =
             [] {
               return scalars({0, 1, 2, 3});
             }},
        {.name = "behind a filter, in front of a batch",
         .make =
             [] {
               return Dataset::range(1000)
                   .filter([](std::int64_t x) { return x % 3 == 0; })
                   .take_while([](std::int64_t x) { return x < 100; })
                   .batch(4);
             }},
        {.name = "an error does not end it",
         .make =
             [] {
               return Dataset::range(10)
                   .take_while([](std::int64_t x) -> StatusOr<bool> {
                     if (x == 2) return absl::DataLossError("bad");
                     return x < 5;
                   })
                   .ignore_errors();
             },
         .model =
             [] {
               return scalars({0, 1, 3, 4});
             }},
        {.name = "of an endless dataset",
         .make =
             [] {
               return Dataset::range(7).repeat().enumerate().take_while(
                   [](std::int64_t i, std::int64_t) { return i < 30; });
             }},
        {.name = "nothing",
         .make =
             [] {
               return Dataset::range(5).take_while(
                   [](std::int64_t) { return false; });
             },
         .model = [] { return scalars({}); }},
    });

}  // namespace
}  // namespace penstock::testing
