// The fused path gives the bits of the single operations.
#include "penstock/image/fused.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "penstock/base/random.h"
#include "penstock/image/color.h"
#include "penstock/image/encode.h"
#include "penstock/image/geometry.h"
#include "penstock/memory/placement.h"
#include "tests/support/pictures.h"

namespace penstock::image {
namespace {

using ::penstock::testing::picture;
using ::testing::HasSubstr;

// The chain written out, as a user would.
StatusOr<Tensor> one_by_one(std::string_view file,
                            const TransformOptions& options) {
  PS_ASSIGN_OR_RETURN(Tensor image, decode_jpeg(file, options.decode));
  if (options.crop) {
    PS_ASSIGN_OR_RETURN(const Window window,
                        options.crop({image.shape()[0], image.shape()[1]}));
    PS_ASSIGN_OR_RETURN(image, crop_to_bounding_box(image, window));
  }
  if (options.size) {
    PS_ASSIGN_OR_RETURN(image, resize(image, *options.size, options.resize));
  }
  if (options.flip_left_right) {
    PS_ASSIGN_OR_RETURN(image, flip_left_right(image));
  }
  if (options.normalize) {
    PS_ASSIGN_OR_RETURN(image, normalize(image, options.normalize->mean,
                                         options.normalize->std));
  }
  if (options.finish) {
    Tensor floats = Tensor::allocate<float>(image.shape()).value();
    for (std::int64_t i = 0; i < image.num_elements(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      floats.mutable_as<float>()[at] =
          image.dtype() == DType::kUInt8
              ? static_cast<float>(image.as<std::uint8_t>()[at])
              : image.as<float>()[at];
    }
    options.finish(floats.mutable_as<float>());
    return floats;
  }
  return image;
}

TEST(DecodeAndTransform, EqualsTheSingleOperationsOnRandomChains) {
  RandomStream random(11);
  const auto below = [&](std::uint64_t n) {
    return static_cast<std::int64_t>(random.below(n));
  };
  for (int round = 0; round < 400; ++round) {
    const std::int64_t h = 1 + below(90);
    const std::int64_t w = 1 + below(90);
    const std::int64_t stored = below(4) == 0 ? 1 : 3;
    const std::string file = encode_jpeg(picture(h, w, stored),
                                         {.progressive = below(3) == 0,
                                          .chroma_downsampling = below(2) == 0})
                                 .value();
    TransformOptions options;
    constexpr int kChannels[] = {0, 1, 3, 4};
    options.decode.channels = kChannels[below(4)];
    options.decode.fancy_upscaling = below(4) != 0;
    if (below(3) != 0) {
      const Window window{below(static_cast<std::uint64_t>(h)),
                          below(static_cast<std::uint64_t>(w)), 0, 0};
      Window whole = window;
      whole.height = 1 + below(static_cast<std::uint64_t>(h - window.y));
      whole.width = 1 + below(static_cast<std::uint64_t>(w - window.x));
      options.crop = [whole](Size) -> StatusOr<Window> { return whole; };
    }
    if (below(4) != 0) options.size = Size{1 + below(70), 1 + below(70)};
    options.resize.method = static_cast<ResizeMethod>(below(8));
    options.resize.antialias = below(2) == 0;
    options.resize.preserve_aspect_ratio = below(4) == 0;
    options.flip_left_right = below(2) == 0;
    if (below(2) == 0) {
      options.normalize = Normalization{{123.675F}, {58.395F}};
    }
    if (below(2) == 0) {
      options.finish = [](std::span<float> values) {
        for (float& v : values) v = v / 3 - 1;
      };
    }
    const auto expected = one_by_one(file, options);
    const auto fused = decode_and_transform(file, options);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(fused.ok()) << fused.status();
    ASSERT_EQ(*fused, *expected) << round << " " << h << " x " << w << " "
                                 << resize_method_name(options.resize.method);
  }
}

TEST(DecodeAndTransform, AsksForTheWindowWithTheStoredSize) {
  const std::string file = encode_jpeg(picture(50, 70, 3)).value();
  Size asked;
  TransformOptions options;
  options.crop = [&](Size size) -> StatusOr<Window> {
    asked = size;
    return Window{10, 20, 30, 40};
  };
  EXPECT_EQ(decode_and_transform(file, options)->shape(), (Shape{30, 40, 3}));
  EXPECT_EQ(asked, (Size{50, 70}));
  options.crop = [](Size) -> StatusOr<Window> { return Window{30, 0, 30, 40}; };
  EXPECT_THAT(
      std::string(decode_and_transform(file, options).status().message()),
      HasSubstr("is not inside the picture of 50 x 70"));
  options.crop = [](Size) -> StatusOr<Window> {
    return invalid_argument("mine");
  };
  EXPECT_EQ(decode_and_transform(file, options).status().message(), "mine");
}

TEST(DecodeAndTransform, ScaledDecodingStaysNear) {
  const std::string file = encode_jpeg(picture(400, 500, 3)).value();
  for (const Size size : {Size{198, 245}, Size{90, 100}, Size{48, 60}}) {
    for (const bool antialias : {false, true}) {
      TransformOptions options;
      options.size = size;
      options.resize.antialias = antialias;
      options.flip_left_right = true;
      options.crop = [](Size) -> StatusOr<Window> {
        return Window{3, 5, 397, 491};
      };
      const Tensor exact = decode_and_transform(file, options).value();
      options.allow_scaled_decoding = true;
      const Tensor scaled = decode_and_transform(file, options).value();
      ASSERT_EQ(scaled.shape(), exact.shape());
      EXPECT_NE(scaled, exact) << "it was not decoded smaller";
      double sum = 0;
      for (std::size_t i = 0; i < exact.as<float>().size(); ++i) {
        sum += std::abs(exact.as<float>()[i] - scaled.as<float>()[i]);
      }
      EXPECT_LT(sum / static_cast<double>(exact.num_elements()),
                antialias ? 2.5 : 5)
          << size.height;
    }
  }
  // No smaller picture has the pixels: nothing changes.
  TransformOptions options;
  options.size = Size{201, 251};
  const Tensor exact = decode_and_transform(file, options).value();
  options.allow_scaled_decoding = true;
  EXPECT_EQ(decode_and_transform(file, options).value(), exact);
}

TEST(DecodeAndTransform, TakesOtherFormatsToo) {
  const Tensor image = picture(20, 30, 3);
  TransformOptions options;
  options.size = Size{8, 9};
  options.flip_left_right = true;
  const Tensor expected =
      flip_left_right(resize(image, {8, 9}).value()).value();
  EXPECT_EQ(decode_and_transform(encode_png(image).value(), options).value(),
            expected);
  EXPECT_FALSE(decode_and_transform("text", options).ok());
}

TEST(DecodeAndTransform, TurnsAsExifSaysBeforeTheRest) {
  const std::string file = testing::with_orientation(
      encode_jpeg(picture(20, 30, 3)).value(), 6, false);
  TransformOptions options;
  options.decode.exif_orientation = true;
  options.crop = [](Size size) -> StatusOr<Window> {
    return Window{0, 0, size.height, 5};
  };
  EXPECT_EQ(decode_and_transform(file, options)->shape(), (Shape{30, 5, 3}));
}

TEST(DecodeAndTransform, ReadsOnlyTheRowsItNeeds) {
  const std::string file = encode_jpeg(picture(160, 40, 3)).value();
  const std::string cut = file.substr(0, file.size() * 2 / 3);
  TransformOptions options;
  options.size = Size{10, 10};
  EXPECT_THAT(
      std::string(decode_and_transform(cut, options).status().message()),
      HasSubstr("decode_and_transform: JPEG: the data end early"));
  options.crop = [](Size) -> StatusOr<Window> { return Window{0, 0, 40, 40}; };
  EXPECT_TRUE(decode_and_transform(cut, options).ok());
  options.whole_file = true;
  EXPECT_THAT(
      std::string(decode_and_transform(cut, options).status().message()),
      HasSubstr("decode_jpeg: JPEG: the data end early"));
  EXPECT_TRUE(decode_and_transform(file + "behind it", options).ok());
}

TEST(DecodeAndTransform, WritesIntoThePlaceThatABatchOffers) {
  const std::string file = encode_jpeg(picture(30, 40, 3)).value();
  Placement place;
  place.dtype = DType::kFloat32;
  place.shape = Shape{8, 8, 3};
  place.buffer = Buffer::allocate(8 * 8 * 3 * 4);
  place.data = place.buffer->data();
  const PlacementScope scope(&place);
  TransformOptions options;
  options.size = Size{8, 8};
  options.normalize = Normalization{{1, 2, 3}, {4, 5, 6}};
  const Tensor result = decode_and_transform(file, options).value();
  EXPECT_TRUE(place.taken);
  EXPECT_EQ(result.data(), place.data);
}

TEST(DecodeAndTransform, RefusesBadArguments) {
  const std::string file = encode_jpeg(picture(30, 40, 3)).value();
  const auto message = [&](const TransformOptions& options) {
    return std::string(decode_and_transform(file, options).status().message());
  };
  EXPECT_THAT(message({.decode = {.ratio = 2}}),
              HasSubstr("decode.ratio must be 1, got 2"));
  EXPECT_THAT(message({.size = Size{0, 3}}),
              HasSubstr("size must be at least 1 x 1, got 0 x 3"));
  EXPECT_THAT(message({.size = Size{3, std::int64_t{1} << 62}}),
              HasSubstr("size must be less than 2^31 on each side, got 3 x "));
  EXPECT_THAT(message({.normalize = Normalization{{1, 2}, {1}}}),
              HasSubstr("1 or 3 values, got 2"));
  EXPECT_THAT(message({.normalize = Normalization{{1}, {0}}}),
              HasSubstr("std must be > 0"));
}

}  // namespace
}  // namespace penstock::image
