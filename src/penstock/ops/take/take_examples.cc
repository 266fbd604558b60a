#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(take, {
                            {.name = "fewer than there are",
                             .make = [] { return Dataset::range(10).take(3); },
                             .model =
                                 [] {
                                   return scalars({0, 1, 2});
                                 }},
                            {.name = "more than there are",
                             .make = [] { return Dataset::range(3).take(10); },
                             .model =
                                 [] {
                                   return scalars({0, 1, 2});
                                 }},
                            {.name = "none",
                             .make = [] { return Dataset::range(3).take(0); },
                             .model = [] { return scalars({}); }},
                            {.name = "all",
                             .make = [] { return Dataset::range(3).take(-1); },
                             .model =
                                 [] {
                                   return scalars({0, 1, 2});
                                 }},
                            {.name = "behind a filter",
                             .make =
                                 [] {
                                   return Dataset::range(100)
                                       .filter([](std::int64_t x) {
                                         return x % 3 == 0;
                                       })
                                       .take(5);
                                 },
                             .model =
                                 [] {
                                   return scalars({0, 3, 6, 9, 12});
                                 }},
                        });

}  // namespace
}  // namespace penstock::testing
