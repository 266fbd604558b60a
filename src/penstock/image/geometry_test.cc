// Crops, pads, flips and turns against a model that names each pixel.
#include "penstock/image/geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numbers>

#include "penstock/image/convert.h"
#include "tests/support/pictures.h"

namespace penstock::image {
namespace {

using ::penstock::testing::noise;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// From (y, x) of the result to (y, x) of the input; y < 0 is a zero.
using Source = std::function<std::pair<std::int64_t, std::int64_t>(
    std::int64_t, std::int64_t)>;

void expect_moved(const Tensor& in, const StatusOr<Tensor>& out, Size size,
                  const Source& source) {
  ASSERT_TRUE(out.ok()) << out.status();
  const bool batched = in.rank() == 4;
  ASSERT_EQ(out->rank(), in.rank());
  for (std::int64_t n = 0; n < (batched ? in.shape()[0] : 1); ++n) {
    const Tensor a = batched ? in.row(n) : in;
    const Tensor b = batched ? out->row(n) : *out;
    const std::int64_t channels = a.shape()[2];
    ASSERT_EQ(b.shape(), (Shape{size.height, size.width, channels}));
    for (std::int64_t y = 0; y < size.height; ++y) {
      for (std::int64_t x = 0; x < size.width; ++x) {
        const auto [sy, sx] = source(y, x);
        for (std::int64_t c = 0; c < channels; ++c) {
          const int expected =
              sy < 0 ? 0
                     : a.as<std::uint8_t>()[static_cast<std::size_t>(
                           (sy * a.shape()[1] + sx) * channels + c)];
          ASSERT_EQ(b.as<std::uint8_t>()[static_cast<std::size_t>(
                        (y * size.width + x) * channels + c)],
                    expected)
              << y << " " << x;
        }
      }
    }
  }
}

TEST(Geometry, MovesEveryPixelToItsPlace) {
  for (const Shape& shape : {Shape{5, 7, 3}, Shape{1, 1, 1}, Shape{4, 6, 4},
                             Shape{2, 5, 7, 3}, Shape{3, 8, 2}}) {
    const Tensor in = noise(shape);
    const std::size_t first = shape.rank() - 3;
    const std::int64_t h = shape[first];
    const std::int64_t w = shape[first + 1];
    expect_moved(in, flip_left_right(in), {h, w},
                 [&](auto y, auto x) { return std::pair(y, w - 1 - x); });
    expect_moved(in, flip_up_down(in), {h, w},
                 [&](auto y, auto x) { return std::pair(h - 1 - y, x); });
    expect_moved(in, transpose(in), {w, h},
                 [&](auto y, auto x) { return std::pair(x, y); });
    expect_moved(in, rot90(in), {w, h},
                 [&](auto y, auto x) { return std::pair(x, w - 1 - y); });
    expect_moved(in, rot90(in, 2), {h, w}, [&](auto y, auto x) {
      return std::pair(h - 1 - y, w - 1 - x);
    });
    expect_moved(in, rot90(in, -1), {w, h},
                 [&](auto y, auto x) { return std::pair(h - 1 - x, y); });
    EXPECT_EQ(rot90(in, 4).value(), in);
    expect_moved(in, pad_to_bounding_box(in, 1, 2, {h + 2, w + 5}),
                 {h + 2, w + 5}, [&](auto y, auto x) {
                   const bool inside =
                       y >= 1 && y < h + 1 && x >= 2 && x < w + 2;
                   return inside ? std::pair(y - 1, x - 2)
                                 : std::pair(std::int64_t{-1}, x);
                 });
  }
}

TEST(Geometry, CropsTheWindow) {
  const Tensor in = noise(Shape{9, 8, 3});
  expect_moved(in, crop_to_bounding_box(in, {2, 3, 4, 5}), {4, 5},
               [](auto y, auto x) { return std::pair(y + 2, x + 3); });
  expect_moved(in, central_crop(in, 0.5), {5, 4},
               [](auto y, auto x) { return std::pair(y + 2, x + 2); });
  EXPECT_EQ(central_crop(in, 1).value(), in);
  expect_moved(in, resize_with_crop_or_pad(in, {4, 11}), {4, 11},
               [](auto y, auto x) {
                 return x < 1 || x > 8 ? std::pair(std::int64_t{-1}, x)
                                       : std::pair(y + 2, x - 1);
               });
  EXPECT_EQ(resize_with_crop_or_pad(in, {9, 8}).value(), in);
}

TEST(Geometry, RefusesBadArguments) {
  const Tensor in = noise(Shape{9, 8, 3});
  const auto message = [](const StatusOr<Tensor>& r) {
    return std::string(r.status().message());
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_THAT(message(crop_to_bounding_box(in, {6, 0, 4, 4})),
              HasSubstr("crop_to_bounding_box: the window y=6 x=0 height=4 "
                        "width=4 is not inside the picture of 9 x 8"));
  EXPECT_FALSE(crop_to_bounding_box(in, {kHuge, 0, kHuge, 1}).ok());
  EXPECT_FALSE(crop_to_bounding_box(in, {0, 0, 0, 1}).ok());
  EXPECT_THAT(message(pad_to_bounding_box(in, 1, 0, {9, 8})),
              HasSubstr("does not fit into 9 x 8"));
  EXPECT_FALSE(pad_to_bounding_box(in, -1, 0, {20, 20}).ok());
  EXPECT_FALSE(central_crop(in, 0).ok());
  EXPECT_FALSE(central_crop(in, 1.5).ok());
  EXPECT_FALSE(resize_with_crop_or_pad(in, {0, 3}).ok());
  EXPECT_FALSE(rotate(in, 1, {.interpolation = ResizeMethod::kArea}).ok());
  EXPECT_FALSE(flip_left_right(Tensor::from<float>({1})).ok());
}

TEST(Rotate, ByQuartersEqualsRot90) {
  const Tensor in = noise(Shape{7, 7, 3});
  for (std::int64_t k = 0; k < 4; ++k) {
    const double radians = static_cast<double>(k) * std::numbers::pi / 2;
    for (const ResizeMethod method :
         {ResizeMethod::kBilinear, ResizeMethod::kNearest}) {
      EXPECT_EQ(rotate(in, radians, {.interpolation = method}).value(),
                rot90(in, k).value());
    }
  }
}

TEST(Rotate, FillsWhatLiesOutside) {
  Tensor in = Tensor::allocate<float>(Shape{11, 11, 1}).value();
  for (auto& v : in.mutable_as<float>()) v = 1;
  const Tensor out =
      rotate(in, std::numbers::pi / 4, {.fill_value = 9}).value();
  EXPECT_EQ(out.as<float>()[0], 9);
  EXPECT_NEAR(out.as<float>()[60], 1, 1e-6);
}

TEST(Convert, ScalesBetweenDtypesAsTensorFlow) {
  const Tensor bytes = Tensor::from(std::vector<std::uint8_t>{0, 1, 128, 255});
  const Tensor floats = convert_image_dtype(bytes, DType::kFloat32).value();
  EXPECT_FLOAT_EQ(floats.as<float>()[1], 1 / 255.0F);
  EXPECT_FLOAT_EQ(floats.as<float>()[3], 1);
  EXPECT_EQ(convert_image_dtype(floats, DType::kUInt8).value(), bytes);
  EXPECT_THAT(convert_image_dtype(bytes, DType::kUInt16)->as<std::uint16_t>(),
              ElementsAre(0, 256, 32768, 65280));
  const Tensor words =
      Tensor::from(std::vector<std::uint16_t>{255, 256, 65535});
  EXPECT_THAT(convert_image_dtype(words, DType::kUInt8)->as<std::uint8_t>(),
              ElementsAre(0, 1, 255));
  const Tensor wild =
      Tensor::from(std::vector<float>{-1, 0.5F, 2, 0.0F / 0.0F});
  EXPECT_THAT(
      convert_image_dtype(wild, DType::kUInt8, true)->as<std::uint8_t>(),
      ElementsAre(0, 127, 255, 0));
  EXPECT_EQ(convert_image_dtype(floats, DType::kFloat32).value(), floats);
  EXPECT_EQ(
      to_float(convert_image_dtype(bytes, DType::kFloat16)->as<Float16>()[3]),
      1.0F);
  EXPECT_FALSE(convert_image_dtype(bytes, DType::kInt32).ok());
}

TEST(HwcToChw, PutsChannelsFirst) {
  const Tensor image =
      Tensor::from(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8})
          .reshaped(Shape{2, 2, 2});
  const Tensor planes = hwc_to_chw(image).value();
  EXPECT_EQ(planes.shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(planes.as<std::uint8_t>(), ElementsAre(1, 3, 5, 7, 2, 4, 6, 8));
  EXPECT_EQ(hwc_to_chw(noise(Shape{2, 4, 5, 3}))->shape(), (Shape{2, 3, 4, 5}));
}

}  // namespace
}  // namespace penstock::image
