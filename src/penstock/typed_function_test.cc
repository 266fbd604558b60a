// Typed lambdas: what they may take and give.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/penstock.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> shown(const Dataset& ds) {
  std::vector<std::string> out;
  for (const Element& element : ds.to_list())
    out.push_back(element.to_string());
  return out;
}

template <class F>
std::string build_error(F build) {
  try {
    build();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// (x, x / 2) for x in 0, 1, 2.
Dataset pairs() {
  return Dataset::range(3).map(
      [](std::int64_t x) { return std::pair(x, static_cast<float>(x) / 2); });
}

std::int64_t add(std::int64_t sum, std::int64_t x) { return sum + x; }
std::pair<std::int64_t, std::int64_t> running(std::int64_t sum,
                                              std::int64_t x) {
  return {sum + x, sum};
}

TEST(TypedFunction, TakesATupleAsOneArgument) {
  EXPECT_THAT(shown(pairs().map([](std::tuple<std::int64_t, float> t) {
                return static_cast<float>(std::get<0>(t)) + std::get<1>(t);
              })),
              ElementsAre("0", "1.5", "3"));
  EXPECT_THAT(shown(pairs().filter([](const std::pair<std::int64_t, float>& p) {
                return p.second > 0.75F;
              })),
              ElementsAre("(2, 1)"));
  EXPECT_THAT(shown(pairs().flat_map([](std::tuple<std::int64_t, float> t) {
                return Dataset::range(std::get<0>(t));
              })),
              ElementsAre("0", "0", "1"));
}

TEST(TypedFunction, TakesTuplesAmongOtherArguments) {
  EXPECT_THAT(shown(pairs().enumerate(5).map(
                  [](std::int64_t i, std::tuple<std::int64_t, float> t) {
                    return std::tuple(t, i);
                  })),
              ElementsAre("((0, 0), 5)", "((1, 0.5), 6)", "((2, 1), 7)"));
}

TEST(TypedFunction, NamesTheLeafOfATupleThatDoesNotFit) {
  EXPECT_EQ(
      build_error([] {
        pairs().map([](std::tuple<std::int64_t, std::int64_t> t) { return t; });
      }),
      "map: argument 1 of the function takes int64, the element has "
      "float32");
  EXPECT_EQ(build_error([] {
              Dataset::range(3).map(
                  [](std::tuple<std::int64_t, std::int64_t> t) { return t; });
            }),
            "map: the function takes 2 arguments, the element is int64");
}

TEST(TypedFunction, FoldsOverTuples) {
  EXPECT_THAT(shown(pairs().scan(
                  0,
                  [](std::int64_t sum, std::tuple<std::int64_t, float> t) {
                    return std::pair(sum + std::get<0>(t), sum);
                  })),
              ElementsAre("0", "0", "1"));
  // The numbers of the initial state take on the types of the argument.
  const Element fibonacci = Dataset::range(10).reduce(
      std::tuple(0, 1),
      [](std::tuple<std::int64_t, std::int64_t> s, std::int64_t) {
        return std::tuple(std::get<1>(s), std::get<0>(s) + std::get<1>(s));
      });
  EXPECT_EQ(fibonacci.to_string(), "(55, 89)");
  EXPECT_EQ(build_error([] {
              Dataset::range(3).reduce(
                  0, [](std::tuple<std::int64_t, std::int64_t> s,
                        std::int64_t) { return s; });
            }),
            "reduce: the function takes a tuple of 2 as its state, the state "
            "is int32");
}

TEST(TypedFunction, MayBeAPointer) {
  EXPECT_THAT(shown(Dataset::range(3).scan(0, running)),
              ElementsAre("0", "0", "1"));
  EXPECT_EQ(Dataset::range(5).reduce(0, &add).to_string(), "10");
}

TEST(TypedFunction, MayHoldWhatCannotBeCopied) {
  const auto five = [] { return std::make_unique<std::int64_t>(5); };
  EXPECT_THAT(shown(Dataset::from_indexable(
                  2, [p = five()](std::int64_t i) { return i + *p; })),
              ElementsAre("5", "6"));
  EXPECT_THAT(shown(Dataset::from_generator([p = five()] {
                return [q = std::make_unique<std::int64_t>(
                            *p)]() mutable -> std::optional<std::int64_t> {
                  if (*q == 7) return std::nullopt;
                  return (*q)++;
                };
              })),
              ElementsAre("5", "6"));
  EXPECT_THAT(shown(Dataset::range(2).scan(
                  0,
                  [p = five()](std::int64_t s, std::int64_t x) {
                    return std::pair(s + x + *p, s);
                  })),
              ElementsAre("0", "5"));
  EXPECT_EQ(Dataset::range(2)
                .reduce(0, [p = five()](std::int64_t s,
                                        std::int64_t) { return s + *p; })
                .to_string(),
            "10");
}

TEST(TypedFunction, GivesListsOfFlagsStringsAndFixedLength) {
  const Dataset one = Dataset::range(1);
  EXPECT_THAT(shown(one.map([](std::int64_t x) {
                return std::vector<bool>{x == 0, x == 1};
              })),
              ElementsAre("[true, false]"));
  EXPECT_THAT(shown(one.map([](std::int64_t) {
                return std::vector<std::string>{"a", "bc"};
              })),
              ElementsAre("['a', 'bc']"));
  EXPECT_THAT(shown(one.map([](std::int64_t) { return "text"; })),
              ElementsAre("'text'"));
  const Dataset array = one.map([](std::int64_t x) {
    return std::array<std::int64_t, 2>{x, 4};
  });
  EXPECT_EQ(array.element_spec().to_string(), "int64(2,)");
  EXPECT_THAT(shown(array), ElementsAre("[0, 4]"));
}

/// What each element of `ds` is, or the code of its error.
std::vector<std::string> outcomes(const Dataset& ds) {
  std::vector<std::string> out;
  Iterator it = ds.iterator();
  for (;;) {
    const auto next = it.try_next();
    if (!next.ok()) {
      out.push_back(absl::StatusCodeToString(next.status().code()));
    } else if (next->has_value()) {
      out.push_back((*next)->to_string());
    } else {
      return out;
    }
  }
}

Tensor nothing_at_one(std::int64_t x) {
  return x == 1 ? Tensor() : Tensor::scalar(x);
}

TEST(TypedFunction, TakesListsAsCopiesOfAnElementsValues) {
  const Dataset lists = Dataset::range(3).map([](std::int64_t x) {
    return std::vector<float>(static_cast<std::size_t>(x), 1.5F);
  });
  EXPECT_THAT(shown(lists.map([](std::vector<float> v) {
                v.push_back(static_cast<float>(v.size()));
                return v;
              })),
              ElementsAre("[0]", "[1.5, 1]", "[1.5, 1.5, 2]"));
  EXPECT_THAT(shown(lists
                        .map([](const std::vector<float>& v) {
                          return std::vector<bool>(v.size(), true);
                        })
                        .map([](const std::vector<bool>& v) {
                          return v.empty() || v.front();
                        })),
              ElementsAre("true", "true", "true"));
  const Dataset names = Dataset::range(2).map([](std::int64_t x) {
    return std::vector<std::string>{"a", std::to_string(x)};
  });
  EXPECT_THAT(shown(names.map([](const std::vector<std::string>& v) {
                return v[0] + v[1];
              })),
              ElementsAre("'a0'", "'a1'"));
  EXPECT_THAT(shown(names.map([](std::vector<std::string_view> v) {
                return std::string(v[1]);
              })),
              ElementsAre("'0'", "'1'"));
  EXPECT_THAT(outcomes(lists.map([](std::array<float, 2> v) { return v[1]; })),
              ElementsAre("INVALID_ARGUMENT", "INVALID_ARGUMENT", "1.5"));
  EXPECT_EQ(build_error([] {
              Dataset::range(3).map(
                  [](const std::array<std::int64_t, 2>& v) { return v[0]; });
            }),
            "map: argument 0 of the function takes int64(2,), the element has "
            "int64");
}

TEST(TypedFunction, GivesASpanWhichIsCopied) {
  const Dataset lists =
      Dataset::range(2)
          .map([](std::int64_t x) {
            return std::array<std::int64_t, 3>{x, 1, 2};
          })
          .map([](std::span<const std::int64_t> v) { return v.first(2); });
  EXPECT_EQ(lists.element_spec().to_string(), "int64(?,)");
  EXPECT_THAT(shown(lists), ElementsAre("[0, 1]", "[1, 1]"));
}

TEST(TypedFunction, MayTakeNumbersAndTensorsAsRvalues) {
  const Dataset three = Dataset::range(3);
  EXPECT_THAT(shown(three.map([](std::int64_t&& x) { return ++x; })),
              ElementsAre("1", "2", "3"));
  EXPECT_THAT(shown(three.map([](Tensor&& t) { return std::move(t); })),
              ElementsAre("0", "1", "2"));
}

TEST(TypedFunction, NothingAsAResultIsAnErrorOfItsElement) {
  const Dataset three = Dataset::range(3);
  const auto fails = ElementsAre("0", "INVALID_ARGUMENT", "2");
  EXPECT_THAT(outcomes(three.map(nothing_at_one)), fails);
  EXPECT_THAT(outcomes(three.map([](std::int64_t x) {
                return x == 1 ? Element() : Element(Tensor::scalar(x));
              })),
              fails);
  EXPECT_THAT(outcomes(three.map([](std::int64_t x) -> StatusOr<Tensor> {
                return nothing_at_one(x);
              })),
              fails);
  EXPECT_THAT(outcomes(three.map([](std::int64_t x) {
                return std::pair(nothing_at_one(x), x);
              })),
              ElementsAre("(0, 0)", "INVALID_ARGUMENT", "(2, 2)"));
  EXPECT_THAT(outcomes(three.map([](std::int64_t x) {
                return std::pair(x == 1 ? Element() : Tensor::scalar(x), x);
              })),
              ElementsAre("(0, 0)", "INVALID_ARGUMENT", "(2, 2)"));
  // In blocks of many.
  const auto many =
      outcomes(Dataset::range(3000)
                   .map([](std::int64_t x) {
                     return x == 2005 ? Tensor() : Tensor::scalar(x);
                   })
                   .skip(2004)
                   .take(3));
  EXPECT_THAT(many, ElementsAre("2004", "INVALID_ARGUMENT", "2006"));
}

TEST(TypedFunction, ANullStringIsAnErrorOfItsElement) {
  EXPECT_THAT(outcomes(Dataset::range(2).map([](std::int64_t x) {
                return x == 0 ? nullptr : static_cast<const char*>("a");
              })),
              ElementsAre("INVALID_ARGUMENT", "'a'"));
}

TEST(TypedFunction, AnErrorThatItThrowsKeepsItsCode) {
  EXPECT_THAT(outcomes(Dataset::range(1).map([](std::int64_t x) {
                if (x == 0) throw Error(absl::NotFoundError("no such key"));
                return x;
              })),
              ElementsAre("NOT_FOUND"));
}

TEST(TypedFunction, OutputSignatureMustFitItsType) {
  const Dataset ds = Dataset::range(2);
  const auto number = [](std::int64_t x) { return x; };
  const std::string error = build_error(
      [&] { ds.map(number, {.output_signature = Spec::scalar<float>()}); });
  EXPECT_THAT(error, ::testing::HasSubstr("float32"));
  EXPECT_THAT(error, ::testing::HasSubstr("int64"));
  EXPECT_NE(build_error([&] {
              ds.map(number, {.output_signature = Spec::tensor(
                                  DType::kInt64, PartialShape{3})});
            }),
            "");
  EXPECT_EQ(ds.map(number, {.output_signature = Spec(LeafSpec{})})
                .element_spec()
                .leaves()[0]
                .dtype,
            DType::kInt64);
}

TEST(TypedFunction, ResultsAreCheckedAgainstOutputSignature) {
  const Dataset ds = Dataset::range(2);
  EXPECT_THAT(outcomes(ds.map(
                  [](std::int64_t x) -> Tensor { return Tensor::scalar(x); },
                  {.output_signature = Spec::scalar<float>()})),
              ElementsAre("INVALID_ARGUMENT", "INVALID_ARGUMENT"));
  EXPECT_THAT(
      outcomes(ds.map(
          [](std::int64_t x) {
            return std::vector<std::int64_t>(static_cast<std::size_t>(x), x);
          },
          {.output_signature = Spec::tensor(DType::kInt64, PartialShape{1})})),
      ElementsAre("INVALID_ARGUMENT", "[1]"));
  const Spec declared = Spec::dict({{"a", Spec::scalar<std::int64_t>()},
                                    {"b", Spec::scalar<std::int64_t>()}});
  const Dataset dicts = ds.map(
      [](std::int64_t x) {
        const Element number = Tensor::scalar(x);
        return x == 0 ? Element::dict({{"a", number}, {"b", number}})
                      : Element::dict({{"b", number}, {"a", number}});
      },
      {.output_signature = declared});
  for (const Element& element : dicts.to_list()) {
    EXPECT_EQ(element.structure(), declared.structure());
  }
}

TEST(TypedFunction, NullIsRefusedWhenTheGraphIsBuilt) {
  const Dataset ds = Dataset::range(2);
  std::int64_t (*function)(std::int64_t) = nullptr;
  Dataset (*nested)(std::int64_t) = nullptr;
  const auto refused = [](auto build, const std::string& op,
                          const std::string& parameter = "fn") {
    EXPECT_EQ(build_error(build),
              op + ": " + parameter + " must be callable, got none");
  };
  refused([&] { ds.map(nullptr); }, "map");
  refused([&] { ds.map(function); }, "map");
  refused([&] { ds.map(std::function<int(std::int64_t)>()); }, "map");
  refused([&] { ds.filter(nullptr); }, "filter", "predicate");
  refused([&] { ds.take_while(nullptr); }, "take_while", "predicate");
  refused([&] { ds.flat_map(nullptr); }, "flat_map");
  refused([&] { ds.flat_map(nested); }, "flat_map");
  refused([&] { ds.interleave(nested); }, "interleave");
  refused([&] { Dataset::from_indexable(2, function); }, "from_indexable");
  std::int64_t (*fold)(std::int64_t, std::int64_t) = nullptr;
  refused([&] { ds.reduce(0, fold); }, "reduce");
}

TEST(TypedFunction, MayReturnAReference) {
  static const std::string text = "a";
  EXPECT_THAT(shown(Dataset::range(1).map(
                  [](std::int64_t) -> const std::string& { return text; })),
              ElementsAre("'a'"));
}

TEST(TypedFunction, NoCallIsStartedOnceAtIsCancelled) {
  const std::atomic<bool> cancel{true};
  std::atomic<int> calls{0};
  const Dataset ds = Dataset::range(3).map([&](std::int64_t x) {
    ++calls;
    return x;
  });
  try {
    ds.at(1, &cancel);
    ADD_FAILURE() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), absl::StatusCode::kCancelled);
  }
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace penstock
