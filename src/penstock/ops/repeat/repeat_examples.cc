#include "tests/support/example.h"

namespace penstock::testing {
namespace {

bool not_two(std::int64_t x) { return x != 2; }

PENSTOCK_EXAMPLES(
    repeat,
    {
        {.name = "twice",
         .make = [] { return Dataset::range(3).repeat(2); },
         .model =
             [] {
               return scalars({0, 1, 2, 0, 1, 2});
             }},
        {.name = "never",
         .make = [] { return Dataset::range(3).repeat(0); },
         .model = [] { return scalars({}); }},
        {.name = "for ever",
         .make = [] { return Dataset::range(3).repeat(); },
         .model =
             [] {
               std::vector<std::int64_t> out;
               for (std::int64_t i = 0; i < 50; ++i) out.push_back(i % 3);
               return scalars(out);
             },
         .limit = 50},
        {.name = "of nothing, for ever",
         .make = [] { return Dataset::range(0).repeat(); },
         .model = [] { return scalars({}); }},
        {.name = "of a filter",
         .make = [] { return Dataset::range(4).filter(not_two).repeat(3); },
         .model =
             [] {
               return scalars({0, 1, 3, 0, 1, 3, 0, 1, 3});
             }},
        {.name = "of a filter, for ever",
         .make = [] { return Dataset::range(4).filter(not_two).repeat(); },
         .model =
             [] {
               std::vector<std::int64_t> out;
               for (std::size_t i = 0; i < 40; ++i) {
                 out.push_back(std::vector<std::int64_t>{0, 1, 3}[i % 3]);
               }
               return scalars(out);
             },
         .limit = 40},
        {.name = "of a filter that leaves nothing, for ever",
         .make =
             [] {
               return Dataset::range(4)
                   .filter([](std::int64_t) { return false; })
                   .repeat();
             },
         .model = [] { return scalars({}); }},
        {.name = "of a repeat of a filter",
         .make =
             [] {
               return Dataset::range(3)
                   .filter(not_two)
                   .repeat(2)
                   .skip(1)
                   .repeat(2);
             },
         .model =
             [] {
               return scalars({1, 0, 1, 1, 0, 1});
             }},
        {.name = "of batches",
         .make = [] { return Dataset::range(5).batch(2).repeat(2); },
         .model =
             [] {
               std::vector<Element> out;
               for (int i = 0; i < 2; ++i) {
                 out.emplace_back(Tensor::from<std::int64_t>({0, 1}));
                 out.emplace_back(Tensor::from<std::int64_t>({2, 3}));
                 out.emplace_back(Tensor::from<std::int64_t>({4}));
               }
               return out;
             }},
        {.name = "of a shuffle, anew each time",
         .make = [] { return Dataset::range(12).shuffle(5, 1).repeat(3); }},
        {.name = "of a global shuffle",
         .make =
             [] { return Dataset::range(10).shuffle(kGlobal, 1).repeat(3); }},
        {.name = "of random numbers",
         .make =
             [] {
               return Dataset::range(6)
                   .map([](std::int64_t, RandomStream& random) {
                     return static_cast<std::int64_t>(random.below(1000));
                   })
                   .repeat(3);
             }},
        {.name = "of errors",
         .make =
             [] {
               return Dataset::range(3)
                   .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x == 1) return absl::DataLossError("one");
                     return x;
                   })
                   .repeat(2);
             },
         .model =
             [] {
               std::vector<Element> out = scalars({0, 1, 2, 0, 1, 2});
               out[1] = out[4] = failed();
               return out;
             }},
    });

}  // namespace
}  // namespace penstock::testing
