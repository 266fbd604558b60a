#include <stdexcept>
#include <string>
#include <tuple>

#include "tests/support/example.h"

namespace penstock::testing {
namespace {

PENSTOCK_EXAMPLES(
    map,
    {
        {.name = "of numbers",
         .make =
             [] {
               return Dataset::range(5).map(
                   [](std::int64_t x) { return x * x; });
             },
         .model =
             [] {
               return scalars({0, 1, 4, 9, 16});
             }},
        {.name = "of a map",
         .make =
             [] {
               return Dataset::range(40)
                   .map([](std::int64_t x) { return x + 1; })
                   .map([](std::int64_t x) { return x * 2; });
             },
         .model =
             [] {
               std::vector<std::int64_t> out;
               for (std::int64_t x = 0; x < 40; ++x) out.push_back(2 * (x + 1));
               return scalars(out);
             }},
        {.name = "to a tuple and back",
         .make =
             [] {
               return Dataset::range(4)
                   .map([](std::int64_t x) {
                     return std::make_tuple(
                         x, std::string(static_cast<std::size_t>(x), 'a'));
                   })
                   .map([](std::int64_t x, std::string_view s) {
                     return 100 * x + static_cast<std::int64_t>(s.size());
                   });
             },
         .model =
             [] {
               return scalars({0, 101, 202, 303});
             }},
        {.name = "to vectors of different length",
         .make =
             [] {
               return Dataset::range(4).map([](std::int64_t x) {
                 return std::vector<float>(static_cast<std::size_t>(x), 0.5F);
               });
             },
         .model =
             [] {
               std::vector<Element> out;
               for (std::size_t n = 0; n < 4; ++n) {
                 out.emplace_back(Tensor::from(std::vector<float>(n, 0.5F)));
               }
               return out;
             }},
        {.name = "of unknown spec",
         .make =
             [] {
               return Dataset::range(6).map(
                   [](const Element& e) -> StatusOr<Element> {
                     const auto x = e[0].value<std::int64_t>();
                     if (x % 2 == 0) return e;
                     return Element::tuple({e, e});
                   });
             },
         .model =
             [] {
               std::vector<Element> out;
               for (Element& e : scalars({0, 1, 2, 3, 4, 5})) {
                 const bool even = e[0].value<std::int64_t>() % 2 == 0;
                 out.push_back(even ? e : Element::tuple({e, e}));
               }
               return out;
             }},
        {.name = "that fails for some",
         .make =
             [] {
               return Dataset::range(8).map(
                   [](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x % 3 == 1) return absl::DataLossError("no");
                     return x;
                   });
             },
         .model =
             [] {
               std::vector<Element> out = scalars({0, 1, 2, 3, 4, 5, 6, 7});
               out[1] = out[4] = out[7] = failed();
               return out;
             }},
        {.name = "that throws",
         .make =
             [] {
               return Dataset::range(5).map([](std::int64_t x) {
                 if (x == 2) throw std::runtime_error("two");
                 return -x;
               });
             },
         .model =
             [] {
               std::vector<Element> out = scalars({0, -1, -2, -3, -4});
               out[2] = failed();
               return out;
             }},
        {.name = "that fails, skipping",
         .make =
             [] {
               return Dataset::range(8).map(
                   [](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x % 3 == 1) return absl::DataLossError("no");
                     return x;
                   },
                   {.on_error = ErrorPolicy::skip()});
             },
         .model =
             [] {
               return scalars({0, 2, 3, 5, 6});
             }},
        {.name = "that fails, replacing",
         .make =
             [] {
               return Dataset::range(5).map(
                   [](std::int64_t x) -> StatusOr<std::int64_t> {
                     if (x % 3 == 1) return absl::DataLossError("no");
                     return x;
                   },
                   {.on_error = ErrorPolicy::replace(
                        Tensor::scalar<std::int64_t>(-1))});
             },
         .model =
             [] {
               return scalars({0, -1, 2, 3, -1});
             }},
        {.name = "behind a filter, one at a time",
         .make =
             [] {
               return Dataset::range(60)
                   .filter([](std::int64_t x) { return x % 2 == 0; })
                   .map([](std::int64_t x) { return x + 1; },
                        {.num_parallel_calls = 1});
             },
         .model =
             [] {
               std::vector<std::int64_t> out;
               for (std::int64_t x = 0; x < 60; x += 2) out.push_back(x + 1);
               return scalars(out);
             }},
        {.name = "of two maps with widths",
         .make =
             [] {
               return Dataset::range(30)
                   .map([](std::int64_t x) { return x + 1; },
                        {.num_parallel_calls = 3})
                   .map([](std::int64_t x) { return x * 2; },
                        {.num_parallel_calls = 2});
             }},
        {.name = "with random numbers",
         .make =
             [] {
               return Dataset::range(50).map(
                   [](std::int64_t x, RandomStream& random) {
                     return 1000 * x +
                            static_cast<std::int64_t>(random.below(1000));
                   });
             }},
        {.name = "in any order",
         .make =
             [] {
               return Dataset::range(100).map(
                   [](std::int64_t x) { return x + 1; },
                   {.deterministic = false});
             },
         .ordered = false},
    });

}  // namespace
}  // namespace penstock::testing
