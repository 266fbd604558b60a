// decode_jpeg and its relatives: pixels, options, damaged files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "penstock/base/random.h"
#include "penstock/image/decode.h"
#include "penstock/image/encode.h"
#include "penstock/memory/placement.h"
#include "tests/support/pictures.h"

namespace penstock::image {
namespace {

using ::penstock::testing::encode_cmyk;
using ::penstock::testing::encode_jpeg_as;
using ::penstock::testing::JpegCoding;
using ::penstock::testing::noise;
using ::penstock::testing::picture;
using ::penstock::testing::with_orientation;
using ::testing::HasSubstr;

std::string jpeg_of(const Tensor& image,
                    const EncodeJpegOptions& options = {}) {
  return encode_jpeg(image, options).value();
}

int largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  int most = 0;
  for (std::size_t i = 0; i < a.as<std::uint8_t>().size(); ++i) {
    most = std::max(
        most, std::abs(a.as<std::uint8_t>()[i] - b.as<std::uint8_t>()[i]));
  }
  return most;
}

Tensor window_of(const Tensor& image, const Window& w) {
  const std::int64_t channels = image.shape()[2];
  std::vector<std::uint8_t> out;
  for (std::int64_t y = w.y; y < w.y + w.height; ++y) {
    for (std::int64_t i = w.x * channels; i < (w.x + w.width) * channels; ++i) {
      out.push_back(image.as<std::uint8_t>()[static_cast<std::size_t>(
          y * image.shape()[1] * channels + i)]);
    }
  }
  return Tensor::from(std::span<const std::uint8_t>(out),
                      Shape{w.height, w.width, channels});
}

std::string jpeg_refusal(const StatusOr<Tensor>& result) {
  return result.ok() ? "ok" : std::string(to_std(result.status().message()));
}

TEST(DecodeJpeg, GivesThePictureBack) {
  const Tensor image = picture(37, 53, 3);
  const std::string fine =
      jpeg_of(image, {.quality = 100, .chroma_downsampling = false});
  const Tensor decoded =
      decode_jpeg(fine, {.dct_method = DctMethod::kAccurate}).value();
  EXPECT_LE(largest_difference(image, decoded), 4);
  const Tensor progressive =
      decode_jpeg(jpeg_of(image, {.quality = 100,
                                  .progressive = true,
                                  .chroma_downsampling = false}),
                  {.dct_method = DctMethod::kAccurate})
          .value();
  EXPECT_EQ(progressive, decoded) << "the same coefficients in another order";
}

TEST(DecodeJpeg, GivesTheChannelsAskedFor) {
  const std::string colour = jpeg_of(picture(20, 30, 3));
  const Tensor rgb = decode_jpeg(colour).value();
  const Tensor rgba = decode_jpeg(colour, {.channels = 4}).value();
  const Tensor grey = decode_jpeg(colour, {.channels = 1}).value();
  EXPECT_EQ(rgb.shape(), (Shape{20, 30, 3}));
  EXPECT_EQ(rgba.shape(), (Shape{20, 30, 4}));
  EXPECT_EQ(grey.shape(), (Shape{20, 30, 1}));
  for (std::size_t i = 0; i < 600; ++i) {
    const auto p = rgb.as<std::uint8_t>().subspan(3 * i, 3);
    for (std::size_t c = 0; c < 3; ++c) {
      ASSERT_EQ(rgba.as<std::uint8_t>()[4 * i + c], p[c]);
    }
    ASSERT_EQ(rgba.as<std::uint8_t>()[4 * i + 3], 255);
    ASSERT_NEAR(grey.as<std::uint8_t>()[i],
                0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2], 2.5);
  }
  const std::string flat = jpeg_of(picture(20, 30, 1));
  EXPECT_EQ(decode_jpeg(flat)->shape(), (Shape{20, 30, 1}));
  const Tensor spread = decode_jpeg(flat, {.channels = 3}).value();
  EXPECT_EQ(spread.as<std::uint8_t>()[0], spread.as<std::uint8_t>()[2]);
  EXPECT_THAT(jpeg_refusal(decode_jpeg(flat, {.channels = 2})),
              HasSubstr("decode_jpeg: channels must be 0, 1, 3 or 4, got 2"));
}

TEST(DecodeJpeg, ScalesByTheRatio) {
  const std::string file = jpeg_of(picture(37, 53, 3));
  EXPECT_EQ(decode_jpeg(file, {.ratio = 2})->shape(), (Shape{19, 27, 3}));
  EXPECT_EQ(decode_jpeg(file, {.ratio = 4})->shape(), (Shape{10, 14, 3}));
  EXPECT_EQ(decode_jpeg(file, {.ratio = 8})->shape(), (Shape{5, 7, 3}));
  EXPECT_THAT(jpeg_refusal(decode_jpeg(file, {.ratio = 3})),
              HasSubstr("ratio must be 1, 2, 4 or 8, got 3"));
}

TEST(DecodeJpeg, NamesItsDctMethods) {
  EXPECT_EQ(dct_method_from_name("").value(), DctMethod::kFast);
  EXPECT_EQ(dct_method_from_name("INTEGER_ACCURATE").value(),
            DctMethod::kAccurate);
  EXPECT_FALSE(dct_method_from_name("FLOAT").ok());
  const std::string file = jpeg_of(picture(64, 64, 3), {.quality = 60});
  EXPECT_NE(decode_jpeg(file).value(),
            decode_jpeg(file, {.dct_method = DctMethod::kAccurate}).value());
  EXPECT_NE(decode_jpeg(file).value(),
            decode_jpeg(file, {.fancy_upscaling = false}).value());
}

TEST(DecodeJpeg, ConvertsInksToColours) {
  Tensor inks = picture(16, 16, 4);
  for (const bool ycck : {false, true}) {
    for (const bool adobe : {true, false}) {
      if (ycck && !adobe) continue;  // the marker is what tells YCCK
      const std::string file = encode_cmyk(inks, ycck, adobe);
      const Tensor rgb =
          decode_jpeg(file, {.dct_method = DctMethod::kAccurate}).value();
      ASSERT_EQ(rgb.shape(), (Shape{16, 16, 3}));
      for (std::size_t i = 0; i < 256; ++i) {
        const auto ink = inks.as<std::uint8_t>().subspan(4 * i, 4);
        for (std::size_t c = 0; c < 3; ++c) {
          const int expected = adobe ? ink[3] * ink[c] / 255
                                     : (255 - ink[3]) * (255 - ink[c]) / 255;
          ASSERT_NEAR(rgb.as<std::uint8_t>()[3 * i + c], expected, 4);
        }
      }
      EXPECT_EQ(decode_jpeg(file, {.channels = 1})->shape(),
                (Shape{16, 16, 1}));
      EXPECT_EQ(decode_jpeg(file, {.channels = 4})->as<std::uint8_t>()[3], 255);
      EXPECT_EQ(extract_jpeg_shape(file)->channels, 4);
    }
  }
}

TEST(DecodeJpeg, TurnsThePictureAsExifSays) {
  // Four flat corners survive the coding.
  constexpr std::int64_t kH = 32;
  constexpr std::int64_t kW = 48;
  Tensor image = Tensor::allocate<std::uint8_t>(Shape{kH, kW, 1}).value();
  for (std::int64_t y = 0; y < kH; ++y) {
    for (std::int64_t x = 0; x < kW; ++x) {
      image.mutable_as<std::uint8_t>()[static_cast<std::size_t>(y * kW + x)] =
          static_cast<std::uint8_t>(40 + 60 * (2 * (y / 16) + x / 24));
    }
  }
  const std::string file = jpeg_of(image);
  // Which corner of the stored picture comes to top-left, top-right,
  // bottom-left, bottom-right (0..3 in the stored picture).
  constexpr int kCorners[8][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {3, 2, 1, 0},
                                  {2, 3, 0, 1}, {0, 2, 1, 3}, {2, 0, 3, 1},
                                  {3, 1, 2, 0}, {1, 3, 0, 2}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true}) {
      const std::string marked =
          with_orientation(file, orientation, big_endian);
      EXPECT_EQ(extract_jpeg_shape(marked)->orientation, orientation);
      EXPECT_EQ(decode_jpeg(marked)->shape(), (Shape{kH, kW, 1}));
      const Tensor turned =
          decode_jpeg(marked, {.exif_orientation = true}).value();
      const std::int64_t h = orientation < 5 ? kH : kW;
      const std::int64_t w = orientation < 5 ? kW : kH;
      ASSERT_EQ(turned.shape(), (Shape{h, w, 1}));
      const std::int64_t at[4] = {0, w - 1, (h - 1) * w, h * w - 1};
      for (int corner = 0; corner < 4; ++corner) {
        ASSERT_NEAR(
            turned.as<std::uint8_t>()[static_cast<std::size_t>(at[corner])],
            40 + 60 * kCorners[orientation - 1][corner], 4)
            << orientation << " corner " << corner;
      }
    }
  }
}

TEST(DecodeAndCropJpeg, EqualsDecodingAndCropping) {
  for (const bool subsampled : {true, false}) {
    for (const bool progressive : {false, true}) {
      const std::string file = jpeg_of(
          picture(61, 93, 3),
          {.progressive = progressive, .chroma_downsampling = subsampled});
      for (const bool fancy : {true, false}) {
        for (const int ratio : {1, 2}) {
          const JpegOptions options{.ratio = ratio, .fancy_upscaling = fancy};
          const Tensor whole = decode_jpeg(file, options).value();
          const std::int64_t h = whole.shape()[0];
          const std::int64_t w = whole.shape()[1];
          for (const Window& window :
               {Window{0, 0, h, w}, Window{0, 0, 1, 1},
                Window{h - 1, w - 1, 1, 1}, Window{3, 5, 17, 21},
                Window{16, 16, 13, 16}, Window{8, 15, 9, 17},
                Window{5, 0, 3, w}, Window{0, 32, h, 9},
                Window{17, 31, 2, 2}}) {
            const auto part = decode_and_crop_jpeg(file, window, options);
            ASSERT_TRUE(part.ok()) << part.status();
            ASSERT_EQ(*part, window_of(whole, window))
                << window.y << " " << window.x << " " << window.height << " "
                << window.width << " fancy " << fancy << " subsampled "
                << subsampled << " progressive " << progressive << " ratio "
                << ratio;
          }
        }
      }
    }
  }
}

TEST(DecodeAndCropJpeg, EqualsDecodingAndCroppingAnywhere) {
  RandomStream random(5);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(n)));
  };
  for (int round = 0; round < 1500; ++round) {
    const std::int64_t h = 1 + below(90);
    const std::int64_t w = 1 + below(90);
    const std::string file = jpeg_of(
        picture(h, w, 3),
        {.progressive = below(3) == 0, .chroma_downsampling = below(2) == 0});
    constexpr int kChannels[] = {0, 1, 3, 4};
    const JpegOptions options{.channels = kChannels[below(4)],
                              .ratio = 1 << below(4),
                              .fancy_upscaling = below(2) == 0};
    const Tensor whole = decode_jpeg(file, options).value();
    Window window{below(whole.shape()[0]), below(whole.shape()[1]), 0, 0};
    window.height = 1 + below(whole.shape()[0] - window.y);
    window.width = 1 + below(whole.shape()[1] - window.x);
    const auto part = decode_and_crop_jpeg(file, window, options);
    ASSERT_TRUE(part.ok()) << part.status();
    ASSERT_EQ(*part, window_of(whole, window)) << round;
  }
}

TEST(DecodeAndCropJpeg, RefusesAWindowOutside) {
  const std::string file = jpeg_of(picture(20, 30, 3));
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  for (const Window& window :
       {Window{0, 0, 21, 30}, Window{0, 0, 0, 5}, Window{-1, 0, 5, 5},
        Window{0, 26, 5, 5}, Window{kHuge, 0, kHuge, 5}, Window{0, 0, 5, -5}}) {
    EXPECT_THAT(jpeg_refusal(decode_and_crop_jpeg(file, window)),
                HasSubstr("is not inside the picture of 20 x 30"));
  }
}

TEST(ExtractJpegShape, ReadsOnlyTheHeader) {
  const std::string file = jpeg_of(picture(61, 93, 3));
  const std::string head = file.substr(0, file.size() / 2);
  EXPECT_EQ(extract_jpeg_shape(head)->height, 61);
  EXPECT_EQ(extract_jpeg_shape(head)->width, 93);
  EXPECT_EQ(extract_jpeg_shape(head)->channels, 3);
  EXPECT_FALSE(extract_jpeg_shape(file.substr(0, 10)).ok());
}

TEST(DecodeJpeg, SaysWhatIsWrongWithOtherData) {
  EXPECT_THAT(jpeg_refusal(decode_jpeg("")), HasSubstr("not a JPEG: no data"));
  EXPECT_THAT(jpeg_refusal(decode_jpeg("hello")), HasSubstr("FF D8 FF"));
  EXPECT_THAT(jpeg_refusal(decode_jpeg("GIF89a...")),
              HasSubstr("data are GIF"));
}

TEST(DecodeJpeg, CutAnywhereIsAnErrorThatSaysSo) {
  for (const bool progressive : {false, true}) {
    const std::string file =
        jpeg_of(picture(40, 40, 3), {.progressive = progressive});
    // Without the last two bytes, the end marker, all pixels are there.
    for (std::size_t n = 0; n + 2 < file.size(); ++n) {
      // Exactly as long as it says: ASan sees a read beyond.
      const std::vector<char> cut(file.begin(),
                                  file.begin() + static_cast<long>(n));
      const auto result = decode_jpeg({cut.data(), cut.size()});
      if (!progressive && n + 8 < file.size()) {
        ASSERT_FALSE(result.ok()) << n;
      }
      if (!result.ok()) {
        ASSERT_THAT(jpeg_refusal(result), HasSubstr("decode_jpeg:"));
      }
    }
    EXPECT_THAT(jpeg_refusal(decode_jpeg(file.substr(0, file.size() - 40))),
                HasSubstr("the data end early"));
  }
}

TEST(DecodeJpeg, TakesWhatIsThereWhenAllowed) {
  const Tensor image = picture(160, 40, 3);
  const std::string file = jpeg_of(image);
  const std::string cut = file.substr(0, file.size() * 2 / 3);
  const Tensor whole = decode_jpeg(file).value();
  const Tensor recovered =
      decode_jpeg(cut, {.try_recover_truncated = true}).value();
  EXPECT_EQ(recovered.shape(), whole.shape());
  EXPECT_EQ(recovered.rows(0, 48), whole.rows(0, 48));

  const Tensor half = decode_jpeg(cut, {.acceptable_fraction = 0.3F}).value();
  EXPECT_EQ(half.rows(0, 48), whole.rows(0, 48));
  EXPECT_EQ(half.row(159).as<std::uint8_t>()[0], 0);
  EXPECT_FALSE(decode_jpeg(cut, {.acceptable_fraction = 0.9F}).ok());
}

TEST(DecodeJpeg, RefusesAPictureBeyondTheLimitBeforeItAllocates) {
  std::string file = jpeg_of(picture(16, 16, 3));
  const std::size_t frame = file.find(std::string("\xFF\xC0", 2));
  ASSERT_NE(frame, std::string::npos);
  for (std::size_t i = 5; i < 9; ++i) file[frame + i] = '\xFA';
  const auto result = decode_jpeg(file);
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(jpeg_refusal(result), HasSubstr("64250 x 64250 pixels"));
}

TEST(DecodeJpeg, SurvivesFlippedBitsAndWorksAfterwards) {
  const std::string file = jpeg_of(picture(33, 29, 3));
  const Tensor whole = decode_jpeg(file).value();
  for (std::size_t bit = 0; bit < file.size() * 8; bit += 3) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto result = decode_jpeg(damaged, {.max_image_pixels = 1 << 20});
    if (!result.ok()) {
      ASSERT_THAT(jpeg_refusal(result), HasSubstr("decode_jpeg:"));
    }
  }
  EXPECT_EQ(decode_jpeg(file).value(), whole);
}

TEST(DecodeJpeg, StrictRefusesDamageThatLibjpegMends) {
  std::string file = jpeg_of(picture(64, 64, 3));
  for (std::size_t i = file.size() / 2; i < file.size() / 2 + 8; ++i) {
    file[i] = '\x5A';
  }
  file.insert(file.size() / 2 + 8, std::string("\xFF\xD3", 2));
  EXPECT_TRUE(decode_jpeg(file).ok());
  EXPECT_THAT(jpeg_refusal(decode_jpeg(file, {.strict = true})),
              HasSubstr("near byte"));
}

// `file` without the segments that begin with `marker`.
std::string without_segments(const std::string& file, char marker) {
  std::string out = file.substr(0, 2);
  std::size_t at = 2;
  while (file[at + 1] != '\xDA') {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(file[at + i]));
    };
    const std::size_t size = 2 + byte(2) * 256 + byte(3);
    if (file[at + 1] != marker) out += file.substr(at, size);
    at += size;
  }
  return out + file.substr(at);
}

TEST(DecodeJpeg, UsesNoTablesOfThePictureBefore) {
  const std::string standard = jpeg_of(picture(40, 30, 3));
  const Tensor whole = decode_jpeg(standard).value();
  // As motion JPEG has them: with the tables of the standard, unsaid.
  const std::string frame = without_segments(standard, '\xC4');
  const std::string undefined = without_segments(standard, '\xDB');
  const std::string other =
      encode_jpeg_as(noise({64, 64, 3}), {.quality = 35, .optimized = true});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(decode_jpeg(other).ok());
    EXPECT_EQ(decode_jpeg(frame).value(), whole);
    ASSERT_TRUE(decode_jpeg(other).ok());
    EXPECT_THAT(jpeg_refusal(decode_jpeg(undefined)),
                HasSubstr("Quantization table"));
  }
}

TEST(DecodeJpeg, WritesIntoThePlaceThatABatchOffers) {
  const std::string file = jpeg_of(picture(8, 8, 3));
  Placement place;
  place.dtype = DType::kUInt8;
  place.shape = Shape{8, 8, 3};
  place.buffer = Buffer::allocate(192);
  place.data = place.buffer->data();
  const PlacementScope scope(&place);
  const Tensor decoded = decode_jpeg(file).value();
  EXPECT_TRUE(place.taken);
  EXPECT_EQ(decoded.data(), place.data);
}

// What is said and given with the project's own entropy decoding, and without.
void expect_as_libjpeg(std::string_view file, JpegOptions options,
                       const std::string& what) {
  options.plain_libjpeg = false;
  const auto ours = decode_jpeg(file, options);
  options.plain_libjpeg = true;
  const auto plain = decode_jpeg(file, options);
  ASSERT_EQ(ours.ok(), plain.ok()) << what << jpeg_refusal(ours);
  if (ours.ok()) {
    ASSERT_EQ(*ours, *plain) << what;
  } else {
    ASSERT_EQ(ours.status(), plain.status()) << what;
  }
}

std::vector<JpegCoding> codings() {
  std::vector<JpegCoding> out;
  for (const int quality : {1, 20, 75, 92, 100}) {
    out.push_back({.quality = quality});
    out.push_back({.quality = quality, .samples_down = 2, .samples_across = 2});
    out.push_back({.quality = quality,
                   .samples_across = 2,
                   .optimized = true,
                   .restart_interval = 3});
    out.push_back({.quality = quality, .samples_down = 4, .optimized = true});
  }
  return out;
}

TEST(EntropyDecoding, GivesThePixelsOfLibjpeg) {
  for (const Shape& shape : {Shape{1, 1, 3}, Shape{17, 9, 1}, Shape{64, 48, 3},
                             Shape{33, 130, 3}, Shape{200, 40, 1}}) {
    for (const Tensor& image :
         {noise(shape), picture(shape[0], shape[1], shape[2])}) {
      for (const JpegCoding& coding : codings()) {
        const std::string file = encode_jpeg_as(image, coding);
        const std::string what =
            absl::StrCat(shape.to_string(), " quality ", coding.quality, " ",
                         coding.samples_down, "x", coding.samples_across, " ");
        expect_as_libjpeg(file, {}, what);
        expect_as_libjpeg(file, {.channels = 1, .ratio = 2}, what);
        expect_as_libjpeg(file, {.fancy_upscaling = false, .strict = true},
                          what);
        const Window part{shape[0] / 2, shape[1] / 3, (shape[0] + 1) / 2,
                          (shape[1] + 1) / 2};
        ASSERT_EQ(
            decode_and_crop_jpeg(file, part).value(),
            window_of(decode_jpeg(file, {.plain_libjpeg = true}).value(), part))
            << what;
      }
    }
  }
  expect_as_libjpeg(encode_cmyk(noise({40, 40, 4}), true, true), {}, "CMYK");
}

TEST(EntropyDecoding, LeavesWhatIsDamagedToLibjpeg) {
  const JpegOptions lenient{.try_recover_truncated = true};
  const JpegOptions partly{.acceptable_fraction = 0.1F, .strict = true};
  for (const JpegCoding& coding :
       {JpegCoding{.quality = 95}, JpegCoding{.quality = 80,
                                   .samples_down = 2,
                                   .samples_across = 2,
                                   .optimized = true,
                                   .restart_interval = 1}}) {
    const std::string file = encode_jpeg_as(noise({29, 35, 3}), coding);
    for (std::size_t n = 0; n < file.size(); ++n) {
      const std::string what = absl::StrCat("byte ", n, " ");
      for (const int bit : {0, 5, 7}) {
        std::string damaged = file;
        damaged[n] = static_cast<char>(damaged[n] ^ (1 << bit));
        expect_as_libjpeg(damaged, {.max_image_pixels = 1 << 16}, what);
        if (HasFatalFailure()) return;
      }
      expect_as_libjpeg(file.substr(0, n), lenient, what);
      expect_as_libjpeg(file.substr(0, n), partly, what);
      expect_as_libjpeg(file.substr(0, n) + file.substr(file.size() - 2),
                        lenient, what);
      if (HasFatalFailure()) return;
    }
  }
}

// A window above the damage is read without a look at it; one behind it is what
// libjpeg makes of it.
TEST(EntropyDecoding, BeginsAgainInAnyRow) {
  const std::string file =
      encode_jpeg_as(picture(160, 64, 3), {.quality = 90, .samples_down = 2});
  for (std::size_t n = file.size() / 4; n < file.size(); n += 97) {
    std::string damaged = file;
    damaged.replace(n, 2, "\xFF\xD9");
    for (const std::int64_t y : {0, 30, 100, 150}) {
      const Window part{y, 8, 10, 40};
      const auto ours = decode_and_crop_jpeg(damaged, part);
      const auto plain =
          decode_and_crop_jpeg(damaged, part, {.plain_libjpeg = true});
      ASSERT_EQ(ours.ok(), plain.ok()) << n << " " << y;
      if (!ours.ok()) continue;
      ASSERT_EQ(*ours, *plain) << n << " " << y;
    }
  }
}

}  // namespace
}  // namespace penstock::image
