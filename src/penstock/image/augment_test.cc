// Random operations: keyed, within their ranges, in the right proportions.
#include "penstock/image/augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "penstock/image/geometry.h"
#include "tests/support/pictures.h"

namespace penstock::image {
namespace {

using ::penstock::testing::noise;
using ::testing::HasSubstr;

TEST(Random, TheKeyDecides) {
  const Tensor image = noise(Shape{12, 10, 3});
  const auto all = [&](std::uint64_t key) {
    return std::vector<Tensor>{
        random_flip_left_right(image, key).value(),
        random_flip_up_down(image, key).value(),
        random_brightness(image, key, 0.3).value(),
        random_contrast(image, key, {0.5, 1.5}).value(),
        random_saturation(image, key, {0.5, 1.5}).value(),
        random_hue(image, key, 0.3).value(),
        random_gamma(image, key, {0.5, 1.5}).value(),
        random_crop(image, {5, 5}, key).value(),
        random_resized_crop(image, {6, 6}, key).value(),
        color_jitter(image, key, {0.2, 0.2, 0.2, 0.1}).value()};
  };
  EXPECT_EQ(all(7), all(7));
  const auto first = all(1);
  std::vector<bool> changed(first.size(), false);
  for (std::uint64_t key = 2; key < 40; ++key) {
    const auto other = all(key);
    for (std::size_t i = 0; i < first.size(); ++i) {
      changed[i] = changed[i] || other[i] != first[i];
    }
  }
  for (std::size_t i = 0; i < changed.size(); ++i) EXPECT_TRUE(changed[i]) << i;
}

TEST(Random, FlipsHalfOfThePictures) {
  const Tensor image = noise(Shape{2, 3, 1});
  const Tensor flipped = flip_left_right(image).value();
  int flips = 0;
  for (std::uint64_t key = 0; key < 2000; ++key) {
    const Tensor result = random_flip_left_right(image, key).value();
    ASSERT_TRUE(result == image || result == flipped);
    flips += result == flipped ? 1 : 0;
  }
  EXPECT_NEAR(flips, 1000, 120);
  EXPECT_EQ(random_flip_left_right(image, 1, 0).value(), image);
  EXPECT_EQ(random_flip_left_right(image, 1, 1).value(), flipped);
  EXPECT_FALSE(random_flip_left_right(image, 1, 1.5).ok());
}

TEST(Random, FlipsEachPictureOfABatchForItself) {
  const Tensor batch = noise(Shape{64, 3, 4, 3});
  const auto picture = [](const Tensor& pictures, std::int64_t i) {
    constexpr std::size_t kBytes = std::size_t{3} * 4 * 3;
    return std::string_view(reinterpret_cast<const char*>(pictures.data()) +
                                static_cast<std::size_t>(i) * kBytes,
                            kBytes);
  };
  for (const auto& [random, all] :
       {std::pair(&random_flip_left_right, &flip_left_right),
        std::pair(&random_flip_up_down, &flip_up_down)}) {
    const Tensor flipped = all(batch).value();
    const Tensor result = random(batch, 5, 0.5).value();
    int flips = 0;
    for (std::int64_t i = 0; i < 64; ++i) {
      const bool flip = picture(result, i) == picture(flipped, i);
      EXPECT_TRUE(flip || picture(result, i) == picture(batch, i)) << i;
      flips += flip ? 1 : 0;
    }
    EXPECT_GT(flips, 12);
    EXPECT_LT(flips, 52);
    EXPECT_EQ(random(batch, 5, 0).value(), batch);
    EXPECT_EQ(random(batch, 5, 1).value(), flipped);
  }
}

TEST(Random, CropsReachEveryPlace) {
  std::set<std::pair<std::int64_t, std::int64_t>> places;
  for (std::uint64_t key = 0; key < 500; ++key) {
    const Window w = random_crop_window({6, 5}, {4, 4}, key).value();
    ASSERT_EQ(w.height, 4);
    ASSERT_EQ(w.width, 4);
    places.insert({w.y, w.x});
  }
  EXPECT_EQ(places.size(), 6U);
  EXPECT_THAT(
      std::string(random_crop_window({6, 5}, {7, 4}, 1).status().message()),
      HasSubstr("size 7 x 4 does not fit into the picture of 6 x 5"));
}

TEST(RandomResizedCrop, StaysWithinItsRanges) {
  double smallest = 1;
  double largest = 0;
  for (std::uint64_t key = 0; key < 2000; ++key) {
    const Window w = random_resized_crop_window({375, 500}, key).value();
    ASSERT_GE(w.y, 0);
    ASSERT_GE(w.x, 0);
    ASSERT_LE(w.y + w.height, 375);
    ASSERT_LE(w.x + w.width, 500);
    const auto area = static_cast<double>(w.height * w.width) / (375 * 500);
    const double ratio =
        static_cast<double>(w.width) / static_cast<double>(w.height);
    ASSERT_GT(ratio, 0.73);
    ASSERT_LT(ratio, 1.36);
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
  }
  EXPECT_LT(smallest, 0.1);
  EXPECT_GT(largest, 0.9);
  EXPECT_GT(smallest, 0.075);
  // No window of the ratio fits: the middle is taken.
  const Window w =
      random_resized_crop_window({10, 1000}, 3, {.scale = {0.9, 1}}).value();
  EXPECT_EQ(w, (Window{0, 493, 10, 13}));
  EXPECT_FALSE(
      random_resized_crop_window({9, 9}, 1, {.scale = {0.5, 0.2}}).ok());
}

TEST(SampleDistortedBoundingBox, CoversAnObject) {
  const std::vector<Box> boxes = {{0.1F, 0.2F, 0.4F, 0.5F}};
  for (std::uint64_t key = 0; key < 500; ++key) {
    const Window w = sample_distorted_bounding_box({200, 300}, boxes, key,
                                                   {.min_object_covered = 0.5})
                         .value();
    const std::int64_t h = std::min<std::int64_t>(w.y + w.height, 80) -
                           std::max<std::int64_t>(w.y, 20);
    const std::int64_t v = std::min<std::int64_t>(w.x + w.width, 150) -
                           std::max<std::int64_t>(w.x, 60);
    ASSERT_GT(h, 0);
    ASSERT_GE(h * v * 2, 60 * 90);
    ASSERT_GE(w.height * w.width, 200 * 300 / 20);
  }
  EXPECT_FALSE(sample_distorted_bounding_box({9, 9}, {}, 1).ok());
  EXPECT_TRUE(sample_distorted_bounding_box(
                  {9, 9}, {}, 1, {.use_image_if_no_bounding_boxes = true})
                  .ok());
  EXPECT_FALSE(
      sample_distorted_bounding_box({9, 9}, {{0.5F, 0, 0.2F, 1}}, 1).ok());
  // Nothing can cover all of it within this area: the whole picture.
  EXPECT_EQ(sample_distorted_bounding_box(
                {50, 50}, {{0, 0, 1, 1}}, 1,
                {.min_object_covered = 1, .area = {0.05, 0.5}})
                .value(),
            (Window{0, 0, 50, 50}));
}

TEST(Random, RefusesBadRanges) {
  const Tensor image = noise(Shape{4, 4, 3});
  EXPECT_FALSE(random_brightness(image, 1, -1).ok());
  EXPECT_THAT(
      std::string(random_hue(image, 1, 0.7).status().message()),
      HasSubstr("random_hue: max_delta must be low <= high in [0, 0.5]"));
  EXPECT_FALSE(random_contrast(image, 1, {2, 1}).ok());
  EXPECT_FALSE(color_jitter(image, 1, {.hue = 0.9}).ok());
  EXPECT_FALSE(color_jitter(noise(Shape{4, 4, 1}), 1, {.hue = 0.1}).ok());
  EXPECT_EQ(color_jitter(image, 1, {}).value(), image);
}

Tensor one_hot(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count * count), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i * count + i)] = 1;
  }
  return Tensor::from(std::span<const float>(values), Shape{count, count});
}

// Picture n is full of the value 10 * n.
Tensor flat_pictures(std::int64_t count) {
  Tensor images =
      Tensor::allocate<std::uint8_t>(Shape{count, 20, 30, 3}).value();
  auto values = images.mutable_as<std::uint8_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint8_t>(10 * (i / 1800));
  }
  return images;
}

TEST(Mixup, MixesPicturesAndLabelsAlike) {
  const Tensor images = flat_pictures(8);
  const Mixed mixed = mixup(images, one_hot(8), 5).value();
  EXPECT_EQ(mixed.images.dtype(), DType::kFloat32);
  bool any = false;
  for (std::int64_t n = 0; n < 8; ++n) {
    float sum = 0;
    float expected = 0;
    for (std::size_t k = 0; k < 8; ++k) {
      const float share = mixed.labels.row(n).as<float>()[k];
      sum += share;
      expected += share * 10 * static_cast<float>(k);
      any = any || (share > 0.001F && share < 0.999F);
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    for (const float v : mixed.images.row(n).as<float>()) {
      ASSERT_NEAR(v, expected, 1e-3);
    }
  }
  EXPECT_TRUE(any);
  EXPECT_EQ(mixup(images, one_hot(8), 5)->images, mixed.images);
  EXPECT_NE(mixup(images, one_hot(8), 6)->images, mixed.images);
}

TEST(Mixup, LambdaFollowsTheBetaDistribution) {
  // The share kept has mean 1/2 and variance 1 / (4 (2 alpha + 1)).
  double sum = 0;
  double squares = 0;
  int count = 0;
  const Tensor images = noise(Shape{64, 1, 1, 1});
  for (std::uint64_t key = 0; key < 60; ++key) {
    const Mixed mixed = mixup(images, one_hot(64), key, 0.4).value();
    for (std::int64_t n = 0; n < 64; ++n) {
      const double share =
          mixed.labels.row(n).as<float>()[static_cast<std::size_t>(n)];
      // Mixed with itself: nothing to learn from.
      double rest = 0;
      for (const float v : mixed.labels.row(n).as<float>()) {
        rest += v > 0 ? 1 : 0;
      }
      if (rest < 2) continue;
      sum += share;
      squares += share * share;
      ++count;
    }
  }
  const double mean = sum / count;
  EXPECT_NEAR(mean, 0.5, 0.03);
  EXPECT_NEAR(squares / count - mean * mean, 1 / (4 * 1.8), 0.015);
}

TEST(Cutmix, LabelsFollowTheAreaTaken) {
  const Tensor images = flat_pictures(8);
  for (std::uint64_t key = 0; key < 20; ++key) {
    const Mixed mixed = cutmix(images, one_hot(8), key).value();
    EXPECT_EQ(mixed.images.dtype(), DType::kUInt8);
    for (std::int64_t n = 0; n < 8; ++n) {
      std::vector<double> counts(8, 0);
      for (const std::uint8_t v : mixed.images.row(n).as<std::uint8_t>()) {
        counts[v / 10] += 1.0 / 1800;
      }
      for (std::size_t k = 0; k < 8; ++k) {
        ASSERT_NEAR(mixed.labels.row(n).as<float>()[k], counts[k], 1e-5);
      }
    }
  }
}

TEST(Mixup, RefusesBadArguments) {
  const Tensor images = flat_pictures(4);
  EXPECT_THAT(std::string(mixup(images, one_hot(3), 1).status().message()),
              HasSubstr("mixup: labels must be float32 [4, classes], got "
                        "float32 (3, 3)"));
  EXPECT_FALSE(mixup(images, one_hot(4), 1, 0).ok());
  EXPECT_FALSE(cutmix(images.row(0), one_hot(4), 1).ok());
}

}  // namespace
}  // namespace penstock::image
