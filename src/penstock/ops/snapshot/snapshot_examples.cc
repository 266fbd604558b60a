#include "tests/support/example.h"
#include "tests/support/temp_dir.h"

namespace penstock::testing {
namespace {

using I64 = std::int64_t;

PENSTOCK_EXAMPLES(snapshot,
                  {
                      {.name = "written by the first iteration",
                       .make =
                           [] {
                             return Dataset::range(6)
                                 .map([](I64 x) { return x * x; })
                                 .snapshot(fresh_path());
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
                                 .snapshot(fresh_path())
                                 .repeat(2);
                           },
                       .model =
                           [] {
                             return scalars({1, 4, 7, 1, 4, 7});
                           },
                       .errors_once = false},
                      {.name = "with an element that fails",
                       .make =
                           [] {
                             return Dataset::range(8)
                                 .map([](I64 x) -> StatusOr<I64> {
                                   if (x == 5)
                                     return absl::InternalError("five");
                                   return x;
                                 })
                                 .snapshot(fresh_path());
                           },
                       .errors_once = false},
                  });

}  // namespace
}  // namespace penstock::testing
