// Colour operations: TensorFlow's numbers, dtypes, bad arguments.
#include "penstock/image/color.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "penstock/image/convert.h"
#include "tests/support/pictures.h"

namespace penstock::image {
namespace {

using ::penstock::testing::noise;
using ::penstock::testing::picture;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

// Computed by TensorFlow 2.21 from this picture.
Tensor color_sample() {
  return Tensor::from(Bytes{10, 200, 30, 250, 5, 128, 77, 77, 77, 0, 255, 254})
      .reshaped(Shape{2, 2, 3});
}

void expect_bytes(const StatusOr<Tensor>& result, const Bytes& expected) {
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->as<std::uint8_t>(), ElementsAreArray(expected));
}

void expect_floats(const StatusOr<Tensor>& result,
                   const std::vector<float>& expected) {
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->as<float>().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(result->as<float>()[i], expected[i], 2e-6) << i;
  }
}

std::string message(const StatusOr<Tensor>& result) {
  return std::string(result.status().message());
}

TEST(Color, AdjustsBytesAsTensorFlowDoes) {
  expect_bytes(adjust_brightness(color_sample(), 0.1F),
               {35, 225, 55, 255, 30, 153, 102, 102, 102, 25, 255, 255});
  expect_bytes(adjust_contrast(color_sample(), 1.5F),
               {0, 233, 0, 255, 0, 131, 73, 48, 54, 0, 255, 255});
  expect_bytes(adjust_saturation(color_sample(), 0.5F),
               {105, 200, 115, 250, 127, 189, 77, 77, 77, 127, 255, 254});
  expect_bytes(adjust_saturation(color_sample(), 3),
               {0, 200, 21, 250, 0, 125, 77, 77, 77, 0, 255, 254});
  expect_bytes(adjust_hue(color_sample(), 0.2F),
               {10, 142, 200, 250, 176, 5, 77, 77, 77, 50, 0, 255});
  expect_bytes(adjust_hue(color_sample(), -0.4F),
               {200, 10, 66, 5, 226, 250, 77, 77, 77, 255, 152, 0});
  expect_bytes(adjust_gamma(color_sample(), 0.5F, 1.1F),
               {55, 248, 96, 255, 39, 199, 154, 154, 154, 0, 255, 255});
  expect_bytes(rgb_to_grayscale(color_sample()), {124, 92, 77, 178});
}

TEST(Color, ConvertsSpacesAsTensorFlowDoes) {
  const Tensor floats =
      convert_image_dtype(color_sample(), DType::kFloat32).value();
  expect_floats(rgb_to_hsv(floats),
                {0.350877F, 0.95F, 0.784314F, 0.916327F, 0.98F, 0.980392F, 0, 0,
                 0.301961F, 0.499346F, 1, 1});
  expect_floats(rgb_to_yuv(floats),
                {0.485529F, -0.181039F, -0.391543F, 0.361871F, 0.068940F,
                 0.542618F, 0.301961F, 0, 0, 0.700553F, 0.145431F, -0.614583F});
  const auto close = [&](const Tensor& back) {
    for (std::size_t i = 0; i < 12; ++i) {
      EXPECT_NEAR(back.as<float>()[i], floats.as<float>()[i], 1e-5);
    }
  };
  close(hsv_to_rgb(rgb_to_hsv(floats).value()).value());
  close(yuv_to_rgb(rgb_to_yuv(floats).value()).value());
  EXPECT_THAT(message(rgb_to_hsv(color_sample())),
              HasSubstr("rgb_to_hsv: image must be float16 or float32, got "
                        "uint8"));
}

TEST(Color, TurnsTheHueOfNegativeValuesAsTensorFlowDoes) {
  const std::vector<float> values = {-0.5F, -0.25F, -0.125F, 0,
                                     -0.5F, -0.25F, -0.75F,  0.25F,
                                     -0.5F, -0.25F, -0.25F,  -0.25F};
  const Tensor image =
      Tensor::from(std::span<const float>(values), Shape{1, 4, 3});
  expect_floats(adjust_hue(image, 0.2F),
                {-0.3F, -0.5F, -0.125F, 0, -0.15F, -0.5F, -0.75F, -0.2F, 0.25F,
                 -0.25F, -0.25F, -0.25F});
  expect_floats(adjust_hue(image, -0.4F),
                {-0.125F, -0.15F, -0.5F, -0.5F, -0.05F, 0, 0.25F, -0.75F, -0.6F,
                 -0.25F, -0.25F, -0.25F});
}

TEST(Color, StandardizesEachPicture) {
  const std::vector<float> expected = {-1.0701709F,  0.8928135F,   -0.86354095F,
                                       1.4093882F,   -1.1218283F,  0.14894572F,
                                       -0.37796062F, -0.37796062F, -0.37796062F,
                                       -1.1734859F,  1.4610457F,   1.4507142F};
  expect_floats(per_image_standardization(color_sample()), expected);
  std::vector<float> values;
  const Tensor bytes = color_sample();
  for (const std::uint8_t v : bytes.as<std::uint8_t>()) {
    values.push_back(static_cast<float>(v));
  }
  expect_floats(
      per_image_standardization(Tensor::from(values).reshaped(Shape{2, 2, 3})),
      expected);
  const Tensor batch = noise(Shape{3, 8, 9, 3});
  const Tensor all = per_image_standardization(batch).value();
  for (std::int64_t n = 0; n < 3; ++n) {
    EXPECT_EQ(all.row(n), per_image_standardization(batch.row(n)).value());
  }
  Tensor flat = Tensor::allocate<std::uint8_t>(Shape{4, 4, 3}).value();
  for (auto& v : flat.mutable_as<std::uint8_t>()) v = 9;
  const Tensor zeros = per_image_standardization(flat).value();
  for (const float v : zeros.as<float>()) EXPECT_EQ(v, 0);
}

TEST(Color, ContrastTakesTheMeanOfEachPictureOfABatch) {
  const Tensor batch = noise(Shape{2, 8, 9, 3});
  const Tensor all = adjust_contrast(batch, 2).value();
  for (std::int64_t n = 0; n < 2; ++n) {
    EXPECT_EQ(all.row(n), adjust_contrast(batch.row(n), 2).value());
  }
}

TEST(Color, KeepsTheDtypeOfWideAndFloatPictures) {
  const Tensor bytes = noise(Shape{6, 5, 3});
  for (const DType dtype : {DType::kUInt16, DType::kFloat16, DType::kFloat32}) {
    const Tensor image = convert_image_dtype(bytes, dtype).value();
    for (const auto& result :
         {adjust_brightness(image, 0.1F), adjust_contrast(image, 1.2F),
          adjust_saturation(image, 1.3F), adjust_hue(image, 0.1F),
          adjust_gamma(image, 1.1F)}) {
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->dtype(), dtype);
      EXPECT_NE(*result, image);
    }
  }
  const Tensor floats = convert_image_dtype(bytes, DType::kFloat32).value();
  EXPECT_NEAR(adjust_brightness(floats, 3)->as<float>()[0],
              floats.as<float>()[0] + 3, 1e-6)
      << "floats are not cut at 1";
}

TEST(Normalize, SubtractsAndDividesPerChannel) {
  const std::vector<float> mean = {1, 2, 3};
  const std::vector<float> deviation = {2, 4, 8};
  const Tensor result = normalize(color_sample(), mean, deviation).value();
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_FLOAT_EQ(result.as<float>()[i],
                    (static_cast<float>(color_sample().as<std::uint8_t>()[i]) -
                     mean[i % 3]) /
                        deviation[i % 3]);
  }
  const std::vector<float> one = {5};
  EXPECT_FLOAT_EQ(normalize(color_sample(), one, one)->as<float>()[1], 39);
}

TEST(Color, RefusesBadArguments) {
  const Tensor grey = noise(Shape{4, 4, 1});
  EXPECT_THAT(message(adjust_hue(color_sample(), 1.5F)),
              HasSubstr("adjust_hue: delta must be in [-1, 1], got 1.5"));
  EXPECT_THAT(message(adjust_saturation(color_sample(), -1)),
              HasSubstr("factor must be >= 0, got -1"));
  EXPECT_THAT(message(adjust_saturation(grey, 1)),
              HasSubstr("must have 3 channels, got (4, 4, 1)"));
  EXPECT_FALSE(adjust_gamma(grey, -1).ok());
  EXPECT_FALSE(adjust_brightness(grey, std::nanf("")).ok());
  EXPECT_FALSE(grayscale_to_rgb(color_sample()).ok());
  EXPECT_EQ(grayscale_to_rgb(grey)->shape(), (Shape{4, 4, 3}));
  const std::vector<float> two = {1, 2};
  const std::vector<float> zero = {0};
  EXPECT_THAT(message(normalize(color_sample(), two, two)),
              HasSubstr("normalize: mean must have 1 or 3 values, got 2"));
  EXPECT_THAT(message(normalize(color_sample(), zero, zero)),
              HasSubstr("std must be > 0, got 0"));
}

}  // namespace
}  // namespace penstock::image
