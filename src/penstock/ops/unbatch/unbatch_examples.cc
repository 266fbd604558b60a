#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    unbatch, {
                 {.name = "undoes a batch",
                  .make = [] { return Dataset::range(7).batch(3).unbatch(); },
                  .model =
                      [] {
                        return scalars({0, 1, 2, 3, 4, 5, 6});
                      }},
                 {.name = "batches of different length",
                  .make =
                      [] {
                        return Dataset::range(4)
                            .map([](std::int64_t x) {
                              return std::vector<std::int64_t>(
                                  static_cast<std::size_t>(x), x);
                            })
                            .unbatch();
                      },
                  .model =
                      [] {
                        return scalars({1, 2, 2, 3, 3, 3});
                      }},
                 {.name = "behind a filter, batched anew",
                  .make =
                      [] {
                        return Dataset::range(60)
                            .filter([](std::int64_t x) { return x % 3 != 1; })
                            .enumerate()
                            .batch(4)
                            .unbatch()
                            .batch(7);
                      }},
                 {.name = "a batch with an error",
                  .make =
                      [] {
                        return Dataset::range(8)
                            .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                              if (x == 5) return absl::DataLossError("bad");
                              return x;
                            })
                            .batch(2)
                            .unbatch()
                            .ignore_errors();
                      },
                  .model =
                      [] {
                        return scalars({0, 1, 2, 3, 6, 7});
                      }},
             });

}  // namespace
}  // namespace penstock::testing
