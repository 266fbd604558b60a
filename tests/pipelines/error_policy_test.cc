// What happens to elements that fail: raise, skip, replace.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "penstock/penstock.h"
#include "tests/support/outcome.h"

namespace penstock::testing {
namespace {

StatusOr<std::int64_t> no_fives(std::int64_t x) {
  if (x % 5 == 0) return absl::DataLossError(absl::StrCat("five in ", x));
  return x;
}

std::vector<std::int64_t> good(const Outcomes& outcomes) {
  std::vector<std::int64_t> out;
  for (const Outcome& o : outcomes) {
    if (o.ok()) out.push_back(o.element[0].value<std::int64_t>());
  }
  return out;
}

TEST(ErrorPolicy, RaiseNamesStageElementAndCauseAndGoesOn) {
  Iterator it =
      Dataset::range(4, 7).map(no_fives, {.name = "fives"}).iterator();
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 4);
  try {
    (void)it.next();
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), StatusCode::kDataLoss);
    EXPECT_STREQ(e.what(), "map#1:fives: element 1: five in 5");
  }
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 6);
  EXPECT_FALSE(it.next().has_value());
}

TEST(ErrorPolicy, AnExceptionOfTheFunctionIsTheCause) {
  struct Mine : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  Iterator it = Dataset::range(1)
                    .map([](std::int64_t x) {
                      if (x == 0) throw Mine("my own");
                      return x;
                    })
                    .iterator();
  try {
    (void)it.next();
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    ASSERT_NE(e.cause(), nullptr);
    EXPECT_THROW(std::rethrow_exception(e.cause()), Mine);
  }
}

TEST(ErrorPolicy, AnythingMayBeThrown) {
  const Outcomes got = run(Dataset::range(3).map([](std::int64_t x) {
    if (x == 1) throw 42;  // NOLINT
    return x;
  }),
                           10);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_FALSE(got[1].ok());
  EXPECT_EQ(good(got), (std::vector<std::int64_t>{0, 2}));
}

TEST(ErrorPolicy, SkipTakesOutWhatFailedInItsStage) {
  const Outcomes got = run(
      Dataset::range(12).map(no_fives, {.on_error = ErrorPolicy::skip()}), 100);
  EXPECT_EQ(good(got), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 7, 8, 9, 11}));
  EXPECT_EQ(got.size(), 9U);
}

TEST(ErrorPolicy, SkipWithALimitRaisesTheNext) {
  const Outcomes got =
      run(Dataset::range(12).map(no_fives, {.on_error = ErrorPolicy::skip(2)}),
          100);
  ASSERT_EQ(got.size(), 10U);
  EXPECT_FALSE(got[8].ok());
  EXPECT_NE(got[8].error.message().find("five in 10"), absl::string_view::npos);
  EXPECT_NE(got[8].error.message().find("(not skipped: the limit is 2)"),
            absl::string_view::npos);
  EXPECT_EQ(got[9].element[0].value<std::int64_t>(), 11);
}

TEST(ErrorPolicy, SkipWithARateRaisesBeyondIt) {
  // A fifth fails; a tenth is accepted.
  const Outcomes got =
      run(Dataset::range(200).map(no_fives,
                                  {.on_error = ErrorPolicy::skip({}, 0.1)}),
          1000);
  const auto raised = std::count_if(got.begin(), got.end(),
                                    [](const Outcome& o) { return !o.ok(); });
  EXPECT_GT(raised, 10);
  EXPECT_LT(raised, 40);
  const auto first = std::find_if(got.begin(), got.end(),
                                  [](const Outcome& o) { return !o.ok(); });
  EXPECT_NE(first->error.message().find("elements failed, the rate is 0.1)"),
            absl::string_view::npos);
  EXPECT_EQ(good(got).size(), 160U);
  // Half would be enough for all of them.
  const Outcomes all =
      run(Dataset::range(200).map(no_fives,
                                  {.on_error = ErrorPolicy::skip({}, 0.5)}),
          1000);
  EXPECT_EQ(all.size(), 160U);
}

TEST(ErrorPolicy, SkipWithARateCountsFromTheFirstElement) {
  const auto raised = [](std::int64_t n, std::int64_t every, double rate) {
    const auto fails = [every](std::int64_t x) {
      if (x % every == 0) throw std::runtime_error("no");
      return x;
    };
    const Outcomes got = run(
        Dataset::range(n).map(fails, {.on_error = ErrorPolicy::skip({}, rate)}),
        1000);
    return std::count_if(got.begin(), got.end(),
                         [](const Outcome& o) { return !o.ok(); });
  };
  EXPECT_EQ(raised(200, 10, 0.1), 0) << "a tenth, evenly";
  EXPECT_GT(raised(10, 2, 0.1), 0) << "half of ten is no tenth";
  EXPECT_EQ(raised(10, 2, 0.5), 0);
  EXPECT_EQ(raised(4, 2, 0.0), 2);
}

TEST(ErrorPolicy, ReplaceKeepsThePlace) {
  const Dataset dataset = Dataset::range(7).map(
      no_fives,
      {.on_error = ErrorPolicy::replace(Tensor::scalar<std::int64_t>(-1))});
  EXPECT_EQ(good(run(dataset, 100)),
            (std::vector<std::int64_t>{-1, 1, 2, 3, 4, -1, 6}));
  EXPECT_EQ(dataset.cardinality(), Cardinality(7));
  EXPECT_EQ(dataset.at(5)[0].value<std::int64_t>(), -1);
}

TEST(ErrorPolicy, OfAStageLeavesTheErrorsOfOthersAlone) {
  const auto negative = Tensor::scalar<std::int64_t>(-1);
  const auto no_threes = [](std::int64_t x) -> StatusOr<std::int64_t> {
    if (x == 3) return absl::DataLossError("three");
    return x;
  };
  for (const ErrorPolicy& policy :
       {ErrorPolicy::skip(), ErrorPolicy::replace(negative)}) {
    const Outcomes got = run(Dataset::range(1, 7)
                                 .map(no_fives, {.name = "fives"})
                                 .map(no_threes, {.on_error = policy}),
                             100);
    const bool skip = policy.kind == ErrorPolicy::Kind::kSkip;
    ASSERT_EQ(got.size(), skip ? 5U : 6U);
    EXPECT_EQ(got[skip ? 3 : 4].error.message(),
              "map#1:fives: element 4: five in 5");
    EXPECT_EQ(good(got), skip ? (std::vector<std::int64_t>{1, 2, 4, 6})
                              : (std::vector<std::int64_t>{1, 2, -1, 4, 6}));
  }
}

StatusOr<bool> odd_but_no_fives(std::int64_t x) {
  if (x % 5 == 0) return absl::DataLossError(absl::StrCat("five in ", x));
  return x % 2 == 1;
}

TEST(ErrorPolicy, OfAFilterSkipsOrReplaces) {
  const Dataset range = Dataset::range(1, 12);
  EXPECT_EQ(good(run(range.filter(odd_but_no_fives,
                                  {.on_error = ErrorPolicy::skip()}),
                     100)),
            (std::vector<std::int64_t>{1, 3, 7, 9, 11}));
  EXPECT_EQ(good(run(range.filter(odd_but_no_fives,
                                  {.on_error = ErrorPolicy::replace(
                                       Tensor::scalar<std::int64_t>(-1))}),
                     100)),
            (std::vector<std::int64_t>{1, 3, -1, 7, 9, -1, 11}));
  const Outcomes raised = run(range.filter(odd_but_no_fives), 100);
  EXPECT_EQ(raised.size(), 7U);
}

TEST(ErrorPolicy, OfTheOptionsIsInheritedByEveryStage) {
  const Dataset dataset =
      Dataset::range(1, 12).filter(odd_but_no_fives).map(no_fives);
  const Options skip{.on_error = ErrorPolicy::skip()};
  EXPECT_EQ(good(run(dataset.with_options(skip), 100)),
            (std::vector<std::int64_t>{1, 3, 7, 9, 11}));
  EXPECT_EQ(run(dataset.with_options(skip), 100).size(), 5U);
  // Stages behind with_options too, and the outermost options win.
  EXPECT_EQ(
      run(Dataset::range(11).with_options(skip).map(no_fives), 100).size(), 8U);
  EXPECT_EQ(
      run(Dataset::range(11).map(no_fives).with_options(skip).with_options(
              {.on_error = ErrorPolicy::raise()}),
          100)
          .size(),
      11U);
}

TEST(ErrorPolicy, OfABranchHoldsInThatBranch) {
  const Options skip{.on_error = ErrorPolicy::skip()};
  const Dataset failing = Dataset::range(11).map(no_fives);
  const Dataset other = Dataset::range(11).with_options(skip);
  const auto failed = [](const Dataset& dataset) {
    const Outcomes got = run(dataset, 100);
    return std::count_if(got.begin(), got.end(),
                         [](const auto& element) { return !element.ok(); });
  };
  EXPECT_EQ(failed(Dataset::zip({other, failing})), 3);
  EXPECT_EQ(failed(other.concatenate(failing)), 3);
  EXPECT_EQ(failed(other.concatenate(Dataset::range(11)).map(no_fives)), 6);
  // In its own branch, also in datasets that a function makes there.
  EXPECT_EQ(failed(failing.with_options(skip).concatenate(failing)), 3);
  const Dataset nested = Dataset::range(2)
                             .flat_map([](std::int64_t) {
                               return Dataset::range(6).map(no_fives);
                             })
                             .with_options(skip);
  EXPECT_EQ(failed(nested.concatenate(failing)), 3);
  // What is said behind all branches holds in all.
  EXPECT_EQ(failed(failing.concatenate(failing).with_options(skip)), 0);
  EXPECT_EQ(failed(failing.with_options(skip).concatenate(failing).with_options(
                {.on_error = ErrorPolicy::raise()})),
            6);
}

TEST(ErrorPolicy, OfABranchActsBehindAGlobalShuffle) {
  const Dataset dataset = Dataset::range(11)
                              .map(no_fives)
                              .with_options({.on_error = ErrorPolicy::skip()})
                              .concatenate(Dataset::range(11).map(no_fives))
                              .shuffle(kGlobal, 3);
  const Outcomes got = run(dataset, 100);
  EXPECT_EQ(got.size(), 19U);
  EXPECT_EQ(good(got).size(), 16U);
}

TEST(ErrorPolicy, OfAStageWinsOverTheOptions) {
  const Outcomes got =
      run(Dataset::range(4, 12)
              .map(no_fives, {.on_error = ErrorPolicy::raise()})
              .with_options({.on_error = ErrorPolicy::skip()}),
          100);
  ASSERT_EQ(got.size(), 8U);
  EXPECT_FALSE(got[1].ok());
}

TEST(ErrorPolicy, OfTheOptionsShowsInCardinalityAndNames) {
  const Dataset plain = Dataset::range(10).map(no_fives, {.name = "fives"});
  EXPECT_EQ(plain.cardinality(), Cardinality(10));
  const Dataset skipping =
      plain.with_options({.on_error = ErrorPolicy::skip(3)});
  EXPECT_TRUE(skipping.cardinality().is_unknown());
  EXPECT_THROW((void)skipping.at(0), Error);
  EXPECT_NE(skipping.explain().find("on_error#1  on_error(skip, limit=3)"),
            std::string::npos)
      << skipping.explain();
  // Later stages keep their numbers.
  EXPECT_NE(skipping.take(2).explain().find("take#3"), std::string::npos);
  const Dataset replacing = plain.with_options(
      {.on_error = ErrorPolicy::replace(Tensor::scalar<std::int64_t>(-1))});
  EXPECT_EQ(replacing.cardinality(), Cardinality(10));
  EXPECT_EQ(replacing.at(5)[0].value<std::int64_t>(), -1);
}

TEST(ErrorPolicy, AnotherOneRefusesTheState) {
  const Dataset plain = Dataset::range(10).map(no_fives);
  Iterator it =
      plain.with_options({.on_error = ErrorPolicy::skip()}).iterator();
  (void)it.next();
  EXPECT_THROW((void)plain.with_options({}).iterator(it.state_dict()), Error);
}

TEST(ErrorPolicy, SkipOfTheOptionsActsBehindAGlobalShuffle) {
  const Dataset dataset = Dataset::range(20)
                              .with_options({.on_error = ErrorPolicy::skip()})
                              .map(no_fives)
                              .shuffle(kGlobal, 3);
  std::vector<std::int64_t> got = good(run(dataset, 100));
  EXPECT_EQ(run(dataset, 100).size(), 16U);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (std::vector<std::int64_t>{1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13,
                                            14, 16, 17, 18, 19}));
}

TEST(ErrorPolicy, BadOnesAreRefusedWhenTheGraphIsBuilt) {
  const auto message = [](const std::function<void()>& build) -> std::string {
    try {
      build();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  const Dataset range = Dataset::range(3);
  EXPECT_EQ(message([&] {
              (void)range.map(no_fives, {.on_error = ErrorPolicy::skip(-1)});
            }),
            "map: on_error: limit must be >= 0, got -1");
  EXPECT_EQ(
      message([&] {
        (void)range.with_options({.on_error = ErrorPolicy::skip({}, 1.5)});
      }),
      "with_options: on_error: rate must be in [0, 1], got 1.5");
  EXPECT_EQ(message([&] {
              (void)range.map(
                  no_fives,
                  {.on_error = ErrorPolicy::replace(Tensor::string("none"))});
            }),
            "map: on_error: value must fit int64, got string");
  EXPECT_EQ(message([&] {
              (void)range.map(no_fives).with_options(
                  {.on_error = ErrorPolicy::replace(Tensor::string("none"))});
            }),
            "on_error: map#1: on_error: value must fit int64, got string");
}

TEST(ErrorPolicy, WhatWasSkippedIsInQuarantine) {
  Iterator it =
      Dataset::range(12)
          .map(no_fives, {.on_error = ErrorPolicy::skip(2), .name = "fives"})
          .iterator();
  while (true) {
    auto next = it.try_next();
    if (next.ok() && !next->has_value()) break;
  }
  const IteratorStats stats = it.stats();
  EXPECT_EQ(stats.errors_skipped, 2);
  EXPECT_EQ(stats.errors_replaced, 0);
  ASSERT_EQ(stats.quarantine.size(), 2U);
  EXPECT_EQ(stats.quarantine[1].stage, "map#1:fives");
  EXPECT_EQ(stats.quarantine[1].element, "5");
  EXPECT_EQ(stats.quarantine[1].message, "DATA_LOSS: five in 5");
  EXPECT_FALSE(stats.quarantine[1].replaced);
  const std::string text = stats.to_string();
  EXPECT_NE(text.find("2 skipped"), std::string::npos) << text;
  EXPECT_NE(text.find("map#1:fives: element 5: DATA_LOSS: five in 5"),
            std::string::npos)
      << text;
}

TEST(ErrorPolicy, QuarantineKeepsTheFirstThousand) {
  Iterator it = Dataset::range(20000)
                    .map(no_fives)
                    .with_options({.on_error = ErrorPolicy::replace(
                                       Tensor::scalar<std::int64_t>(0))})
                    .iterator();
  while (it.next().has_value()) {
  }
  const IteratorStats stats = it.stats();
  EXPECT_EQ(stats.errors_replaced, 4000);
  EXPECT_EQ(stats.quarantine.size(), 1000U);
  EXPECT_TRUE(stats.quarantine[0].replaced);
}

TEST(ErrorPolicy, IgnoreErrorsFillsTheQuarantineToo) {
  Iterator it = Dataset::range(12).map(no_fives).ignore_errors().iterator();
  while (it.next().has_value()) {
  }
  EXPECT_EQ(it.stats().errors_skipped, 3);
  EXPECT_EQ(it.stats().quarantine.size(), 3U);
}

TEST(ErrorPolicy, AStageThatEndsBecauseOfMemoryIsNotSkipped) {
  const Outcomes got =
      run(Dataset::range(200)
              .map([](std::int64_t x) {
                return Tensor::from(std::vector<std::int64_t>(1000, x));
              })
              .filter([](std::span<const std::int64_t>) { return true; })
              .shuffle(200, 1)
              .ignore_errors()
              .with_options(
                  {.memory_budget = 200'000, .on_error = ErrorPolicy::skip()}),
          300);
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(got.back().error.code(), StatusCode::kResourceExhausted);
}

TEST(ErrorPolicy, AFailedElementOfABatchFailsTheBatchOnce) {
  const Outcomes got = run(Dataset::range(12).map(no_fives).batch(6), 100);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_NE(got[0].error.message().find("five in 0"), absl::string_view::npos);
  EXPECT_NE(got[0].error.message().find("and 1 more error"),
            absl::string_view::npos);
  EXPECT_NE(got[1].error.message().find("five in 10"), absl::string_view::npos);
}

}  // namespace
}  // namespace penstock::testing
