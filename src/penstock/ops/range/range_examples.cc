#include <limits>

#include "tests/support/example.h"

namespace penstock::testing {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

PENSTOCK_EXAMPLES(range,
                  {
                      {.name = "from zero",
                       .make = [] { return Dataset::range(7); },
                       .model =
                           [] {
                             return scalars({0, 1, 2, 3, 4, 5, 6});
                           }},
                      {.name = "with a step",
                       .make = [] { return Dataset::range(3, 12, 4); },
                       .model =
                           [] {
                             return scalars({3, 7, 11});
                           }},
                      {.name = "downwards",
                       .make = [] { return Dataset::range(5, -4, -3); },
                       .model =
                           [] {
                             return scalars({5, 2, -1});
                           }},
                      {.name = "empty",
                       .make = [] { return Dataset::range(5, 5); },
                       .model = [] { return scalars({}); }},
                      {.name = "against its step",
                       .make = [] { return Dataset::range(0, 5, -1); },
                       .model = [] { return scalars({}); }},
                      {.name = "up to the largest number",
                       .make = [] { return Dataset::range(kMax - 3, kMax); },
                       .model =
                           [] {
                             return scalars({kMax - 3, kMax - 2, kMax - 1});
                           }},
                      {.name = "longer than a block",
                       .make = [] { return Dataset::range(3000); },
                       .limit = 150},
                  });

}  // namespace
}  // namespace penstock::testing
