#include "tests/support/example.h"

namespace penstock::testing {
namespace {

Element pair_of(std::int64_t number, std::string_view text) {
  return Element::tuple({Tensor::scalar(number), Tensor::string(text)});
}

PENSTOCK_EXAMPLES(
    from_tensors,
    {
        {.name = "a vector",
         .make =
             [] {
               return Dataset::from_tensors(Tensor::from({1, 2, 3}));
             },
         .model =
             [] {
               return std::vector<Element>{Tensor::from({1, 2, 3})};
             }},
        {.name = "a pair, several times",
         .make =
             [] {
               return Dataset::from_tensors(pair_of(7, "seven")).repeat(3);
             },
         .model = [] { return std::vector<Element>(3, pair_of(7, "seven")); }},
        {.name = "batched after a repeat",
         .make =
             [] {
               return Dataset::from_tensors(Tensor::scalar(std::int64_t{5}))
                   .repeat(5)
                   .batch(2);
             },
         .model =
             [] {
               using V = std::vector<std::int64_t>;
               return std::vector<Element>{Tensor::from(V{5, 5}),
                                           Tensor::from(V{5, 5}),
                                           Tensor::from(V{5})};
             }},
        {.name = "nothing but structure",
         .make =
             [] { return Dataset::from_tensors(Element::tuple({})).repeat(2); },
         .model = [] { return std::vector<Element>(2, Element::tuple({})); }},
    });

}  // namespace
}  // namespace penstock::testing
