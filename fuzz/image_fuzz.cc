// The image decoders on any bytes: a picture of the declared size or an error,
// without touching memory outside, within the limit on pixels.
//
// The format is told by content; options hang on the size of the input, so
// that a found input repeats by itself.
#include <cstdint>
#include <string_view>

#include "penstock/image/decode.h"
#include "penstock/image/encode.h"

namespace {

using namespace penstock;         // NOLINT
using namespace penstock::image;  // NOLINT

constexpr std::int64_t kMaxPixels = 1 << 18;

void check(const StatusOr<Tensor>& result) {
  if (!result.ok()) {
    if (result.status().message().empty()) __builtin_trap();
    if (result.status().code() == StatusCode::kInternal) __builtin_trap();
    return;
  }
  // Reads every byte: a value that was never written is seen by a sanitizer.
  unsigned sum = 0;
  for (std::int64_t i = 0; i < result->byte_size(); ++i) {
    sum += static_cast<unsigned>(result->data()[i]);
  }
  if (sum > 255U * static_cast<unsigned>(result->byte_size())) {
    __builtin_trap();
  }
}

void check_jpeg(std::string_view data) {
  JpegOptions options;
  options.max_image_pixels = kMaxPixels;
  const std::size_t n = data.size();
  options.ratio = 1 << (n % 4);
  options.fancy_upscaling = n / 4 % 2 == 0;
  options.try_recover_truncated = n / 8 % 2 == 0;
  options.exif_orientation = n / 16 % 2 == 0;
  options.acceptable_fraction = n / 32 % 2 == 0 ? 1.0F : 0.2F;
  constexpr int kChannels[] = {0, 1, 3, 4};
  options.channels = kChannels[n / 64 % 4];
  check(decode_jpeg(data, options));
  options.exif_orientation = false;
  const auto ours = decode_jpeg(data, options);
  options.plain_libjpeg = true;
  const auto plain = decode_jpeg(data, options);
  options.plain_libjpeg = false;
  if (ours.ok() ? !plain.ok() || *ours != *plain
                : ours.status() != plain.status()) {
    __builtin_trap();
  }
  const auto shape = extract_jpeg_shape(data);
  if (!shape.ok()) return;
  const std::int64_t h = (shape->height + options.ratio - 1) / options.ratio;
  const std::int64_t w = (shape->width + options.ratio - 1) / options.ratio;
  check(decode_and_crop_jpeg(data, {h / 3, w / 4, (h + 1) / 2, (w + 1) / 2},
                             options));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes,
                                      std::size_t size) {
  const std::string_view data(reinterpret_cast<const char*>(bytes), size);
  switch (detect_format(data)) {
    case Format::kJpeg:
      check_jpeg(data);
      break;
    case Format::kPng:
      check(decode_png(
          data, {.channels = static_cast<int>(size % 5),
                 .dtype = size / 5 % 2 == 0 ? DType::kUInt8 : DType::kUInt16,
                 .max_image_pixels = kMaxPixels}));
      break;
    case Format::kWebp:
      check(decode_webp(data, {.max_image_pixels = kMaxPixels}));
      check(decode_webp(data, {.channels = 1, .max_image_pixels = kMaxPixels}));
      check(decode_webp_frames(
          data, {.channels = size % 2 == 0 ? 0 : 3,
                 .max_image_pixels = kMaxPixels,
                 .max_frames = static_cast<std::int64_t>(size % 3)}));
      break;
    case Format::kBmp:
      check(decode_bmp(data, {.max_image_pixels = kMaxPixels}));
      break;
    case Format::kGif:
      check(decode_gif(data, {.max_image_pixels = kMaxPixels}));
      break;
    case Format::kUnknown:
      check(decode_image(data));
      break;
  }
  return 0;
}
