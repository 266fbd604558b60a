#include "tests/support/example.h"

namespace penstock::testing {
namespace {

Dataset growing_sequence(std::int64_t n) {
  return Dataset::range(n).map([](std::int64_t x) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(x % 5), x);
  });
}
std::int64_t length(std::span<const std::int64_t> x) {
  return static_cast<std::int64_t>(x.size());
}

PENSTOCK_EXAMPLES(
    bucket_by_sequence_length,
    {
        {"short and long ones",
         [] {
           return growing_sequence(6).bucket_by_sequence_length(length, {3},
                                                                {2, 2});
         },
         [] {
           return std::vector<Element>{
               Element(Tensor::from<std::int64_t>({0, 1}).reshaped({2, 1})),
               Element(Tensor::from<std::int64_t>({3, 3, 3, 0, 4, 4, 4, 4})
                           .reshaped({2, 4})),
               Element(
                   Tensor::from<std::int64_t>({2, 2, 0, 0}).reshaped({2, 2}))};
         }},
        {"padded to the boundary, behind a filter",
         [] {
           return growing_sequence(30)
               .filter([](std::span<const std::int64_t> x) {
                 return x.size() != 2;
               })
               .bucket_by_sequence_length(length, {2, 5}, {3, 4, 1},
                                          {.pad_to_bucket_boundary = true});
         }},
        {"too long for the last boundary",
         [] {
           return growing_sequence(15).bucket_by_sequence_length(
               length, {2, 4}, {3, 2, 1}, {.pad_to_bucket_boundary = true});
         }},
        {"without padding, remainder dropped",
         [] {
           return growing_sequence(20).bucket_by_sequence_length(
               length, {1, 2, 3, 4}, {2, 2, 3, 3, 3},
               {.no_padding = true, .drop_remainder = true});
         }},
    });

}  // namespace
}  // namespace penstock::testing
