#include "tests/support/example.h"

namespace penstock::testing {
namespace {

std::pair<std::int64_t, std::int64_t> sum(std::int64_t s, std::int64_t x) {
  return {s + x, s + x};
}

PENSTOCK_EXAMPLES(
    scan,
    {
        {.name = "running sum",
         .make =
             [] {
               return Dataset::range(6).scan(
                   0, [](std::int64_t s, std::int64_t x) { return sum(s, x); });
             },
         .model =
             [] {
               return scalars({0, 1, 3, 6, 10, 15});
             }},
        {.name = "behind a filter, longer than between two snapshots",
         .make =
             [] {
               return Dataset::range(300)
                   .filter([](std::int64_t x) { return x % 2 == 1; })
                   .scan(0, [](std::int64_t s, std::int64_t x) {
                     return sum(s, x);
                   });
             },
         .model =
             [] {
               std::vector<std::int64_t> squares;
               for (std::int64_t i = 1; i <= 150; ++i) squares.push_back(i * i);
               return scalars(squares);
             }},
        {.name = "a call that fails",
         .make =
             [] {
               return Dataset::range(6)
                   .scan(
                       10,
                       [](std::int64_t s, std::int64_t x)
                           -> StatusOr<std::pair<std::int64_t, std::int64_t>> {
                         if (x == 3) return absl::DataLossError("bad");
                         return sum(s, x);
                       })
                   .ignore_errors();
             },
         .model =
             [] {
               return scalars({10, 11, 13, 17, 22});
             }},
        {.name = "a state of growing strings, repeated",
         .make =
             [] {
               return Dataset::range(9)
                   .scan(Tensor::string(""),
                         [](std::string_view s, std::int64_t x) {
                           std::string next = std::string(s);
                           next += static_cast<char>('a' + x);
                           return std::make_pair(next, next);
                         })
                   .repeat(2);
             }},
    });

}  // namespace
}  // namespace penstock::testing
