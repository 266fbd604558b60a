#include "tests/support/example.h"

namespace penstock::testing {
namespace {

std::vector<Dataset> three() {
  return {Dataset::range(10), Dataset::range(100, 110),
          Dataset::range(200, 210).filter([](std::int64_t) { return true; })};
}

PENSTOCK_EXAMPLES(
    choose_from_datasets,
    {
        {"in turn until one is empty",
         [] {
           return Dataset::choose_from_datasets(three(),
                                                Dataset::range(3).repeat());
         },
         [] {
           std::vector<std::int64_t> out;
           for (std::int64_t i = 0; i < 30; ++i) {
             out.push_back(100 * (i % 3) + i / 3);
           }
           return scalars(out);
         }},
        {"skipping choices of an empty one",
         [] {
           return Dataset::choose_from_datasets(
               {Dataset::range(2), Dataset::range(100, 104)},
               Dataset::range(8).map([](std::int64_t x) { return x % 2; }),
               {.stop_on_empty_dataset = false});
         },
         [] {
           return scalars({0, 100, 1, 101, 102, 103});
         }},
        {"choices behind a filter, one of them out of range",
         [] {
           return Dataset::choose_from_datasets(
               three(),
               Dataset::range(5).filter([](std::int64_t x) { return x != 1; }));
         }},
    });

}  // namespace
}  // namespace penstock::testing
