#include "tests/support/example.h"

namespace penstock::testing {
namespace {

std::int64_t doubled(std::int64_t x) { return 2 * x; }

PENSTOCK_EXAMPLES(
    prefetch,
    {
        {.name = "nothing ahead",
         .make = [] { return Dataset::range(6).map(doubled).prefetch(0); },
         .model =
             [] {
               return scalars({0, 2, 4, 6, 8, 10});
             }},
        {.name = "a few ahead",
         .make = [] { return Dataset::range(6).map(doubled).prefetch(3); },
         .model =
             [] {
               return scalars({0, 2, 4, 6, 8, 10});
             }},
        {.name = "as the engine thinks",
         .make = [] { return Dataset::range(6).map(doubled).prefetch(); },
         .model =
             [] {
               return scalars({0, 2, 4, 6, 8, 10});
             }},
        {.name = "of nothing",
         .make = [] { return Dataset::range(0).prefetch(2); },
         .model = [] { return scalars({}); }},
        {.name = "in the middle",
         .make =
             [] {
               return Dataset::range(40)
                   .filter([](std::int64_t x) { return x % 4 == 0; })
                   .prefetch(2)
                   .map(doubled)
                   .batch(3);
             },
         .model =
             [] {
               return std::vector<Element>{
                   Tensor::from<std::int64_t>({0, 8, 16}),
                   Tensor::from<std::int64_t>({24, 32, 40}),
                   Tensor::from<std::int64_t>({48, 56, 64}),
                   Tensor::from<std::int64_t>({72})};
             }},
        {.name = "behind a shuffle and a batch",
         .make =
             [] {
               return Dataset::range(60).shuffle(9, 5).batch(4).prefetch(1);
             }},
        {.name = "twice",
         .make =
             [] {
               return Dataset::range(30)
                   .map(doubled)
                   .prefetch(1)
                   .map(doubled)
                   .prefetch(0)
                   .take(20);
             },
         .model =
             [] {
               std::vector<std::int64_t> out;
               for (std::int64_t x = 0; x < 20; ++x) out.push_back(4 * x);
               return scalars(out);
             }},
        {.name = "of errors",
         .make =
             [] {
               return Dataset::range(4)
                   .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x == 2) return absl::DataLossError("two");
                     return x;
                   })
                   .prefetch(1);
             },
         .model =
             [] {
               std::vector<Element> out = scalars({0, 1, 2, 3});
               out[2] = failed();
               return out;
             }},
    });

}  // namespace
}  // namespace penstock::testing
