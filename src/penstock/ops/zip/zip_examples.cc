#include "tests/support/example.h"

namespace penstock::testing {
namespace {

std::vector<Element> zipped(const std::vector<std::int64_t>& a,
                            const std::vector<std::int64_t>& b) {
  std::vector<Element> out;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    out.push_back(Element::tuple(
        {Element(Tensor::scalar(a[i])), Element(Tensor::scalar(b[i]))}));
  }
  return out;
}

PENSTOCK_EXAMPLES(
    zip,
    {
        {.name = "by index",
         .make =
             [] {
               return Dataset::zip({Dataset::range(3), Dataset::range(5, 9)});
             },
         .model =
             [] {
               return zipped({0, 1, 2}, {5, 6, 7});
             }},
        {.name = "behind a filter",
         .make =
             [] {
               return Dataset::zip(
                   {Dataset::range(20).filter(
                        [](std::int64_t x) { return x % 5 == 2; }),
                    Dataset::range(100)});
             },
         .model =
             [] {
               return zipped({2, 7, 12, 17}, {0, 1, 2, 3});
             }},
        {.name = "of a batch, a shuffle and an endless dataset, as a dict",
         .make =
             [] {
               return Dataset::zip({{"a", Dataset::range(40).batch(3)},
                                    {"b", Dataset::range(30).shuffle(6, 2)},
                                    {"c", Dataset::range(4).repeat()}});
             }},
        {.name = "an error in one input",
         .make =
             [] {
               return Dataset::zip(
                          {Dataset::range(5).map(
                               [](std::int64_t x) -> StatusOr<std::int64_t> {
                                 if (x == 2) return absl::DataLossError("bad");
                                 return x;
                               }),
                           Dataset::range(5)})
                   .ignore_errors();
             },
         .model =
             [] {
               return zipped({0, 1, 3, 4}, {0, 1, 3, 4});
             }},
        {.name = "of an empty dataset",
         .make =
             [] {
               return Dataset::zip({Dataset::range(0), Dataset::range(3)});
             },
         .model = [] { return zipped({}, {}); }},
    });

}  // namespace
}  // namespace penstock::testing
