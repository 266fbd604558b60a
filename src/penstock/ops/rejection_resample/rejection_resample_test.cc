#include "penstock/ops/rejection_resample/rejection_resample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/penstock.h"
#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_error;
using ::testing::HasSubstr;

// 90 % class 0, 10 % class 1.
std::int64_t label(std::int64_t x) { return x % 10 == 0 ? 1 : 0; }

double share_of_ones(const Dataset& ds) {
  std::int64_t ones = 0;
  std::int64_t all = 0;
  for (const Element& e : ds) {
    EXPECT_EQ(e[0].value<std::int64_t>(), label(e[1].value<std::int64_t>()));
    ones += e[0].value<std::int64_t>();
    ++all;
  }
  return static_cast<double>(ones) / static_cast<double>(all);
}

TEST(RejectionResample, ReachesTheTargetFromAKnownDistribution) {
  const auto ds = Dataset::range(20'000).rejection_resample(
      label, {0.5, 0.5}, {.initial_dist = {0.9, 0.1}, .seed = 1});
  // All 2,000 ones stay and about as many zeros: five standard deviations.
  EXPECT_NEAR(share_of_ones(ds), 0.5, 0.03);
}

TEST(RejectionResample, ReachesTheTargetByEstimating) {
  const auto ds =
      Dataset::range(20'000).rejection_resample(label, {0.5, 0.5}, {.seed = 1});
  EXPECT_NEAR(share_of_ones(ds), 0.5, 0.04);
}

TEST(RejectionResample, KeepsEverythingThatIsAsItShouldBe) {
  const auto ds = Dataset::range(100).rejection_resample(
      label, {9, 1}, {.initial_dist = {0.9, 0.1}});
  EXPECT_EQ(ds.to_list().size(), 100u);
}

TEST(RejectionResample, GivesClassAndElement) {
  const auto ds = Dataset::range(5).rejection_resample(label, {1, 1});
  EXPECT_EQ(ds.element_spec(), Spec::tuple({Spec::scalar<std::int64_t>(),
                                            Spec::scalar<std::int64_t>()}));
  EXPECT_TRUE(ds.cardinality().is_unknown());
}

TEST(RejectionResample, DependsOnTheSeedAndNotOnBlocks) {
  const auto make = [](std::uint64_t seed, std::int64_t rows) {
    return Dataset::range(500)
        .rejection_resample(label, {1, 1}, {.seed = seed})
        .with_options({.max_block_rows = rows})
        .to_list();
  };
  EXPECT_EQ(make(1, 1), make(1, 1 << 20));
  EXPECT_NE(make(1, 1 << 20), make(2, 1 << 20));
}

TEST(RejectionResample, AClassOutOfRangeIsAnErrorInPlace) {
  const auto ds = Dataset::range(3).rejection_resample(
      [](std::int64_t x) { return x; }, {1, 1}, {.initial_dist = {1, 1}});
  Iterator it = ds.iterator();
  EXPECT_TRUE(it.next().has_value());
  EXPECT_TRUE(it.next().has_value());
  EXPECT_EQ(build_error([&] { it.next(); }),
            "rejection_resample#1: element 2: class_func must give a class in "
            "[0, 2), it gave 2");
  EXPECT_FALSE(it.next().has_value());
}

TEST(RejectionResample, RefusesBadArguments) {
  const auto ds = Dataset::range(3);
  EXPECT_THAT(build_error([&] { ds.rejection_resample(label, {}); }),
              HasSubstr("target_dist must have a positive, finite sum, got 0"));
  EXPECT_THAT(build_error([&] {
                ds.rejection_resample(label, {1, -1});
              }),
              HasSubstr("target_dist must be finite and >= 0, got -1"));
  EXPECT_THAT(build_error([&] {
                ds.rejection_resample(label, {1, 1}, {.initial_dist = {1}});
              }),
              HasSubstr("initial_dist must have one value per class (2), "
                        "got 1"));
  EXPECT_THAT(build_error([&] {
                ds.rejection_resample(label, {1, 1}, {.initial_dist = {1, 0}});
              }),
              HasSubstr("got 0 for class 1"));
  EXPECT_THAT(build_error([&] {
                ds.rejection_resample([](std::int64_t) { return 0.5f; }, {1});
              }),
              HasSubstr("class_func must give a whole number"));
}

TEST(RejectionResample, RestoresAnywhere) {
  const auto make = [] {
    return Dataset::range(200).rejection_resample(label, {1, 1}, {.seed = 1});
  };
  const auto all = make().to_list();
  const auto ds = make();
  Iterator it = ds.iterator();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Iterator rest = ds.iterator(it.state_dict());
    for (std::size_t k = i; k < all.size(); ++k) {
      ASSERT_EQ(*rest.next(), all[k]) << i;
    }
    ASSERT_FALSE(rest.next().has_value());
    it.next();
  }
}

}  // namespace
}  // namespace penstock
