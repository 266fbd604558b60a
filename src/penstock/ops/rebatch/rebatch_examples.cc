#include "tests/support/example.h"

namespace penstock::testing {
namespace {

std::vector<Element> batches(
    const std::vector<std::vector<std::int64_t>>& values) {
  std::vector<Element> out;
  for (const auto& v : values) out.emplace_back(Tensor::from(v));
  return out;
}

PENSTOCK_EXAMPLES(
    rebatch, {
                 {.name = "smaller batches",
                  .make = [] { return Dataset::range(7).batch(4).rebatch(3); },
                  .model =
                      [] {
                        return batches({{0, 1, 2}, {3, 4, 5}, {6}});
                      }},
                 {.name = "larger batches, behind a filter",
                  .make =
                      [] {
                        return Dataset::range(40)
                            .filter([](std::int64_t x) { return x % 2 == 0; })
                            .batch(3)
                            .rebatch(8, {.drop_remainder = true});
                      },
                  .model =
                      [] {
                        return batches({{0, 2, 4, 6, 8, 10, 12, 14},
                                        {16, 18, 20, 22, 24, 26, 28, 30}});
                      }},
                 {.name = "sizes in turn",
                  .make =
                      [] {
                        return Dataset::range(9).batch(5).rebatch({1, 3});
                      },
                  .model =
                      [] {
                        return batches({{0}, {1, 2, 3}, {4}, {5, 6, 7}, {8}});
                      }},
                 {.name = "a batch with an error",
                  .make =
                      [] {
                        return Dataset::range(12)
                            .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                              if (x == 5) return absl::DataLossError("bad");
                              return x;
                            })
                            .batch(2)
                            .rebatch(4)
                            .ignore_errors();
                      },
                  .model =
                      [] {
                        return batches({{0, 1, 2, 3}, {9, 10, 11}});
                      }},
             });

}  // namespace
}  // namespace penstock::testing
