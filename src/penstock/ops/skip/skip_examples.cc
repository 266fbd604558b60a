#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    skip,
    {
        {.name = "some",
         .make = [] { return Dataset::range(6).skip(4); },
         .model =
             [] {
               return scalars({4, 5});
             }},
        {.name = "more than there are",
         .make = [] { return Dataset::range(3).skip(10); },
         .model = [] { return scalars({}); }},
        {.name = "nothing",
         .make = [] { return Dataset::range(3).skip(0); },
         .model =
             [] {
               return scalars({0, 1, 2});
             }},
        {.name = "everything",
         .make = [] { return Dataset::range(3).skip(-1); },
         .model = [] { return scalars({}); }},
        {.name = "behind a filter",
         .make =
             [] {
               return Dataset::range(40)
                   .filter([](std::int64_t x) { return x % 3 == 0; })
                   .skip(9);
             },
         .model =
             [] {
               return scalars({27, 30, 33, 36, 39});
             }},
        {.name = "between takes",
         .make = [] { return Dataset::range(100).take(50).skip(20).take(10); },
         .model =
             [] {
               return scalars({20, 21, 22, 23, 24, 25, 26, 27, 28, 29});
             }},
        {.name = "an error too",
         .make =
             [] {
               return Dataset::range(6)
                   .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x == 1 || x == 4) return absl::DataLossError("no");
                     return x;
                   })
                   .filter([](std::int64_t x) { return x != 0; })
                   .skip(2);
             },
         .model =
             [] {
               std::vector<Element> out = scalars({3, 4, 5});
               out[1] = failed();
               return out;
             }},
    });

}  // namespace
}  // namespace penstock::testing
