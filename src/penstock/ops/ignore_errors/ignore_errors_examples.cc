#include "tests/support/example.h"

namespace penstock::testing {
namespace {

StatusOr<std::int64_t> no_thirds(std::int64_t x) {
  if (x % 3 == 2) return absl::DataLossError("a third");
  return x;
}

PENSTOCK_EXAMPLES(
    ignore_errors,
    {
        {.name = "some",
         .make =
             [] { return Dataset::range(9).map(no_thirds).ignore_errors(); },
         .model =
             [] {
               return scalars({0, 1, 3, 4, 6, 7});
             }},
        {.name = "up to a limit",
         .make =
             [] { return Dataset::range(9).map(no_thirds).ignore_errors(2); },
         .model =
             [] {
               std::vector<Element> out = scalars({0, 1, 3, 4, 6, 7, 8});
               out[6] = failed();
               return out;
             }},
        {.name = "limit zero",
         .make =
             [] { return Dataset::range(4).map(no_thirds).ignore_errors(0); },
         .model =
             [] {
               std::vector<Element> out = scalars({0, 1, 2, 3});
               out[2] = failed();
               return out;
             }},
        {.name = "none to ignore",
         .make = [] { return Dataset::range(4).ignore_errors(); },
         .model =
             [] {
               return scalars({0, 1, 2, 3});
             }},
        {.name = "nothing but errors",
         .make =
             [] {
               return Dataset::range(20)
                   .map([](std::int64_t) -> StatusOr<std::int64_t> {
                     return absl::DataLossError("all");
                   })
                   .ignore_errors();
             },
         .model = [] { return scalars({}); }},
        {.name = "of nothing",
         .make = [] { return Dataset::range(0).ignore_errors(); },
         .model = [] { return scalars({}); }},
        {.name = "in front of a batch",
         .make =
             [] {
               return Dataset::range(9).map(no_thirds).ignore_errors().batch(4);
             },
         .model =
             [] {
               return std::vector<Element>{
                   Tensor::from<std::int64_t>({0, 1, 3, 4}),
                   Tensor::from<std::int64_t>({6, 7})};
             }},
        {.name = "of failed batches",
         .make =
             [] {
               return Dataset::range(9)
                   .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x == 4) return absl::DataLossError("four");
                     return x;
                   })
                   .batch(3)
                   .ignore_errors();
             },
         .model =
             [] {
               return std::vector<Element>{
                   Tensor::from<std::int64_t>({0, 1, 2}),
                   Tensor::from<std::int64_t>({6, 7, 8})};
             }},
        {.name = "behind a shuffle",
         .make =
             [] {
               return Dataset::range(60)
                   .map(no_thirds)
                   .shuffle(9, 5)
                   .ignore_errors(7);
             }},
    });

}  // namespace
}  // namespace penstock::testing
