// PNG, WebP, BMP, GIF and decode_image: pixels, options, damaged files.
#include "penstock/image/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "penstock/image/encode.h"
#include "tests/support/pictures.h"

namespace penstock::image {
namespace {

using ::penstock::testing::GifFrame;
using ::penstock::testing::noise;
using ::penstock::testing::picture;
using ::penstock::testing::PngFile;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::string refusal(const StatusOr<Tensor>& result) {
  return result.ok() ? "ok" : std::string(to_std(result.status().message()));
}

using Decoder = std::function<StatusOr<Tensor>(std::string_view)>;

// Every cut and many flipped bits: an error that names the decoder, or a
// picture; `fails` says that no cut may pass.
void expect_safe(const std::string& file, const std::string& name,
                 const Decoder& decode, std::size_t tail) {
  for (std::size_t n = 0; n < file.size(); ++n) {
    const std::vector<char> cut(file.begin(),
                                file.begin() + static_cast<long>(n));
    const auto result = decode({cut.data(), cut.size()});
    if (n + tail < file.size()) {
      ASSERT_FALSE(result.ok()) << name << " " << n;
    }
    if (!result.ok()) {
      ASSERT_THAT(refusal(result), HasSubstr(name + ":"));
    }
  }
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto result = decode(damaged);
    if (!result.ok()) {
      ASSERT_THAT(refusal(result), HasSubstr(name + ":"));
    }
  }
}

PngFile random_png(int color_type, int bit_depth, bool interlaced) {
  PngFile file;
  file.height = 11;
  file.width = 13;
  file.bit_depth = bit_depth;
  file.color_type = color_type;
  file.interlaced = interlaced;
  const Tensor random =
      noise(Shape{11 * 13 * file.samples_per_pixel(), 2},
            static_cast<std::uint64_t>(color_type * 100 + bit_depth));
  for (std::int64_t i = 0; i < random.shape()[0]; ++i) {
    std::uint16_t v;
    std::memcpy(&v, random.data() + 2 * i, 2);
    file.samples.push_back(v & ((1U << bit_depth) - 1));
  }
  if (color_type == 3) {
    for (int i = 0; i < 3 << bit_depth; ++i) {
      file.palette.push_back(static_cast<char>(i * 37 + 11));
    }
  }
  return file;
}

TEST(DecodePng, ReadsEveryDepthAndColourType) {
  struct Case {
    int color_type;
    std::vector<int> depths;
  };
  for (const Case& c :
       {Case{0, {1, 2, 4, 8, 16}}, Case{2, {8, 16}}, Case{3, {1, 2, 4, 8}},
        Case{4, {8, 16}}, Case{6, {8, 16}}}) {
    for (const int depth : c.depths) {
      for (const bool interlaced : {false, true}) {
        const PngFile file = random_png(c.color_type, depth, interlaced);
        std::vector<std::uint8_t> bytes;
        std::vector<std::uint16_t> words;
        for (const std::uint32_t v : file.samples) {
          if (c.color_type == 3) {
            for (std::size_t k = 0; k < 3; ++k) {
              bytes.push_back(
                  static_cast<std::uint8_t>(file.palette[3 * v + k]));
              words.push_back(static_cast<std::uint16_t>(bytes.back() * 257));
            }
            continue;
          }
          const std::uint32_t full = (1U << depth) - 1;
          bytes.push_back(
              static_cast<std::uint8_t>(depth == 16 ? v >> 8 : v * 255 / full));
          words.push_back(
              static_cast<std::uint16_t>(depth == 16 ? v : v * 65535 / full));
        }
        const auto result = decode_png(file.encode());
        ASSERT_TRUE(result.ok()) << result.status() << c.color_type << depth;
        ASSERT_THAT(result->as<std::uint8_t>(), ElementsAreArray(bytes))
            << c.color_type << " " << depth << " " << interlaced;
        const auto deep = decode_png(file.encode(), {.dtype = DType::kUInt16});
        ASSERT_THAT(deep->as<std::uint16_t>(), ElementsAreArray(words))
            << c.color_type << " " << depth << " " << interlaced;
      }
    }
  }
}

TEST(DecodePng, AddsAndDropsChannels) {
  PngFile file;
  file.height = file.width = 1;
  file.color_type = 6;
  file.samples = {10, 200, 30, 77};
  const std::string rgba = file.encode();
  EXPECT_THAT(decode_png(rgba)->as<std::uint8_t>(),
              ElementsAre(10, 200, 30, 77));
  EXPECT_THAT(decode_png(rgba, {.channels = 3})->as<std::uint8_t>(),
              ElementsAre(10, 200, 30));
  EXPECT_THAT(decode_png(rgba, {.channels = 1})->as<std::uint8_t>(),
              ElementsAre(123))
      << "123.8: TensorFlow rounds down";
  file.color_type = 0;
  file.samples = {99};
  const std::string grey = file.encode();
  EXPECT_THAT(decode_png(grey, {.channels = 4})->as<std::uint8_t>(),
              ElementsAre(99, 99, 99, 255));
  EXPECT_THAT(decode_png(grey, {.channels = 2})->as<std::uint8_t>(),
              ElementsAre(99, 255));
  EXPECT_THAT(refusal(decode_png(grey, {.channels = 5})),
              HasSubstr("decode_png: channels must be 0 to 4, got 5"));
  EXPECT_THAT(refusal(decode_png(grey, {.dtype = DType::kFloat32})),
              HasSubstr("dtype must be uint8 or uint16, got float32"));
}

TEST(DecodePng, WeighsTheColoursOfGreyAsTensorFlowDoes) {
  const std::pair<std::string, std::string> gamma = {
      "gAMA", std::string("\x00\x00\xB1\x8F", 4)};  // 45455
  const std::pair<std::string, std::string> one = {
      "gAMA", std::string("\x00\x01\x86\xA0", 4)};
  const std::pair<std::string, std::string> srgb = {"sRGB", std::string(1, 0)};
  const std::pair<std::string, std::string> bits = {"sBIT", "\x0C\x0C\x0C"};
  PngFile file;
  file.height = 1;
  file.width = 3;
  using Bytes = std::vector<std::uint8_t>;
  using Words = std::vector<std::uint16_t>;
  const auto expect = [&](std::vector<std::pair<std::string, std::string>> with,
                          const Bytes& bytes, const Words& words) {
    file.chunks = std::move(with);
    const std::string png = file.encode();
    EXPECT_THAT(decode_png(png, {.channels = 1})->as<std::uint8_t>(),
                ElementsAreArray(bytes));
    EXPECT_THAT(decode_png(png, {.channels = 1, .dtype = DType::kUInt16})
                    ->as<std::uint16_t>(),
                ElementsAreArray(words));
  };
  file.samples = {10, 200, 30, 250, 5, 128, 77, 77, 77};
  expect({}, {123, 92, 77}, {31611, 23644, 19789});
  expect({one}, {123, 92, 77}, {31611, 23644, 19789});
  expect({gamma}, {157, 150, 77}, {40349, 38550, 19789});
  expect({one, srgb}, {157, 150, 77}, {40349, 38550, 19789});
  file.bit_depth = 16;
  file.samples = {2600, 51300, 7800, 64100, 1300, 32900, 19800, 19800, 19800};
  expect({}, {124, 92, 77}, {31779, 23680, 19800});
  expect({gamma}, {157, 150, 77}, {40336, 38478, 19800});
  expect({gamma, bits}, {157, 150, 77}, {40339, 38477, 19797});
  // As wide as the file, and colours stay as they are.
  EXPECT_EQ(decode_png(file.encode(), {.dtype = DType::kUInt16})
                ->as<std::uint16_t>()[1],
            51300);
}

TEST(DecodePng, KnowsTransparentColours) {
  PngFile file;
  file.height = 1;
  file.width = 2;
  file.color_type = 3;
  file.bit_depth = 2;
  file.samples = {1, 0};
  file.palette = std::string("\x01\x02\x03\x04\x05\x06", 6);
  file.transparent = "\x80";
  EXPECT_THAT(decode_png(file.encode())->as<std::uint8_t>(),
              ElementsAre(4, 5, 6, 255, 1, 2, 3, 128));
  file.palette.clear();
  file.color_type = 0;
  file.transparent = std::string("\0\1", 2);
  EXPECT_THAT(decode_png(file.encode(), {.channels = 2})->as<std::uint8_t>(),
              ElementsAre(85, 0, 0, 255));
  EXPECT_THAT(decode_png(file.encode())->as<std::uint8_t>(),
              ElementsAre(85, 0));
}

TEST(DecodePng, IsSafeOnDamagedFiles) {
  for (const bool interlaced : {false, true}) {
    const std::string file = random_png(3, 4, interlaced).encode();
    expect_safe(
        file, "decode_png",
        [](std::string_view data) {
          return decode_png(data, {.max_image_pixels = 1 << 20});
        },
        32);
  }
  PngFile bomb = random_png(2, 8, false);
  std::string file = bomb.encode();
  EXPECT_THAT(refusal(decode_png(file, {.max_image_pixels = 100})),
              HasSubstr("11 x 13 pixels, more than max_image_pixels = 100"));
  EXPECT_THAT(refusal(decode_png("")), HasSubstr("not a PNG: no data"));
}

TEST(EncodePng, RoundTripsEveryChannelCount) {
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    const Tensor image = noise(Shape{9, 7, channels});
    EXPECT_EQ(decode_png(encode_png(image).value()).value(), image);
    std::vector<std::uint16_t> deep;
    for (const std::uint8_t v : image.as<std::uint8_t>()) {
      deep.push_back(static_cast<std::uint16_t>(v * 251 + 3));
    }
    const Tensor wide = Tensor::from(std::span<const std::uint16_t>(deep),
                                     Shape{9, 7, channels});
    EXPECT_EQ(decode_png(encode_png(wide, {.compression = 1}).value(),
                         {.dtype = DType::kUInt16})
                  .value(),
              wide);
  }
}

TEST(Encode, RefusesWhatItCannotWrite) {
  const Tensor floats = Tensor::from<float>({1, 2, 3});
  EXPECT_THAT(std::string(encode_png(floats).status().message()),
              HasSubstr("encode_png: image must be uint8 or uint16, got "
                        "float32"));
  const Tensor flat = Tensor::from<std::uint8_t>({1, 2, 3});
  EXPECT_FALSE(encode_jpeg(flat).ok());
  EXPECT_FALSE(encode_webp(picture(4, 4, 1)).ok());
  EXPECT_FALSE(encode_jpeg(picture(4, 4, 3), {.quality = 101}).ok());
  EXPECT_FALSE(encode_jpeg(noise(Shape{4, 4, 2})).ok());
  EXPECT_FALSE(encode_png(picture(4, 4, 3), {.compression = 10}).ok());
}

// Three frames of 4 x 6 pixels of one colour; the second is half transparent.
std::string animated_webp() {
  const std::string_view hex =
      "52494646b800000057454250565038580a00000012000000050000030000414e49"
      "4d06000000000000000000414e4d46280000000000000000000500000300006400"
      "00025650384c0f0000002f05c0000007d0ff88fe0722a2ff0100414e4d462a0000"
      "00000000000000050000030000640000025650384c110000002f05c0001007d0eb"
      "a294a2808188e87f0000414e4d462a000000000000000000050000030000640000"
      "005650384c110000002f05c0000007d0d74215a5ff8188e87f0000";
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(
        std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

// As TensorFlow 2.21 decodes it.
TEST(DecodeWebp, AnAnimationGivesItsFrames) {
  const std::string file = animated_webp();
  const Tensor frames = decode_image(file).value();
  ASSERT_EQ(frames.shape(), (Shape{3, 4, 6, 4}));
  const std::uint8_t wanted[3][4] = {
      {0, 255, 0, 255}, {40, 215, 20, 128}, {80, 175, 40, 255}};
  for (std::int64_t f = 0; f < 3; ++f) {
    const Tensor frame = frames.row(f);
    for (std::size_t i = 0; i < 4 * 6 * 4; ++i) {
      ASSERT_EQ(frame.as<std::uint8_t>()[i], wanted[f][i % 4]) << f;
    }
  }
  const Tensor first = decode_image(file, {.expand_animations = false}).value();
  EXPECT_EQ(first, frames.row(0));
  EXPECT_EQ(decode_image(file, {.channels = 3})->shape(), (Shape{3, 4, 6, 3}));
  EXPECT_THAT(refusal(decode_webp(file)), HasSubstr("decode_image gives"));
  EXPECT_THAT(refusal(decode_image(file, {.max_image_pixels = 71})),
              HasSubstr("3 frames of 4 x 6 pixels, more than "
                        "max_image_pixels = 71"));
  EXPECT_TRUE(
      decode_image(file, {.expand_animations = false, .max_image_pixels = 24})
          .ok());
}

TEST(DecodeWebp, ADamagedAnimationIsAnErrorOrAPicture) {
  const std::string file = animated_webp();
  for (std::size_t n = 0; n < file.size(); ++n) {
    EXPECT_FALSE(decode_image(file.substr(0, n)).ok()) << n;
  }
  for (std::size_t at = 12; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    const auto result = decode_image(damaged, {.max_image_pixels = 1 << 16});
    if (!result.ok()) {
      EXPECT_FALSE(result.status().message().empty());
    }
  }
}

TEST(DecodeWebp, RoundTripsLosslessly) {
  for (const std::int64_t channels : {3, 4}) {
    const Tensor image = noise(Shape{19, 23, channels});
    const std::string file = encode_webp(image, {.lossless = true}).value();
    EXPECT_EQ(decode_webp(file).value(), image);
    EXPECT_EQ(decode_webp(file, {.channels = 1})->shape(), (Shape{19, 23, 1}));
    EXPECT_EQ(decode_webp(file, {.channels = 4})->shape(), (Shape{19, 23, 4}));
    expect_safe(
        encode_webp(noise(Shape{4, 4, channels}), {.lossless = true}).value(),
        "decode_webp",
        [](std::string_view data) {
          return decode_webp(data, {.max_image_pixels = 1 << 16});
        },
        4);
  }
  const Tensor photo = picture(40, 40, 3);
  EXPECT_EQ(decode_webp(encode_webp(photo).value())->shape(), photo.shape());
  EXPECT_THAT(refusal(decode_webp("RIFFxxxxWEBP")), HasSubstr("WebP"));
}

std::string bmp(std::int32_t height, std::int32_t width, std::uint32_t bits,
                const std::string& palette, const std::string& pixels,
                std::uint32_t compression = 0) {
  std::string out = "BM";
  const auto put = [&](std::uint64_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      out.push_back(i < 8 ? static_cast<char>(v >> (8 * i)) : '\0');
    }
  };
  put(0, 8);
  put(static_cast<std::uint32_t>(54 + palette.size()), 4);
  put(40, 4);
  put(static_cast<std::uint32_t>(width), 4);
  put(static_cast<std::uint32_t>(height), 4);
  put(1, 2);
  put(bits, 2);
  put(compression, 4);
  put(0, 12);
  put(static_cast<std::uint32_t>(palette.size() / 4), 4);
  put(0, 4);
  return out + palette + pixels;
}

TEST(DecodeBmp, ReadsTheCommonKinds) {
  // Two rows of one pixel, bottom up, each padded to four bytes.
  const std::string rgb = bmp(2, 1, 24, "", std::string("\1\2\3\0\4\5\6\0", 8));
  EXPECT_THAT(decode_bmp(rgb)->as<std::uint8_t>(),
              ElementsAre(6, 5, 4, 3, 2, 1));
  const std::string down =
      bmp(-2, 1, 24, "", std::string("\1\2\3\0\4\5\6\0", 8));
  EXPECT_THAT(decode_bmp(down)->as<std::uint8_t>(),
              ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(decode_bmp(down, {.channels = 4})->as<std::uint8_t>(),
              ElementsAre(3, 2, 1, 255, 6, 5, 4, 255));
  const std::string rgba = bmp(1, 1, 32, "", "\1\2\3\4");
  EXPECT_THAT(decode_bmp(rgba)->as<std::uint8_t>(), ElementsAre(3, 2, 1, 4));
  const std::string deep = bmp(1, 2, 16, "", std::string("\x1F\0\0\x7C", 4));
  EXPECT_THAT(decode_bmp(deep)->as<std::uint8_t>(),
              ElementsAre(0, 0, 255, 255, 0, 0));
}

TEST(DecodeBmp, ReadsPalettes) {
  const std::string colours("\1\2\3\0\4\5\6\0", 8);
  const std::string pixels("\x40\0\0\0", 4);
  EXPECT_THAT(decode_bmp(bmp(1, 3, 1, colours, pixels))->as<std::uint8_t>(),
              ElementsAre(3, 2, 1, 6, 5, 4, 3, 2, 1));
  const std::string greys("\7\7\7\0\11\11\11\0", 8);
  EXPECT_THAT(decode_bmp(bmp(1, 3, 1, greys, pixels))->as<std::uint8_t>(),
              ElementsAre(7, 9, 7));
}

// Greys 0, 10, 20, ...: what is decoded tells the index.
std::string greys(int n) {
  std::string palette;
  for (int i = 0; i < n; ++i) {
    palette.append(3, static_cast<char>(10 * i)).push_back('\0');
  }
  return palette;
}

// As Pillow reads them.
TEST(DecodeBmp, ReadsRunLengths) {
  using std::string_literals::operator""s;
  // From the bottom: a run and an end of row; a jump over 1 to the right, three
  // as they are with padding, the end of the picture.
  const std::string eight =
      bmp(3, 4, 8, greys(8), "\4\1\0\0\0\2\1\0\0\3\2\3\4\0\0\1"s, 1);
  const auto image = decode_bmp(eight);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->shape(), (Shape{3, 4, 1}));
  EXPECT_THAT(image->as<std::uint8_t>(),
              ElementsAre(0, 0, 0, 0, 0, 20, 30, 40, 10, 10, 10, 10));
  // Pairs of pixels: five of 1, 2, 1, 2, ...; four as they are.
  const std::string four =
      bmp(2, 5, 4, greys(8), "\5\x12\0\0\0\4\x34\x56\1\x70\0\1"s, 2);
  EXPECT_THAT(decode_bmp(four)->as<std::uint8_t>(),
              ElementsAre(30, 40, 50, 60, 70, 10, 20, 10, 20, 10));
}

TEST(DecodeBmp, IsSafeOnDamagedRunLengths) {
  using std::string_literals::operator""s;
  const std::string file =
      bmp(2, 3, 8, greys(3), "\3\1\0\0\0\3\0\1\2\0\0\1"s, 1);
  ASSERT_TRUE(decode_bmp(file).ok());
  expect_safe(
      file, "decode_bmp",
      [](std::string_view data) {
        return decode_bmp(data, {.max_image_pixels = 1 << 16});
      },
      3);  // whole without its end and padding
  const auto why = [](const std::string& runs, std::uint32_t bits = 8) {
    return refusal(decode_bmp(bmp(2, 3, bits, greys(3), runs, 1)));
  };
  EXPECT_THAT(why("\3\1"s), HasSubstr("the data end early: in row 0 of 2"));
  EXPECT_THAT(why("\0\2\1"s), HasSubstr("the data end early: in a jump"));
  EXPECT_THAT(why("\0\2\0\2"s), HasSubstr("a jump out of the picture"));
  EXPECT_THAT(why("\0\2\4\0"s), HasSubstr("a jump out of the picture"));
  EXPECT_THAT(why("\0\3\1\2"s), HasSubstr("3 bytes at byte"));
  EXPECT_THAT(why("", 24), HasSubstr("run-length encoding 1 of 24 bits"));
  // A run that is longer than its row ends there.
  EXPECT_THAT(
      decode_bmp(bmp(1, 3, 8, greys(3), "\x9\2\0\1"s, 1))->as<std::uint8_t>(),
      ElementsAre(20, 20, 20));
}

TEST(DecodeBmp, IsSafeOnDamagedFiles) {
  const std::string file = bmp(2, 3, 8, std::string("\1\2\3\0\4\5\6\0", 8),
                               std::string("\0\1\0\0\1\1\0\0", 8));
  expect_safe(
      file, "decode_bmp",
      [](std::string_view data) {
        return decode_bmp(data, {.max_image_pixels = 1 << 16});
      },
      0);
  EXPECT_EQ(decode_bmp(bmp(1 << 20, 1 << 20, 24, "", "")).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_THAT(refusal(decode_bmp(bmp(5, 5, 7, "", ""))),
              HasSubstr("7 bits per pixel"));
}

const std::string kColours("\0\0\0\x10\0\0\0\x20\0\0\0\x30", 12);

TEST(DecodeGif, DrawsFramesOverEachOther) {
  // 1 red, 2 green, 3 blue; the second frame covers the right pixel.
  const std::string file = testing::encode_gif(
      1, 2, kColours,
      {GifFrame{0, 0, 2, 1, {1, 2}}, GifFrame{1, 0, 1, 1, {3}}});
  const Tensor frames = decode_gif(file).value();
  ASSERT_EQ(frames.shape(), (Shape{2, 1, 2, 3}));
  EXPECT_THAT(frames.as<std::uint8_t>(),
              ElementsAre(16, 0, 0, 0, 32, 0, 16, 0, 0, 0, 0, 48));
  EXPECT_EQ(decode_gif(file, {.max_frames = 1})->shape(), (Shape{1, 1, 2, 3}));
}

TEST(DecodeGif, KeepsTransparentPixelsAndDisposes) {
  const std::string file = testing::encode_gif(
      1, 2, kColours,
      {GifFrame{0, 0, 2, 1, {1, 2}, 1},
       GifFrame{0, 0, 2, 1, {3, 1}, 2, 1},  // 1 is transparent; then cleared
       GifFrame{0, 0, 1, 1, {2}, 3},        // then as before it
       GifFrame{1, 0, 1, 1, {3}, 0}});
  const Tensor frames = decode_gif(file).value();
  EXPECT_THAT(frames.row(1).as<std::uint8_t>(),
              ElementsAre(0, 0, 48, 0, 32, 0));
  EXPECT_THAT(frames.row(2).as<std::uint8_t>(), ElementsAre(0, 32, 0, 0, 0, 0));
  EXPECT_THAT(frames.row(3).as<std::uint8_t>(), ElementsAre(0, 0, 0, 0, 0, 48));
}

TEST(DecodeGif, ReadsInterlacedRows) {
  GifFrame plain{0, 0, 3, 11, {}};
  for (int i = 0; i < 33; ++i) {
    plain.indices.push_back(static_cast<std::uint8_t>((i * 7 + i / 5) % 4));
  }
  GifFrame interlaced = plain;
  interlaced.interlaced = true;
  EXPECT_EQ(
      decode_gif(testing::encode_gif(11, 3, kColours, {interlaced})).value(),
      decode_gif(testing::encode_gif(11, 3, kColours, {plain})).value());
}

TEST(DecodeGif, IsSafeOnDamagedFiles) {
  const std::string file = testing::encode_gif(
      3, 4, kColours,
      {GifFrame{0, 0, 4, 3, {1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0}},
       GifFrame{1, 1, 2, 2, {3, 2, 1, 0}, 2, 1, true}});
  expect_safe(
      file, "decode_gif",
      [](std::string_view data) {
        return decode_gif(data, {.max_image_pixels = 1 << 16});
      },
      0);
  EXPECT_THAT(refusal(decode_gif(file, {.max_image_pixels = 13})),
              HasSubstr("2 frames of 3 x 4 pixels"));
}

TEST(DecodeImage, TellsTheFormatByContent) {
  const Tensor image = noise(Shape{5, 6, 3});
  EXPECT_EQ(decode_image(encode_png(image).value()).value(), image);
  EXPECT_EQ(
      decode_image(encode_webp(image, {.lossless = true}).value()).value(),
      image);
  const std::string jpeg = encode_jpeg(image).value();
  EXPECT_EQ(decode_image(jpeg).value(), decode_jpeg(jpeg).value());
  EXPECT_EQ(decode_image(jpeg, {.channels = 1}).value(),
            decode_jpeg(jpeg, {.channels = 1}).value());
  const std::string gif =
      testing::encode_gif(1, 2, kColours, {GifFrame{0, 0, 2, 1, {1, 2}}});
  EXPECT_EQ(decode_image(gif)->shape(), (Shape{1, 1, 2, 3}));
  EXPECT_EQ(decode_image(gif, {.expand_animations = false})->shape(),
            (Shape{1, 2, 3}));
  EXPECT_FALSE(decode_image(gif, {.channels = 4}).ok());
  EXPECT_EQ(decode_image(bmp(1, 1, 32, "", "\1\2\3\4"))->shape(),
            (Shape{1, 1, 4}));
  EXPECT_THAT(refusal(decode_image("text")),
              HasSubstr("no JPEG, PNG, GIF, BMP or WebP"));
  EXPECT_FALSE(decode_image("").ok());
}

TEST(DecodeImage, ScalesToTheDtype) {
  PngFile file;
  file.height = file.width = 1;
  file.bit_depth = 16;
  file.color_type = 0;
  file.samples = {0x8001};
  const std::string png = file.encode();
  EXPECT_EQ(decode_image(png)->as<std::uint8_t>()[0], 0x80);
  EXPECT_EQ(
      decode_image(png, {.dtype = DType::kUInt16})->as<std::uint16_t>()[0],
      0x8001);
  EXPECT_FLOAT_EQ(decode_image(png, {.dtype = DType::kFloat32})->as<float>()[0],
                  32769.0F / 65535.0F);
  EXPECT_FALSE(decode_image(png, {.dtype = DType::kInt64}).ok());
}

// A few bytes that declare 65535 x 65535 pixels: refused by the header alone.
TEST(DecodeImage, BombsAreRefusedBeforeMemoryIsTaken) {
  const auto big = [](std::string file, std::size_t at) {
    for (std::size_t i = 0; i < 4; ++i) file[at + i] = '\xFF';
    return file;
  };
  const std::string jpeg = encode_jpeg(picture(8, 8, 3)).value();
  const std::size_t sof = jpeg.find("\xFF\xC0");
  ASSERT_NE(sof, std::string::npos);
  std::string png_file = random_png(2, 8, false).encode();
  png_file = png_file.substr(0, 16) +
             std::string("\0\0\xFF\xFF\0\0\xFF\xFF", 8) + png_file.substr(24);
  const std::string gif = ::penstock::testing::encode_gif(
      1, 1, std::string("\0\0\0\1\1\1\2\2\2\3\3\3", 12), {{0, 0, 1, 1, {0}}});
  std::string webp = animated_webp();
  const char canvas[] = {'\xFF', '\xFF', 0, '\xFF', '\x7F', 0};  // less one
  webp.replace(24, 6, canvas, 6);
  // libjpeg itself refuses more than 65500.
  std::string jpeg_bomb = big(jpeg, sof + 5);
  jpeg_bomb[sof + 6] = jpeg_bomb[sof + 8] = '\0';
  const std::string bombs[] = {jpeg_bomb, png_file, big(gif, 6),
                               bmp(65535, 65535, 24, "", "pixels"), webp};
  for (const std::string& bomb : bombs) {
    const auto result = decode_image(bomb);
    ASSERT_FALSE(result.ok());
    // A PNG's header has a checksum, which is looked at first.
    EXPECT_TRUE(
        result.status().code() == StatusCode::kResourceExhausted ||
        (&bomb == &bombs[1] && result.status().code() == StatusCode::kDataLoss))
        << result.status();
  }
}

}  // namespace
}  // namespace penstock::image
