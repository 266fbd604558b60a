#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    from_indexable,
    {
        {.name = "squares",
         .make =
             [] {
               return Dataset::from_indexable(
                   6, [](std::int64_t i) { return i * i; });
             },
         .model =
             [] {
               return scalars({0, 1, 4, 9, 16, 25});
             }},
        {.name = "without end",
         .make =
             [] {
               return Dataset::from_indexable(
                   Cardinality::kInfinite,
                   [](std::int64_t i) { return i % 10; });
             },
         .limit = 50},
        {.name = "with failing elements, ignored",
         .make =
             [] {
               return Dataset::from_indexable(
                          9,
                          [](std::int64_t i) -> StatusOr<std::int64_t> {
                            if (i % 4 == 1) {
                              return absl::NotFoundError("no such file");
                            }
                            if (i == 6) throw std::runtime_error("broken");
                            return i;
                          })
                   .ignore_errors();
             },
         .model =
             [] {
               return scalars({0, 2, 3, 4, 7, 8});
             }},
        {.name = "shuffled over everything behind a map",
         .make =
             [] {
               return Dataset::from_indexable(100,
                                              [](std::int64_t i) {
                                                return std::tuple(
                                                    i, std::to_string(i));
                                              })
                   .map([](std::int64_t i, std::string_view text) {
                     return i + static_cast<std::int64_t>(text.size());
                   })
                   .shuffle(ShuffleOptions{.buffer_size = kGlobal, .seed = 5});
             }},
        {.name = "none",
         .make =
             [] {
               return Dataset::from_indexable(0,
                                              [](std::int64_t i) { return i; });
             },
         .model = [] { return scalars({}); }},
    });

}  // namespace
}  // namespace penstock::testing
