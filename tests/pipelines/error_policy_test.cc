// What happens to elements that fail: raise, skip, replace.
#include <gtest/gtest.h>

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
  Iterator it = Dataset::range(4, 7).map(no_fives, {.name = "fives"}).iterator();
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
  }), 10);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_FALSE(got[1].ok());
  EXPECT_EQ(good(got), (std::vector<std::int64_t>{0, 2}));
}

TEST(ErrorPolicy, SkipTakesOutWhatFailedInItsStage) {
  const Outcomes got =
      run(Dataset::range(12).map(no_fives, {.on_error = ErrorPolicy::skip()}),
          100);
  EXPECT_EQ(good(got), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 7, 8, 9, 11}));
  EXPECT_EQ(got.size(), 9U);
}

TEST(ErrorPolicy, SkipWithALimitRaisesTheNext) {
  const Outcomes got = run(
      Dataset::range(12).map(no_fives, {.on_error = ErrorPolicy::skip(2)}),
      100);
  ASSERT_EQ(got.size(), 10U);
  EXPECT_FALSE(got[8].ok());
  EXPECT_NE(got[8].error.message().find("five in 10"), absl::string_view::npos);
  EXPECT_EQ(got[9].element[0].value<std::int64_t>(), 11);
}

TEST(ErrorPolicy, SkipWithARateRaisesBeyondIt) {
  // A fifth fails; a tenth is accepted.
  const Outcomes got = run(
      Dataset::range(200).map(no_fives,
                              {.on_error = ErrorPolicy::skip({}, 0.1)}),
      1000);
  const auto raised = std::count_if(got.begin(), got.end(),
                                    [](const Outcome& o) { return !o.ok(); });
  EXPECT_GT(raised, 10);
  EXPECT_LT(raised, 40);
  EXPECT_EQ(good(got).size(), 160U);
  // Half would be enough for all of them.
  const Outcomes all = run(
      Dataset::range(200).map(no_fives,
                              {.on_error = ErrorPolicy::skip({}, 0.5)}),
      1000);
  EXPECT_EQ(all.size(), 160U);
}

TEST(ErrorPolicy, ReplaceKeepsThePlace) {
  const Dataset dataset = Dataset::range(7).map(
      no_fives, {.on_error = ErrorPolicy::replace(
                     Tensor::scalar<std::int64_t>(-1))});
  EXPECT_EQ(good(run(dataset, 100)),
            (std::vector<std::int64_t>{-1, 1, 2, 3, 4, -1, 6}));
  EXPECT_EQ(dataset.cardinality(), Cardinality(7));
  EXPECT_EQ(dataset.at(5)[0].value<std::int64_t>(), -1);
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
