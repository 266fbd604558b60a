// Pinned outputs of everything that draws random numbers.
//
// A seed is a promise: the same elements on every machine, with every worker
// count, in every later version. Changing a list here is a breaking change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/penstock.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

std::vector<std::int64_t> values(const Dataset& dataset) {
  std::vector<std::int64_t> out;
  for (const Element& e : dataset) out.push_back(e[0].value<std::int64_t>());
  return out;
}

std::string hash(const Dataset& dataset) {
  Fingerprint fp;
  for (const std::int64_t v : values(dataset)) {
    fp.add(static_cast<std::uint64_t>(v));
  }
  return fp.hex();
}

TEST(Golden, ShuffleWindowOverEpochs) {
  const Dataset dataset = Dataset::range(12).shuffle(4, 7);
  EXPECT_THAT(values(dataset),
              ElementsAre(1, 3, 4, 0, 7, 8, 5, 6, 2, 9, 11, 10));
  EXPECT_THAT(values(dataset),
              ElementsAre(0, 3, 2, 5, 6, 8, 4, 1, 9, 10, 11, 7));
  EXPECT_THAT(values(dataset),
              ElementsAre(1, 0, 4, 2, 7, 8, 3, 10, 11, 6, 9, 5));
}

TEST(Golden, ShuffleWindowLargerThanTheInput) {
  EXPECT_THAT(values(Dataset::range(10).shuffle(100, 7)),
              ElementsAre(4, 7, 3, 1, 0, 5, 8, 6, 2, 9));
}

TEST(Golden, ShuffleWindowNotReshuffled) {
  const Dataset dataset = Dataset::range(10).shuffle(
      {.buffer_size = 4, .seed = 7, .reshuffle_each_iteration = false});
  EXPECT_THAT(values(dataset), ElementsAre(0, 4, 2, 5, 3, 1, 8, 7, 6, 9));
  EXPECT_THAT(values(dataset), ElementsAre(0, 4, 2, 5, 3, 1, 8, 7, 6, 9));
}

TEST(Golden, ShuffleWindowBehindAFilter) {
  EXPECT_THAT(values(Dataset::range(30)
                         .filter([](std::int64_t x) { return x % 3 == 0; })
                         .shuffle(4, 7)),
              ElementsAre(3, 9, 12, 0, 21, 24, 15, 18, 6, 27));
}

TEST(Golden, ShuffleWindowSeedOfTheOptions) {
  EXPECT_THAT(values(Dataset::range(10).shuffle(4).with_options({.seed = 7})),
              ElementsAre(0, 4, 5, 6, 7, 1, 9, 2, 3, 8));
}

TEST(Golden, ShuffleWindowUnderRepeat) {
  EXPECT_THAT(
      values(Dataset::range(6).shuffle(4, 7).repeat(3)),
      ElementsAre(1, 3, 0, 5, 2, 4, 1, 0, 4, 2, 3, 5, 3, 1, 0, 5, 2, 4));
}

TEST(Golden, ShuffleLargeWindows) {
  EXPECT_EQ(hash(Dataset::range(100000).shuffle(1000, 7)),
            "e56007d2fa26d851431068dcaea9b42e");
  EXPECT_EQ(hash(Dataset::range(100000).shuffle(65536, 8)),
            "cf33ac689c3189529027f9c01d3fea88");
}

TEST(Golden, GlobalShuffleSmall) {
  const Dataset dataset = Dataset::range(10).shuffle(kGlobal, 7);
  EXPECT_THAT(values(dataset), ElementsAre(9, 2, 6, 8, 5, 0, 1, 3, 7, 4));
  EXPECT_THAT(values(dataset), ElementsAre(4, 9, 7, 0, 2, 3, 6, 5, 8, 1));
  EXPECT_THAT(values(Dataset::range(2).shuffle(kGlobal, 7).repeat(4)),
              ElementsAre(1, 0, 1, 0, 0, 1, 1, 0));
  EXPECT_THAT(values(Dataset::range(5).shuffle(kGlobal, 7).repeat(2)),
              ElementsAre(4, 2, 0, 3, 1, 3, 2, 4, 0, 1));
}

TEST(Golden, GlobalShuffleLarge) {
  EXPECT_EQ(hash(Dataset::range(100000).shuffle(kGlobal, 7)),
            "f7bf0a9a5e2f961b30229478a7b6a356");
  EXPECT_THAT(
      values(Dataset::range(1'000'000'000'000).shuffle(kGlobal, 7).take(4)),
      ElementsAre(406696976907, 222304544917, 124092442020, 919642548542));
}

std::int64_t draw(std::int64_t, RandomStream& random) {
  return static_cast<std::int64_t>(random.below(1000));
}

TEST(Golden, RandomNumbersInAMap) {
  const Dataset dataset = Dataset::range(6).map(draw).with_options({.seed = 7});
  EXPECT_THAT(values(dataset), ElementsAre(89, 295, 220, 310, 887, 451));
  EXPECT_THAT(values(dataset), ElementsAre(991, 615, 878, 756, 766, 51));
}

TEST(Golden, RandomNumbersFollowTheElementNotItsPlace) {
  const auto even = [](std::int64_t x) { return x % 2 == 0; };
  EXPECT_THAT(
      values(Dataset::range(6).map(draw).with_options({.seed = 7}).skip(2)),
      ElementsAre(220, 310, 887, 451));
  EXPECT_THAT(values(Dataset::range(6).filter(even).map(draw).with_options(
                  {.seed = 7})),
              ElementsAre(906, 320, 665));
}

TEST(Golden, RandomNumbersUnderRepeat) {
  EXPECT_THAT(
      values(Dataset::range(3).map(draw).repeat(3).with_options({.seed = 7})),
      ElementsAre(201, 696, 204, 844, 368, 795, 687, 371, 527));
  EXPECT_THAT(values(Dataset::range(3)
                         .filter([](std::int64_t) { return true; })
                         .map(draw)
                         .repeat(3)
                         .with_options({.seed = 7})),
              ElementsAre(139, 21, 847, 917, 705, 725, 340, 226, 178));
}

TEST(Golden, RandomNumbersBehindABatch) {
  EXPECT_THAT(values(Dataset::range(9)
                         .batch(3)
                         .map([](const Tensor&, RandomStream& random) {
                           return static_cast<std::int64_t>(random.below(1000));
                         })
                         .with_options({.seed = 7})),
              ElementsAre(906, 333, 320));
}

TEST(Golden, RandomSource) {
  EXPECT_THAT(
      values(Dataset::random(7).take(5)),
      ElementsAre(670097689, 4293096188, 4058591190, 1511591826, 1026510311));
  EXPECT_THAT(values(Dataset::random().take(3).with_options({.seed = 7})),
              ElementsAre(46635310, 3660342803, 1571472218));
  const Dataset again = Dataset::random(7, true).take(3);
  EXPECT_THAT(values(again), ElementsAre(4128277256, 1009392043, 3662562230));
  EXPECT_THAT(values(again), ElementsAre(1186691613, 912916720, 2328311492));
}

TEST(Golden, SampleFromDatasets) {
  const std::vector<Dataset> three = {Dataset::range(100, 108),
                                      Dataset::range(200, 208),
                                      Dataset::range(300, 308)};
  EXPECT_THAT(
      values(Dataset::sample_from_datasets(three, {.seed = 7})),
      ElementsAre(100, 300, 301, 302, 101, 102, 103, 104, 200, 303, 105, 201,
                  106, 304, 107, 202, 203, 305, 306, 307, 204, 205, 206, 207));
  EXPECT_THAT(values(Dataset::sample_from_datasets(
                  three, {.weights = {0.6, 0.3, 0.1},
                          .seed = 7,
                          .stop_on_empty_dataset = true})),
              ElementsAre(100, 200, 201, 300, 101, 102, 103, 104, 202, 203, 105,
                          106, 107, 204));
}

TEST(Golden, RejectionResample) {
  const auto elements = [](const RejectionResampleOptions& options) {
    return values(Dataset::range(40)
                      .rejection_resample(
                          [](std::int64_t x) { return x % 4 == 0 ? 1 : 0; },
                          {0.5, 0.5}, options)
                      .map([](const Element& e) { return Element(e[1]); }));
  };
  EXPECT_THAT(elements({.initial_dist = {0.75, 0.25}, .seed = 7}),
              ElementsAre(0, 2, 4, 8, 9, 12, 16, 17, 18, 20, 21, 24, 28, 32, 35,
                          36, 38, 39));
  EXPECT_THAT(elements({.seed = 7}),
              ElementsAre(0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 18, 19,
                          20, 21, 23, 24, 26, 28, 30, 32, 35, 36, 38, 39));
}

TEST(Golden, StreamOfOneKey) {
  RandomStream random(7);
  std::vector<std::uint64_t> out;
  for (int i = 0; i < 4; ++i) out.push_back(random.next_u64());
  EXPECT_THAT(out, ElementsAre(13837866057460644397u, 1580108719113026114u,
                               14670401102720962203u, 17669291110527860587u));
}

}  // namespace
}  // namespace penstock
