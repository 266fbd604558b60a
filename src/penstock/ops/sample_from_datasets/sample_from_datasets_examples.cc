#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    sample_from_datasets,
    {
        {"equal weights until all have ended",
         [] {
           return Dataset::sample_from_datasets(
               {Dataset::range(10), Dataset::range(100, 105),
                Dataset::range(200, 203)},
               {.seed = 3});
         }},
        {"one of them never drawn",
         [] {
           return Dataset::sample_from_datasets(
               {Dataset::range(8), Dataset::range(100, 105)},
               {.weights = {1, 0}, .seed = 3});
         },
         [] {
           return scalars({0, 1, 2, 3, 4, 5, 6, 7});
         }},
        {"stopping at the first empty one, behind a filter",
         [] {
           return Dataset::sample_from_datasets(
               {Dataset::range(100).filter(
                    [](std::int64_t x) { return x % 3 == 0; }),
                Dataset::range(1000, 1010).repeat()},
               {.weights = {0.2, 0.8},
                .seed = 5,
                .stop_on_empty_dataset = true});
         }},
        {"another order each iteration, with an error in one input",
         [] {
           return Dataset::sample_from_datasets(
               {Dataset::range(12).map([](std::int64_t x) {
                  if (x == 4) throw std::runtime_error("bad");
                  return x;
                }),
                Dataset::range(100, 112)},
               {.seed = 9, .rerandomize_each_iteration = true});
         }},
    });

}  // namespace
}  // namespace penstock::testing
