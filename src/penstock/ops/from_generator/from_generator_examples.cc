#include "tests/support/example.h"

namespace penstock::testing {
namespace {

/// Counts from 0; ends before `stop`.
auto counting(std::int64_t stop) {
  return [stop] {
    return [stop, i = std::int64_t{0}]() mutable {
      return i < stop ? std::optional(i++) : std::nullopt;
    };
  };
}

PENSTOCK_EXAMPLES(
    from_generator,
    {
        {.name = "numbers",
         .make = [] { return Dataset::from_generator(counting(20)); },
         .model =
             [] {
               std::vector<std::int64_t> out;
               for (std::int64_t i = 0; i < 20; ++i) out.push_back(i);
               return scalars(out);
             }},
        {.name = "empty",
         .make = [] { return Dataset::from_generator(counting(0)); },
         .model = [] { return scalars({}); }},
        {.name = "without end, batched",
         .make =
             [] { return Dataset::from_generator(counting(1 << 30)).batch(3); },
         .limit = 40},
        {.name = "of declared length behind a shuffle, twice",
         .make =
             [] {
               return Dataset::from_generator(counting(15),
                                              {.cardinality = Cardinality(15)})
                   .shuffle(4, 1)
                   .repeat(2);
             }},
        {.name = "with elements that do not fit",
         .make =
             [] {
               return Dataset::from_generator(
                          [] {
                            return
                                [i = std::int64_t{
                                     0}]() mutable -> std::optional<Element> {
                                  if (i == 9) return std::nullopt;
                                  const std::int64_t n = i++;
                                  if (n % 3 == 1) return Tensor::scalar(0.5);
                                  return Tensor::scalar(n);
                                };
                          },
                          {.output_signature = Spec::scalar<std::int64_t>()})
                   .ignore_errors();
             },
         .model =
             [] {
               return scalars({0, 2, 3, 5, 6, 8});
             }},
        {.name = "that throws in the middle",
         .make =
             [] {
               return Dataset::from_generator([] {
                        return [i = std::int64_t{0}]() mutable {
                          if (i == 5) throw std::runtime_error("torn");
                          return std::optional(i++);
                        };
                      })
                   .ignore_errors();
             },
         .model =
             [] {
               return scalars({0, 1, 2, 3, 4});
             }},
    });

}  // namespace
}  // namespace penstock::testing
