#include "penstock/ops/sample_from_datasets/sample_from_datasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "penstock/penstock.h"
#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::int64_t> values(const Dataset& ds, std::size_t limit = 1e6) {
  std::vector<std::int64_t> out;
  Iterator it = ds.iterator();
  while (out.size() < limit) {
    auto e = it.next();
    if (!e) break;
    out.push_back((*e)[0].value<std::int64_t>());
  }
  return out;
}

TEST(SampleFromDatasets, EveryDatasetKeepsItsOrderAndIsReadToItsEnd) {
  const auto ds = Dataset::sample_from_datasets(
      {Dataset::range(50), Dataset::range(1000, 1020)}, {.seed = 1});
  EXPECT_EQ(ds.cardinality(), Cardinality(70));
  const auto got = values(ds);
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  for (const std::int64_t v : got) (v < 1000 ? low : high).push_back(v);
  EXPECT_EQ(low, values(Dataset::range(50)));
  EXPECT_EQ(high, values(Dataset::range(1000, 1020)));
}

TEST(SampleFromDatasets, DrawsInProportionToTheWeights) {
  const auto ds = Dataset::sample_from_datasets(
      {Dataset::range(0, 1).repeat(), Dataset::range(1, 2).repeat(),
       Dataset::range(2, 3).repeat()},
      {.weights = {1, 3, 6}, .seed = 2});
  EXPECT_TRUE(ds.cardinality().is_infinite());
  int counts[3] = {};
  for (const std::int64_t v : values(ds, 20'000)) ++counts[v];
  // Five standard deviations.
  EXPECT_NEAR(counts[0], 2000, 215);
  EXPECT_NEAR(counts[1], 6000, 325);
  EXPECT_NEAR(counts[2], 12000, 350);
}

TEST(SampleFromDatasets, TheOrderDependsOnTheSeedAndNotOnBlocks) {
  const auto make = [](std::uint64_t seed, std::int64_t rows) {
    return Dataset::sample_from_datasets(
               {Dataset::range(100), Dataset::range(1000, 1100)},
               {.seed = seed})
        .with_options({.max_block_rows = rows});
  };
  EXPECT_EQ(values(make(3, 1)), values(make(3, 1 << 20)));
  EXPECT_NE(values(make(3, 1 << 20)), values(make(4, 1 << 20)));
}

TEST(SampleFromDatasets, IterationsAreEqualUnlessRerandomized) {
  const auto make = [](bool again) {
    return Dataset::sample_from_datasets(
        {Dataset::range(100), Dataset::range(1000, 1100)},
        {.seed = 3, .rerandomize_each_iteration = again});
  };
  const auto same = make(false);
  EXPECT_EQ(values(same), values(same));
  const auto other = make(true);
  EXPECT_NE(values(other), values(other));
}

TEST(SampleFromDatasets, StopsAtTheFirstEmptyOneIfAsked) {
  const auto ds = Dataset::sample_from_datasets(
      {Dataset::range(3), Dataset::range(100, 101).repeat()},
      {.seed = 1, .stop_on_empty_dataset = true});
  EXPECT_TRUE(ds.cardinality().is_unknown());
  const auto got = values(ds);
  EXPECT_EQ(std::count_if(got.begin(), got.end(),
                          [](std::int64_t v) { return v < 100; }),
            3);
}

TEST(SampleFromDatasets, WhatHasNoWeightIsNeverRead) {
  const auto ds = Dataset::sample_from_datasets(
      {Dataset::range(0), Dataset::range(5)}, {.weights = {1, 0}});
  EXPECT_EQ(ds.cardinality(), Cardinality(0));
  EXPECT_THAT(values(ds), IsEmpty());
}

TEST(SampleFromDatasets, OriginsTellTheDatasetsApart) {
  const auto ds =
      Dataset::sample_from_datasets({Dataset::range(5), Dataset::range(5)},
                                    {.seed = 1})
          .map([](std::int64_t x, RandomStream& random) {
            return static_cast<std::int64_t>(random.next_u64() >> 1) + 0 * x;
          });
  auto got = values(ds);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(std::unique(got.begin(), got.end()), got.end());
}

TEST(SampleFromDatasets, RefusesBadArguments) {
  const std::vector<Dataset> two{Dataset::range(1), Dataset::range(2)};
  EXPECT_EQ(build_error([&] { Dataset::sample_from_datasets({}); }),
            "sample_from_datasets: datasets must not be empty, got 0");
  EXPECT_EQ(
      build_error(
          [&] { Dataset::sample_from_datasets(two, {.weights = {1}}); }),
      "sample_from_datasets: weights must have one value per dataset (2), "
      "got 1");
  EXPECT_EQ(build_error([&] {
              Dataset::sample_from_datasets(two, {.weights = {1, -1}});
            }),
            "sample_from_datasets: weights must be finite and >= 0, got -1");
  EXPECT_THAT(build_error([&] {
                Dataset::sample_from_datasets(two, {.weights = {0, 0}});
              }),
              HasSubstr("positive, finite sum, got 0"));
  EXPECT_THAT(build_error([&] {
                Dataset::sample_from_datasets(
                    {Dataset::range(1),
                     Dataset::range(1).map([](std::int64_t) { return 1.f; })});
              }),
              HasSubstr("sample_from_datasets: dataset 1: "));
}

TEST(SampleFromDatasets, RestoresAnywhere) {
  const auto ds = Dataset::sample_from_datasets(
      {Dataset::range(10), Dataset::range(100, 130),
       Dataset::range(200, 205).filter([](std::int64_t) { return true; })},
      {.seed = 8});
  const auto all = values(ds);
  Iterator it = ds.iterator();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Iterator rest = ds.iterator(it.state_dict());
    for (std::size_t k = i; k < all.size(); ++k) {
      ASSERT_EQ((*rest.next())[0].value<std::int64_t>(), all[k]) << i;
    }
    it.next();
  }
}

}  // namespace
}  // namespace penstock
