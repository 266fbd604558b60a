#include <string>

#include "tests/support/example.h"

namespace penstock::testing {
namespace {

bool even(std::int64_t x) { return x % 2 == 0; }

PENSTOCK_EXAMPLES(
    filter,
    {
        {.name = "some",
         .make = [] { return Dataset::range(9).filter(even); },
         .model =
             [] {
               return scalars({0, 2, 4, 6, 8});
             }},
        {.name = "none are left",
         .make =
             [] {
               return Dataset::range(50).filter(
                   [](std::int64_t) { return false; });
             },
         .model = [] { return scalars({}); }},
        {.name = "all are left",
         .make =
             [] {
               return Dataset::range(5).filter(
                   [](std::int64_t) { return true; });
             },
         .model =
             [] {
               return scalars({0, 1, 2, 3, 4});
             }},
        {.name = "of a filter",
         .make =
             [] {
               return Dataset::range(100).filter(even).filter(
                   [](std::int64_t x) { return x % 3 == 0 && x > 40; });
             },
         .model =
             [] {
               return scalars({42, 48, 54, 60, 66, 72, 78, 84, 90, 96});
             }},
        {.name = "of long gaps",
         .make =
             [] {
               return Dataset::range(5000).filter(
                   [](std::int64_t x) { return x % 1777 == 5; });
             },
         .model =
             [] {
               return scalars({5, 1782, 3559});
             }},
        {.name = "between maps",
         .make =
             [] {
               return Dataset::range(20)
                   .map([](std::int64_t x) { return x * 3; })
                   .filter(even)
                   .map([](std::int64_t x) { return x + 1; });
             },
         .model =
             [] {
               std::vector<std::int64_t> out;
               for (std::int64_t x = 0; x < 20; ++x) {
                 if (even(x * 3)) out.push_back(x * 3 + 1);
               }
               return scalars(out);
             }},
        {.name = "of strings",
         .make =
             [] {
               return Dataset::range(30)
                   .map([](std::int64_t x) { return std::to_string(x * x); })
                   .filter([](std::string_view s) { return s.back() == '6'; });
             },
         .model =
             [] {
               std::vector<Element> out;
               for (const char* s : {"16", "36", "196", "256", "576", "676"}) {
                 out.emplace_back(Tensor::string(s));
               }
               return out;
             }},
        {.name = "whose predicate fails",
         .make =
             [] {
               return Dataset::range(8).filter(
                   [](std::int64_t x) -> StatusOr<bool> {
                     if (x == 3) return absl::DataLossError("three");
                     return even(x);
                   });
             },
         .model =
             [] {
               std::vector<Element> out = scalars({0, 2, 3, 4, 6});
               out[2] = failed();
               return out;
             }},
        {.name = "behind random numbers",
         .make =
             [] {
               return Dataset::range(80)
                   .map([](std::int64_t x, RandomStream& random) {
                     return x +
                            1000 * static_cast<std::int64_t>(random.below(100));
                   })
                   .filter(even);
             }},
    });

}  // namespace
}  // namespace penstock::testing
