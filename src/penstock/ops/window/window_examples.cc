#include "tests/support/example.h"

namespace penstock::testing {
namespace {

/// Nested datasets are compared by what they hold.
Dataset stacked(const Dataset& windows) {
  return windows.map([](const Element& w) {
    const Dataset inner = Dataset::of(w[0]);
    return inner.batch(inner.cardinality().value()).at(0);
  });
}

std::vector<Element> window_rows(
    const std::vector<std::vector<std::int64_t>>& values) {
  std::vector<Element> out;
  for (const auto& v : values) out.emplace_back(Tensor::from(v));
  return out;
}

PENSTOCK_EXAMPLES(
    window,
    {
        {.name = "side by side",
         .make = [] { return stacked(Dataset::range(7).window(3)); },
         .model =
             [] {
               return window_rows({{0, 1, 2}, {3, 4, 5}, {6}});
             }},
        {.name = "overlapping, behind a filter",
         .make =
             [] {
               return stacked(Dataset::range(10)
                                  .filter([](std::int64_t x) { return x != 3; })
                                  .window(4, {.shift = 2}));
             },
         .model =
             [] {
               return window_rows(
                   {{0, 1, 2, 4}, {2, 4, 5, 6}, {5, 6, 7, 8}, {7, 8, 9}, {9}});
             },
         .errors_once = false},
        {.name = "strided, dropping the remainder",
         .make =
             [] {
               return stacked(Dataset::range(9).window(
                   3, {.shift = 1, .stride = 2, .drop_remainder = true}));
             },
         .model =
             [] {
               return window_rows(
                   {{0, 2, 4}, {1, 3, 5}, {2, 4, 6}, {3, 5, 7}, {4, 6, 8}});
             },
         .errors_once = false},
        {.name = "with elements left out between them",
         .make =
             [] {
               return stacked(Dataset::range(60).window(2, {.shift = 25}));
             },
         .model =
             [] {
               return window_rows({{0, 1}, {25, 26}, {50, 51}});
             }},
        {.name = "with an error in one",
         .make =
             [] {
               return stacked(
                   Dataset::range(6)
                       .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                         if (x == 2) {
                           return absl::DataLossError("bad");
                         }
                         return x;
                       })
                       .window(2)
                       .ignore_errors());
             },
         .model =
             [] {
               return window_rows({{0, 1}, {4, 5}});
             }},
    });

}  // namespace
}  // namespace penstock::testing
