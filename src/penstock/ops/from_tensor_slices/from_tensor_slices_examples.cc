#include "tests/support/example.h"

namespace penstock::testing {
namespace {

Tensor matrix(std::int64_t rows, std::int64_t columns) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    values.push_back(static_cast<float>(i));
  }
  return Tensor::from(std::span<const float>(values), Shape{rows, columns});
}

Tensor words(std::vector<std::string_view> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return Tensor::strings(values, shape).value();
}

PENSTOCK_EXAMPLES(
    from_tensor_slices,
    {
        {.name = "numbers",
         .make =
             [] {
               return Dataset::from_tensor_slices(
                   Tensor::from(std::vector<std::int64_t>{3, 1, 2}));
             },
         .model =
             [] {
               return scalars({3, 1, 2});
             }},
        {.name = "rows and words in a dict",
         .make =
             [] {
               return Dataset::from_tensor_slices(Element::dict(
                   {{"x", matrix(3, 2)}, {"y", words({"a", "", "ccc"})}}));
             },
         .model =
             [] {
               std::vector<Element> out;
               const std::string_view y[] = {"a", "", "ccc"};
               for (std::int64_t i = 0; i < 3; ++i) {
                 const auto first = static_cast<float>(2 * i);
                 out.push_back(
                     Element::dict({{"x", Tensor::from({first, first + 1})},
                                    {"y", Tensor::string(y[i])}}));
               }
               return out;
             }},
        {.name = "every third of a large array behind a filter",
         .make =
             [] {
               std::vector<std::int64_t> values(100);
               for (std::size_t i = 0; i < 100; ++i) {
                 values[i] = static_cast<std::int64_t>(i * i);
               }
               return Dataset::from_tensor_slices(Tensor::from(values))
                   .filter([](std::int64_t x) { return x % 3 == 0; });
             },
         .model =
             [] {
               std::vector<std::int64_t> out;
               for (std::int64_t i = 0; i < 100; i += 3) out.push_back(i * i);
               return scalars(out);
             }},
        {.name = "large rows, shuffled",
         .make =
             [] {
               return Dataset::from_tensor_slices(matrix(40, 600))
                   .shuffle(10, 3)
                   .batch(3);
             }},
        {.name = "rows of different length",
         .make =
             [] {
               using Ints = std::vector<std::int64_t>;
               return Dataset::from_tensor_slices(
                   Element::ragged(Tensor::from(Ints{1, 2, 3, 4, 5, 6}),
                                   {Tensor::from(Ints{0, 2, 2, 5, 6})}));
             },
         .model =
             [] {
               using Ints = std::vector<std::int64_t>;
               return std::vector<Element>{
                   Tensor::from(Ints{1, 2}), Tensor::from(Ints{}),
                   Tensor::from(Ints{3, 4, 5}), Tensor::from(Ints{6})};
             }},
        {.name = "none",
         .make = [] { return Dataset::from_tensor_slices(matrix(0, 4)); },
         .model = [] { return std::vector<Element>(); }},
    });

}  // namespace
}  // namespace penstock::testing
