// on_error is not a method: it stands where Options::on_error is inherited.
#include "tests/support/example.h"

namespace penstock::testing {
namespace {

StatusOr<std::int64_t> fails_on_thirds(std::int64_t x) {
  if (x % 3 == 2) return absl::DataLossError("a third");
  return x;
}

StatusOr<bool> odd_but_no_fives(std::int64_t x) {
  if (x % 5 == 0) return absl::DataLossError("a five");
  return x % 2 == 1;
}

PENSTOCK_EXAMPLES(
    on_error,
    {
        {.name = "skip",
         .make =
             [] {
               return Dataset::range(9)
                   .map(fails_on_thirds)
                   .with_options({.on_error = ErrorPolicy::skip()});
             },
         .model =
             [] {
               return scalars({0, 1, 3, 4, 6, 7});
             }},
        {.name = "skip before a take",
         .make =
             [] {
               return Dataset::range(20)
                   .with_options({.on_error = ErrorPolicy::skip()})
                   .map(fails_on_thirds)
                   .take(5);
             },
         .model =
             [] {
               return scalars({0, 1, 3, 4, 6});
             }},
        {.name = "skip with a limit for each stage",
         .make =
             [] {
               return Dataset::range(12)
                   .map(fails_on_thirds)
                   .filter(odd_but_no_fives)
                   .with_options({.on_error = ErrorPolicy::skip(2)});
             },
         .model =
             [] {
               // map skips 2 and 5 and raises 8 and 11; filter skips 0 and 10.
               std::vector<Element> out = scalars({1, 3, 7, 8, 9, 11});
               out[3] = out[5] = failed();
               return out;
             }},
        {.name = "replace",
         .make =
             [] {
               return Dataset::range(6)
                   .map(fails_on_thirds)
                   .with_options({.on_error = ErrorPolicy::replace(
                                      Tensor::scalar<std::int64_t>(-1))});
             },
         .model =
             [] {
               return scalars({0, 1, -1, 3, 4, -1});
             }},
        {.name = "replace below a shuffle and a batch",
         .make =
             [] {
               return Dataset::range(30)
                   .map(fails_on_thirds)
                   .shuffle(7, 3)
                   .batch(4)
                   .with_options({.on_error = ErrorPolicy::replace(
                                      Tensor::scalar<std::int64_t>(-1))});
             }},
        {.name = "skip below a global shuffle",
         .make =
             [] {
               return Dataset::range(30)
                   .map(fails_on_thirds)
                   .shuffle(kGlobal, 3)
                   .with_options({.on_error = ErrorPolicy::skip()});
             }},
        {.name = "skip in nested datasets",
         .make =
             [] {
               return Dataset::range(3)
                   .flat_map([](std::int64_t x) {
                     return Dataset::range(x, x + 4).map(fails_on_thirds);
                   })
                   .with_options({.on_error = ErrorPolicy::skip()});
             },
         .model =
             [] {
               return scalars({0, 1, 3, 1, 3, 4, 3, 4});
             }},
        {.name = "skip in a repeat",
         .make =
             [] {
               return Dataset::range(4)
                   .map(fails_on_thirds)
                   .repeat(3)
                   .with_options({.on_error = ErrorPolicy::skip(2)});
             },
         .model =
             [] {
               // Each repetition is a run of its own stages.
               return scalars({0, 1, 3, 0, 1, 3, 0, 1, 3});
             }},
    });

}  // namespace
}  // namespace penstock::testing
