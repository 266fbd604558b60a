#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    rejection_resample,
    {
        {"one class of two",
         [] {
           return Dataset::range(10).rejection_resample(
               [](std::int64_t x) { return x % 2; }, {0, 1},
               {.initial_dist = {0.5, 0.5}, .seed = 1});
         },
         [] {
           std::vector<Element> out;
           for (std::int64_t x = 1; x < 10; x += 2) {
             out.push_back(
                 Element::tuple({Element(Tensor::scalar<std::int64_t>(1)),
                                 Element(Tensor::scalar(x))}));
           }
           return out;
         }},
        {"estimating, behind a filter",
         [] {
           return Dataset::range(150)
               .filter([](std::int64_t x) { return x % 7 != 0; })
               .rejection_resample(
                   [](std::int64_t x) { return x % 5 == 0 ? 1 : 0; },
                   {0.5, 0.5}, {.seed = 4});
         }},
        {"errors in the input and a class out of range",
         [] {
           return Dataset::range(30)
               .map([](std::int64_t x) {
                 if (x == 11) throw std::runtime_error("bad");
                 return x;
               })
               .rejection_resample(
                   [](std::int64_t x) { return x == 20 ? 7 : x % 3; },
                   {1, 2, 1}, {.initial_dist = {1, 1, 1}, .seed = 2});
         }},
    });

}  // namespace
}  // namespace penstock::testing
