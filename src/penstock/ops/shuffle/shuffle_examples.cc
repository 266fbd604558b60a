#include <string>

#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    shuffle,
    {
        {.name = "window of one",
         .make = [] { return Dataset::range(6).shuffle(1, 3); },
         .model =
             [] {
               return scalars({0, 1, 2, 3, 4, 5});
             }},
        {.name = "small window",
         .make = [] { return Dataset::range(90).shuffle(7, 3); }},
        {.name = "window longer than the input",
         .make = [] { return Dataset::range(20).shuffle(50, 3); }},
        {.name = "of nothing",
         .make = [] { return Dataset::range(0).shuffle(4, 3); },
         .model = [] { return scalars({}); }},
        {.name = "behind a filter",
         .make =
             [] {
               return Dataset::range(150)
                   .filter([](std::int64_t x) { return x % 3 != 1; })
                   .shuffle(16, 3);
             }},
        {.name = "of maps, which run behind it",
         .make =
             [] {
               return Dataset::range(60)
                   .map([](std::int64_t x, RandomStream& random) {
                     return 1000 * x +
                            static_cast<std::int64_t>(random.below(1000));
                   })
                   .shuffle(10, 3);
             }},
        {.name = "of strings behind a filter",
         .make =
             [] {
               return Dataset::range(50)
                   .filter([](std::int64_t x) { return x % 2 == 0; })
                   .map([](std::int64_t x) {
                     return std::string(static_cast<std::size_t>(x), 'c');
                   })
                   .shuffle(6, 3);
             }},
        {.name = "of batches",
         .make = [] { return Dataset::range(70).batch(3).shuffle(5, 3); }},
        {.name = "of a shuffle",
         .make = [] { return Dataset::range(60).shuffle(8, 3).shuffle(5, 4); }},
        {.name = "then batched and repeated",
         .make =
             [] {
               return Dataset::range(40).shuffle(8, 3).batch(6).repeat(2);
             }},
        {.name = "the same each time",
         .make =
             [] {
               return Dataset::range(30).shuffle(
                   {.buffer_size = 8,
                    .seed = 3,
                    .reshuffle_each_iteration = false});
             }},
        {.name = "without a seed of its own",
         .make = [] { return Dataset::range(40).shuffle(8); }},
        {.name = "without end",
         .make = [] { return Dataset::range(9).repeat().shuffle(20, 3); },
         .limit = 120},
        {.name = "of errors",
         .make =
             [] {
               return Dataset::range(40)
                   .filter([](std::int64_t x) { return x != 7; })
                   .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x % 5 == 1) return absl::DataLossError("no");
                     return x;
                   })
                   .shuffle(8, 3);
             }},
        {.name = "global",
         .make = [] { return Dataset::range(33).shuffle(kGlobal, 3); }},
        {.name = "global, under take and batch",
         .make =
             [] {
               return Dataset::range(1000)
                   .map([](std::int64_t x) { return x + 1; })
                   .shuffle(kGlobal, 3)
                   .take(50)
                   .batch(8);
             }},
        {.name = "global, of one",
         .make = [] { return Dataset::range(1).shuffle(kGlobal, 3); },
         .model = [] { return scalars({0}); }},
        {.name = "global, of nothing",
         .make = [] { return Dataset::range(0).shuffle(kGlobal, 3); },
         .model = [] { return scalars({}); }},
        {.name = "global, of a batch, then filtered",
         .make =
             [] {
               return Dataset::range(100)
                   .batch(3)
                   .shuffle(kGlobal, 3)
                   .filter([](std::span<const std::int64_t> xs) {
                     return xs[0] % 2 == 0;
                   });
             }},
    });

}  // namespace
}  // namespace penstock::testing
