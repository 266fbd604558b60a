#include "tests/support/example.h"

namespace penstock::testing {
namespace {

// x + 1 times x.
std::vector<std::int64_t> growing(std::int64_t x) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(x) + 1, x);
}

// `rows` padded with `pad` to `width` columns.
Element padded(const std::vector<std::int64_t>& rows, std::int64_t width,
               std::int64_t pad) {
  std::vector<std::int64_t> out;
  for (std::int64_t x : rows) {
    for (std::int64_t i = 0; i < width; ++i) out.push_back(i <= x ? x : pad);
  }
  return Tensor::from<std::int64_t>(
      out, Shape{static_cast<std::int64_t>(rows.size()), width});
}

PENSTOCK_EXAMPLES(
    padded_batch,
    {
        {.name = "to the longest of the batch",
         .make = [] { return Dataset::range(7).map(growing).padded_batch(3); },
         .model =
             [] {
               return std::vector<Element>{padded({0, 1, 2}, 3, 0),
                                           padded({3, 4, 5}, 6, 0),
                                           padded({6}, 7, 0)};
             }},
        {.name = "to a given shape, without the remainder",
         .make =
             [] {
               return Dataset::range(5).map(growing).padded_batch(
                   2, {.padded_shapes = {PartialShape{6}},
                       .padding_values = {Tensor::scalar<std::int64_t>(-1)},
                       .drop_remainder = true});
             },
         .model =
             [] {
               return std::vector<Element>{padded({0, 1}, 6, -1),
                                           padded({2, 3}, 6, -1)};
             }},
        {.name = "behind a filter",
         .make =
             [] {
               return Dataset::range(20)
                   .filter([](std::int64_t x) { return x % 5 == 1; })
                   .map(growing)
                   .padded_batch(3);
             },
         .model =
             [] {
               return std::vector<Element>{padded({1, 6, 11}, 12, 0),
                                           padded({16}, 17, 0)};
             }},
        {.name = "with an element that is too long",
         .make =
             [] {
               return Dataset::range(8).map(growing).padded_batch(
                   2, {.padded_shapes = {PartialShape{5}}});
             }},
    });

}  // namespace
}  // namespace penstock::testing
