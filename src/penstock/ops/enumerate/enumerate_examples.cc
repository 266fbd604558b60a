#include "tests/support/example.h"

namespace penstock::testing {
namespace {

std::vector<Element> pairs(std::int64_t start,
                           const std::vector<std::int64_t>& values) {
  std::vector<Element> out;
  for (const Element& value : scalars(values)) {
    out.push_back(Element::tuple({Element(Tensor::scalar(start++)), value}));
  }
  return out;
}

PENSTOCK_EXAMPLES(
    enumerate,
    {
        {.name = "by index",
         .make = [] { return Dataset::range(7, 12).enumerate(); },
         .model =
             [] {
               return pairs(0, {7, 8, 9, 10, 11});
             }},
        {.name = "from a start, in front of a skip",
         .make = [] { return Dataset::range(9).enumerate(100).skip(6); },
         .model =
             [] {
               return pairs(106, {6, 7, 8});
             }},
        {.name = "behind a filter",
         .make =
             [] {
               return Dataset::range(30)
                   .filter([](std::int64_t x) { return x % 7 == 3; })
                   .enumerate(-1);
             },
         .model =
             [] {
               return pairs(-1, {3, 10, 17, 24});
             }},
        {.name = "behind a batch",
         .make = [] { return Dataset::range(23).batch(4).enumerate(); }},
        {.name = "an error keeps its number",
         .make =
             [] {
               return Dataset::range(9)
                   .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x == 4) return absl::DataLossError("bad");
                     return x;
                   })
                   .enumerate()
                   .ignore_errors();
             },
         .model =
             [] {
               auto out = pairs(0, {0, 1, 2, 3, 4, 5, 6, 7, 8});
               out.erase(out.begin() + 4);
               return out;
             }},
    });

}  // namespace
}  // namespace penstock::testing
