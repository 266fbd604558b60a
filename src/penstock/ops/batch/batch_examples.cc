#include <string>
#include <tuple>

#include "tests/support/example.h"

namespace penstock::testing {
namespace {

Element row(const std::vector<std::int64_t>& values) {
  return Tensor::from(values);
}

PENSTOCK_EXAMPLES(
    batch,
    {
        {.name = "with a remainder",
         .make = [] { return Dataset::range(7).batch(3); },
         .model =
             [] {
               return std::vector<Element>{row({0, 1, 2}), row({3, 4, 5}),
                                           row({6})};
             }},
        {.name = "without its remainder",
         .make =
             [] {
               return Dataset::range(7).batch(3, {.drop_remainder = true});
             },
         .model =
             [] {
               return std::vector<Element>{row({0, 1, 2}), row({3, 4, 5})};
             }},
        {.name = "larger than the input",
         .make = [] { return Dataset::range(2).batch(1000); },
         .model =
             [] {
               return std::vector<Element>{row({0, 1})};
             }},
        {.name = "of nothing",
         .make = [] { return Dataset::range(0).batch(4); },
         .model = [] { return std::vector<Element>{}; }},
        {.name = "of one",
         .make = [] { return Dataset::range(3).batch(1); },
         .model =
             [] {
               return std::vector<Element>{row({0}), row({1}), row({2})};
             }},
        {.name = "of a batch",
         .make = [] { return Dataset::range(40).batch(4).batch(3); },
         .model =
             [] {
               std::vector<Element> out;
               for (std::int64_t i = 0; i < 40; i += 12) {
                 std::vector<std::int64_t> values;
                 for (std::int64_t x = i;
                      x < std::min<std::int64_t>(40, i + 12); ++x) {
                   values.push_back(x);
                 }
                 const auto n = static_cast<std::int64_t>(values.size());
                 out.emplace_back(Tensor::from(
                     std::span<const std::int64_t>(values), Shape{n / 4, 4}));
               }
               return out;
             }},
        {.name = "behind a filter",
         .make =
             [] {
               return Dataset::range(100)
                   .filter([](std::int64_t x) { return x % 7 == 3; })
                   .batch(4);
             },
         .model =
             [] {
               return std::vector<Element>{
                   row({3, 10, 17, 24}), row({31, 38, 45, 52}),
                   row({59, 66, 73, 80}), row({87, 94})};
             }},
        {.name = "of tuples with strings",
         .make =
             [] {
               return Dataset::range(5)
                   .map([](std::int64_t x) {
                     return std::make_tuple(
                         x, std::string(static_cast<std::size_t>(x), 'b'));
                   })
                   .batch(2);
             },
         .model =
             [] {
               std::vector<Element> out;
               const std::vector<std::string_view> all = {"", "b", "bb", "bbb",
                                                          "bbbb"};
               for (std::size_t i = 0; i < 5; i += 2) {
                 std::vector<std::int64_t> numbers;
                 std::vector<std::string_view> words;
                 for (std::size_t k = i; k < std::min<std::size_t>(5, i + 2);
                      ++k) {
                   numbers.push_back(static_cast<std::int64_t>(k));
                   words.push_back(all[k]);
                 }
                 const auto n = static_cast<std::int64_t>(words.size());
                 out.push_back(Element::tuple(
                     {Tensor::from(numbers),
                      Tensor::strings(words, Shape{n}).value()}));
               }
               return out;
             }},
        {.name = "with errors in some",
         .make =
             [] {
               return Dataset::range(9)
                   .map([](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x >= 3 && x < 5) return absl::DataLossError("no");
                     return x;
                   })
                   .batch(3);
             },
         .model =
             [] {
               return std::vector<Element>{row({0, 1, 2}), failed(),
                                           row({6, 7, 8})};
             }},
        {.name = "of different shapes",
         .make =
             [] {
               return Dataset::range(6)
                   .map([](std::int64_t x) {
                     return std::vector<std::int64_t>(x < 4 ? 2 : 3, x);
                   })
                   .batch(3);
             },
         .model =
             [] {
               std::vector<std::int64_t> values{0, 0, 1, 1, 2, 2};
               return std::vector<Element>{
                   Tensor::from(std::span<const std::int64_t>(values),
                                Shape{3, 2}),
                   failed()};
             }},
        {.name = "under a map",
         .make =
             [] {
               return Dataset::range(30).batch(4).map(
                   [](std::span<const std::int64_t> xs) {
                     std::int64_t sum = 0;
                     for (std::int64_t x : xs) sum += x;
                     return sum;
                   });
             },
         .model =
             [] {
               return scalars({6, 22, 38, 54, 70, 86, 102, 57});
             }},
        {.name = "without end",
         .make = [] { return Dataset::range(5).repeat().batch(4); },
         .limit = 40},
    });

}  // namespace
}  // namespace penstock::testing
