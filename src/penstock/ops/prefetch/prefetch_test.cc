#include <gmock/gmock.h>

#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;

TEST(Prefetch, RefusesBadArgumentsWhenTheGraphIsBuilt) {
  EXPECT_EQ(
      build_status([] { return Dataset::range(3).prefetch(-2); }).message(),
      "prefetch: n must be >= 0 or AUTOTUNE, got -2");
}

TEST(WithOptions, RefusesBudgetsOfNothingWhenTheGraphIsBuilt) {
  const auto refused = [](const Options& options) {
    const Status status =
        build_status([&] { return Dataset::range(3).with_options(options); });
    return std::string(status.message());
  };
  EXPECT_EQ(refused({.cpu_budget = 0}),
            "with_options: cpu_budget must be >= 1, got 0");
  EXPECT_EQ(refused({.memory_budget = -5}),
            "with_options: memory_budget must be >= 1, got -5");
}

TEST(WithOptions, StateMovesToOtherOptionsOrNone) {
  const auto plain = [] {
    return Dataset::range(40)
        .filter([](std::int64_t x) { return x % 3 != 0; })
        .shuffle(7, 5)
        .batch(4);
  };
  const auto one = [&] { return plain().with_options({.cpu_budget = 1}); };
  const auto two = [&] { return one().with_options({.cpu_budget = 2}); };
  const std::vector<std::function<Dataset()>> all = {plain, one, two};
  std::vector<std::string> rest;
  for (const Element& element : plain().to_list())
    rest.push_back(element.to_string());
  rest.erase(rest.begin(), rest.begin() + 3);
  for (const auto& from : all) {
    Iterator it = from().iterator();
    for (int i = 0; i < 3; ++i) it.next();
    for (const auto& to : all) {
      Iterator restored = to().iterator(it.state_dict());
      std::vector<std::string> got;
      while (auto element = restored.next()) {
        got.push_back(element->to_string());
      }
      EXPECT_EQ(got, rest);
    }
  }
}

TEST(WithOptions, StateMovesToNoOtherOrder) {
  const Dataset plain =
      Dataset::range(40).map([](std::int64_t x) { return x; }).shuffle(7, 5);
  const Dataset any_order = plain.with_options({.deterministic = false});
  const auto refused = [](const Dataset& from, const Dataset& to) {
    Iterator it = from.iterator();
    it.next();
    try {
      to.iterator(it.state_dict());
    } catch (const Error& error) {
      return error.code() == StatusCode::kFailedPrecondition;
    }
    return false;
  };
  EXPECT_TRUE(refused(plain, any_order));
  EXPECT_TRUE(refused(any_order, plain));
  // The outer one wins.
  const Dataset in_order = any_order.with_options({.deterministic = true});
  EXPECT_FALSE(refused(plain, in_order));
  EXPECT_TRUE(refused(any_order, in_order));
}

}  // namespace
}  // namespace penstock
