#include "penstock/ops/group_by_window/group_by_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "penstock/penstock.h"
#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> window_outcomes(const Dataset& ds) {
  std::vector<std::string> out;
  Iterator it = ds.iterator();
  for (;;) {
    auto next = it.try_next();
    if (!next.ok()) {
      out.emplace_back(to_std(next.status().message()));
    } else if (!next->has_value()) {
      return out;
    } else {
      std::string text;
      const Tensor& t = (**next)[0];
      for (const std::int64_t v : t.as<std::int64_t>()) {
        absl::StrAppend(&text, text.empty() ? "" : " ", v);
      }
      out.push_back(text);
    }
  }
}

Dataset batch10(std::int64_t, const Dataset& window) {
  return window.batch(10);
}

TEST(GroupByWindow, LetsFullWindowsOutAndLeftoversInKeyOrder) {
  const auto ds = Dataset::range(11).group_by_window(
      [](std::int64_t x) { return 2 - x % 3; }, batch10, {.window_size = 2});
  EXPECT_THAT(window_outcomes(ds),
              ElementsAre("0 3", "1 4", "2 5", "6 9", "7 10", "8"));
}

TEST(GroupByWindow, AWindowThatTheFunctionKeepsOutlivesTheIterator) {
  const std::int64_t before = Account::process().used();
  {
    std::vector<Dataset> kept;
    {
      Iterator it =
          Dataset::range(6)
              .group_by_window([](std::int64_t x) { return x % 2; },
                               [&kept](std::int64_t, const Dataset& window) {
                                 kept.push_back(window);
                                 return window;
                               },
                               {.window_size = 3})
              .with_options({.cpu_budget = 1})
              .iterator();
      while (it.next()) {
      }
    }
    ASSERT_EQ(kept.size(), 2U);
    EXPECT_THAT(window_outcomes(kept[1].batch(3)), ElementsAre("1 3 5"));
  }
  EXPECT_EQ(Account::process().used(), before);
}

TEST(GroupByWindow, LeftoversOfNegativeKeysComeFirst) {
  const auto ds = Dataset::range(4).group_by_window(
      [](std::int64_t x) { return x - 2; }, batch10, {.window_size = 5});
  EXPECT_THAT(window_outcomes(ds), ElementsAre("0", "1", "2", "3"));
}

TEST(GroupByWindow, TheReduceFunctionGetsTheKey) {
  const auto ds = Dataset::range(6).group_by_window(
      [](std::int64_t x) { return x % 2; },
      [](std::int64_t key, const Dataset& window) {
        return key == 0 ? window.batch(10) : window.take(1).batch(1);
      },
      {.window_size = 3});
  EXPECT_THAT(window_outcomes(ds), ElementsAre("0 2 4", "1"));
}

TEST(GroupByWindow, AWindowMayBeReadTwiceAndInAnyOrder) {
  const auto ds = Dataset::range(4).group_by_window(
      [](std::int64_t) { return 0; },
      [](std::int64_t, const Dataset& window) {
        EXPECT_EQ(window.cardinality(), Cardinality(2));
        EXPECT_EQ(window.at(1), window.to_list()[1]);
        return window.repeat(2).skip(1);
      },
      {.window_size = 2});
  EXPECT_THAT(window_outcomes(ds), ElementsAre("1", "0", "1", "3", "2", "3"));
}

TEST(GroupByWindow, ASizeForEachKeyIsAskedOncePerKey) {
  std::atomic<int> calls{0};
  const auto ds = Dataset::range(12).group_by_window(
      [](std::int64_t x) { return x % 2; }, batch10,
      {.window_size_func = [&](std::int64_t key) {
        ++calls;
        return 2 + key;
      }});
  EXPECT_THAT(window_outcomes(ds),
              ElementsAre("0 2", "1 3 5", "4 6", "8 10", "7 9 11"));
  EXPECT_EQ(calls, 2);
}

TEST(GroupByWindow, ABadSizeIsAnErrorInPlace) {
  const auto ds = Dataset::range(3).group_by_window(
      [](std::int64_t x) { return x; }, batch10,
      {.window_size_func = [](std::int64_t key) { return key - 1; }});
  EXPECT_THAT(window_outcomes(ds),
              ElementsAre(HasSubstr("must give >= 1, it gave -1 for key 0"),
                          HasSubstr("it gave 0 for key 1"), "2"));
}

TEST(GroupByWindow, ErrorsOfInputAndFunctionsStayInPlace) {
  const auto ds = Dataset::range(8)
                      .map([](std::int64_t x) {
                        if (x == 2) throw std::runtime_error("input");
                        return x;
                      })
                      .group_by_window(
                          [](std::int64_t x) {
                            if (x == 4) throw std::runtime_error("key");
                            return std::int64_t{0};
                          },
                          [](std::int64_t, const Dataset& window) {
                            if (window.at(0)[0].value<std::int64_t>() == 3) {
                              throw std::runtime_error("reduce");
                            }
                            return window.batch(10);
                          },
                          {.window_size = 2});
  EXPECT_THAT(window_outcomes(ds),
              ElementsAre("0 1", HasSubstr("input"), HasSubstr("key"),
                          HasSubstr("reduce"), "6 7"));
}

TEST(GroupByWindow, KeysMayBeOfAnyWholeType) {
  const auto ds = Dataset::range(4).group_by_window(
      [](std::int64_t x) { return static_cast<std::int32_t>(x % 2); }, batch10,
      {.window_size = 2});
  EXPECT_THAT(window_outcomes(ds), ElementsAre("0 2", "1 3"));
}

TEST(GroupByWindow, KeysOfUnknownSpecAreCheckedAtRunTime) {
  const auto ds = Dataset::range(3).group_by_window(
      [](const Element& e) -> Element {
        if (e[0].value<std::int64_t>() == 1) {
          return Element(Tensor::scalar(1.5f));
        }
        return Element(Tensor::scalar<std::int64_t>(0));
      },
      batch10, {.window_size = 2});
  EXPECT_THAT(window_outcomes(ds),
              ElementsAre(HasSubstr("must give a whole number"), "0 2"));
}

TEST(GroupByWindow, RefusesBadArguments) {
  const auto ds = Dataset::range(3);
  const auto key = [](std::int64_t x) { return x; };
  EXPECT_EQ(build_error([&] { ds.group_by_window(key, batch10, {}); }),
            "group_by_window: window_size must be >= 1, got 0");
  EXPECT_EQ(build_error([&] {
              ds.group_by_window(
                  key, batch10,
                  {.window_size = 2,
                   .window_size_func = [](std::int64_t k) { return k; }});
            }),
            "group_by_window: give either window_size or window_size_func");
  EXPECT_EQ(build_error(
                [&] { ds.group_by_window(key, batch10, {.window_size = -1}); }),
            "group_by_window: window_size must be >= 1, got -1");
  EXPECT_THAT(build_error([&] {
                ds.group_by_window([](std::int64_t) { return 1.f; }, batch10,
                                   {.window_size = 1});
              }),
              HasSubstr("the key function must give a whole number, it gives "
                        "float32"));
}

TEST(GroupByWindow, OverAnEmptyInputIsEmpty) {
  const auto ds = Dataset::range(0).group_by_window(
      [](std::int64_t x) { return x; }, batch10, {.window_size = 1});
  EXPECT_EQ(ds.cardinality(), Cardinality(0));
  EXPECT_THAT(window_outcomes(ds), IsEmpty());
}

TEST(GroupByWindow, RestoresAnywhereWithASmallState) {
  const auto ds =
      Dataset::range(200)
          .filter([](std::int64_t x) { return x % 7 != 3; })
          .group_by_window([](std::int64_t x) { return x * x % 11; }, batch10,
                           {.window_size = 3});
  const auto all = window_outcomes(ds);
  Iterator it = ds.iterator();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string state = it.state_dict();
    ASSERT_LT(state.size(), 1000u);
    Iterator rest = ds.iterator(state);
    for (std::size_t k = i; k < all.size(); ++k) {
      auto e = rest.next();
      ASSERT_TRUE(e.has_value()) << i << " " << k;
      std::string text;
      for (const std::int64_t v : (*e)[0].as<std::int64_t>()) {
        absl::StrAppend(&text, text.empty() ? "" : " ", v);
      }
      ASSERT_EQ(text, all[k]) << "saved at " << i;
    }
    ASSERT_FALSE(rest.next().has_value());
    it.next();
  }
}

}  // namespace
}  // namespace penstock
