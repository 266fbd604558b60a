#include "tests/support/example.h"

namespace penstock::testing {
namespace {

using I64 = std::int64_t;

PENSTOCK_EXAMPLES(
    cache,
    {
        {.name = "in memory",
         .make =
             [] {
               return Dataset::range(6)
                   .map([](I64 x) { return x * x; })
                   .cache();
             },
         .model =
             [] {
               return scalars({0, 1, 4, 9, 16, 25});
             },
         .errors_once = false},
        {.name = "behind a filter, repeated",
         .make =
             [] {
               return Dataset::range(9)
                   .filter([](I64 x) { return x % 3 == 1; })
                   .cache()
                   .repeat(3);
             },
         .model =
             [] {
               return scalars({1, 4, 7, 1, 4, 7, 1, 4, 7});
             },
         .errors_once = false},
        {.name = "under a global shuffle",
         .make =
             [] {
               return Dataset::range(20).cache().shuffle(kGlobal, 4).repeat(2);
             },
         .errors_once = false},
        {.name = "of a batch, behind a shuffle",
         .make =
             [] {
               return Dataset::range(20).shuffle(8, 1).batch(3).cache().repeat(
                   2);
             },
         .errors_once = false},
        {.name = "with an element that fails",
         .make =
             [] {
               return Dataset::range(8)
                   .map([](I64 x) -> StatusOr<I64> {
                     if (x == 5) return absl::InternalError("five");
                     return x;
                   })
                   .cache()
                   .repeat(2);
             },
         .errors_once = false},
    });

}  // namespace
}  // namespace penstock::testing
