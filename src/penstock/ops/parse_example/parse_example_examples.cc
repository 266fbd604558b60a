#include "tests/support/example.h"

namespace penstock::testing {
namespace {

using I64 = std::int64_t;

/// Example i: "x" is i, "v" has i % 3 values of i.
std::string record(I64 i) {
  return serialize_example(
             Element::dict({{"x", Tensor::scalar(i)},
                            {"v", Tensor::from(std::vector<float>(
                                      static_cast<std::size_t>(i % 3),
                                      static_cast<float>(i)))}}))
      .value();
}

Dataset example_records(I64 n, I64 damaged = -1) {
  return Dataset::range(n).map([damaged](I64 i) {
    return i == damaged ? std::string("\xff\xff") : record(i);
  });
}

std::vector<Feature> features() {
  return {fixed_len_feature("x", DType::kInt64),
          var_len_feature("v", DType::kFloat32)};
}

Element parse_example_row(I64 i) {
  return Element::dict(
      {{"x", Tensor::scalar(i)},
       {"v", Tensor::from(std::vector<float>(static_cast<std::size_t>(i % 3),
                                             static_cast<float>(i)))}});
}

std::vector<Element> rows(I64 n) {
  std::vector<Element> out;
  for (I64 i = 0; i < n; ++i) out.push_back(parse_example_row(i));
  return out;
}

PENSTOCK_EXAMPLES(
    parse_example,
    {
        {.name = "single records",
         .make = [] { return example_records(7).parse_example(features()); },
         .model = [] { return rows(7); }},
        {.name = "a batch",
         .make =
             [] {
               return example_records(5).batch(5).parse_example(
                   {fixed_len_feature("x", DType::kInt64)});
             },
         .model =
             [] {
               return std::vector<Element>{
                   Element::dict({{"x", Tensor::from<I64>({0, 1, 2, 3, 4})}})};
             }},
        {.name = "ragged batches",
         .make =
             [] {
               return example_records(8).batch(3).parse_example(features());
             }},
        {.name = "a damaged record",
         .make = [] { return example_records(5, 2).parse_example(features()); },
         .model =
             [] {
               auto out = rows(5);
               out[2] = failed();
               return out;
             }},
        {.name = "a damaged record in a batch",
         .make =
             [] {
               return example_records(4, 3).batch(2).parse_example(
                   {fixed_len_feature("x", DType::kInt64)});
             },
         .model =
             [] {
               return std::vector<Element>{
                   Element::dict({{"x", Tensor::from<I64>({0, 1})}}), failed()};
             }},
        {.name = "behind a filter",
         .make =
             [] {
               return example_records(6)
                   .filter([](std::string_view s) { return s != record(2); })
                   .parse_example(features());
             },
         .model =
             [] {
               auto out = rows(6);
               out.erase(out.begin() + 2);
               return out;
             }},
    });

PENSTOCK_EXAMPLES(
    parse_sequence_example,
    {
        {.name = "the context alone",
         .make =
             [] {
               return example_records(4).parse_sequence_example(
                   {fixed_len_feature("x", DType::kInt64)}, {});
             }},
        {.name = "sequences that are not there",
         .make =
             [] {
               return example_records(4, 1).parse_sequence_example(
                   {fixed_len_feature("x", DType::kInt64)},
                   {ragged_feature("s", DType::kInt64)});
             }},
        {.name = "behind a filter",
         .make =
             [] {
               return example_records(6)
                   .filter([](std::string_view s) { return s != record(2); })
                   .parse_sequence_example(
                       {fixed_len_feature("x", DType::kInt64)}, {})
                   .map([](const Element& e) { return e.child(0)["x"]; });
             },
         .model =
             [] {
               return scalars({0, 1, 3, 4, 5});
             }},
    });

}  // namespace
}  // namespace penstock::testing
