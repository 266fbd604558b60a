#include "tests/support/example.h"

namespace penstock::testing {
namespace {

using I64 = std::int64_t;

std::vector<I64> repeated(I64 x) {
  return std::vector<I64>(static_cast<std::size_t>(x % 4), x);
}

// What repeated() gives for `xs`, as one ragged value.
Element model_batch(const std::vector<I64>& xs) {
  std::vector<I64> values;
  std::vector<I64> splits = {0};
  for (I64 x : xs) {
    values.insert(values.end(), static_cast<std::size_t>(x % 4), x);
    splits.push_back(static_cast<I64>(values.size()));
  }
  return Element::ragged(Tensor::from(values), {Tensor::from(splits)});
}

PENSTOCK_EXAMPLES(
    ragged_batch,
    {
        {.name = "rows of different length",
         .make = [] { return Dataset::range(7).map(repeated).ragged_batch(3); },
         .model =
             [] {
               return std::vector<Element>{model_batch({0, 1, 2}),
                                           model_batch({3, 4, 5}),
                                           model_batch({6})};
             }},
        {.name = "behind a filter, without the remainder",
         .make =
             [] {
               return Dataset::range(30)
                   .filter([](I64 x) { return x % 5 == 3; })
                   .map(repeated)
                   .ragged_batch(4, {.drop_remainder = true});
             },
         .model =
             [] {
               return std::vector<Element>{model_batch({3, 8, 13, 18})};
             }},
        {.name = "a batch of ragged batches",
         .make =
             [] {
               return Dataset::range(9).map(repeated).ragged_batch(2).batch(2);
             }},
        {.name = "with an element that fails",
         .make =
             [] {
               return Dataset::range(8)
                   .map([](I64 x) -> StatusOr<std::vector<I64>> {
                     if (x == 5) return absl::InternalError("five");
                     return repeated(x);
                   })
                   .ragged_batch(2);
             }},
    });

}  // namespace
}  // namespace penstock::testing
