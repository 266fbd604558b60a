#include "tests/support/example.h"

namespace penstock::testing {
namespace {

std::vector<Element> growing_list(std::int64_t n) {
  std::vector<Element> out;
  for (std::int64_t i = 0; i < n; ++i) {
    out.emplace_back(Tensor::from(
        std::vector<std::int64_t>(static_cast<std::size_t>(i), i)));
  }
  return out;
}

PENSTOCK_EXAMPLES(
    from_list, {
                   {.name = "numbers",
                    .make =
                        [] {
                          return Dataset::from_list(scalars({4, 5, 6}));
                        },
                    .model =
                        [] {
                          return scalars({4, 5, 6});
                        }},
                   {.name = "of different lengths",
                    .make = [] { return Dataset::from_list(growing_list(12)); },
                    .model = [] { return growing_list(12); }},
                   {.name = "with elements that a batch cannot join",
                    .make =
                        [] {
                          return Dataset::from_list(growing_list(6))
                              .batch(2)
                              .ignore_errors();
                        },
                    .model = [] { return std::vector<Element>(); }},
                   {.name = "behind a filter",
                    .make =
                        [] {
                          return Dataset::from_list(growing_list(12))
                              .filter([](std::span<const std::int64_t> x) {
                                return x.size() % 4 == 3;
                              });
                        },
                    .model =
                        [] {
                          const std::vector<Element> all = growing_list(12);
                          return std::vector<Element>{all[3], all[7], all[11]};
                        }},
                   {.name = "empty",
                    .make = [] { return Dataset::from_list({}); },
                    .model = [] { return std::vector<Element>(); }},
               });

}  // namespace
}  // namespace penstock::testing
