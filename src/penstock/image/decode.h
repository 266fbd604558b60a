// Image decoders: bytes in, a tensor [height, width, channels] of uint8 (or
// uint16) out.
//
// Names, defaults and numbers follow TensorFlow. Every function is pure, safe
// on any bytes and on any thread; bad input is an error that says which format,
// what and where. The result is allocated with Tensor::allocate, so inside a
// pipeline it is written straight into its place in the batch.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "penstock/base/status.h"
#include "penstock/memory/dtype.h"
#include "penstock/memory/tensor.h"

namespace penstock::image {

/// Declared sizes above this are refused before anything is allocated.
constexpr std::int64_t kDefaultMaxPixels = std::int64_t{1} << 28;

enum class Format { kUnknown, kJpeg, kPng, kGif, kBmp, kWebp };
/// By the first bytes; kUnknown when they are of none of the formats.
Format detect_format(std::string_view contents);
std::string_view format_name(Format format);

enum class DctMethod {
  kFast,      // "INTEGER_FAST", the default as in TensorFlow
  kAccurate,  // "INTEGER_ACCURATE"
};
/// "" is the default; also "INTEGER_FAST" and "INTEGER_ACCURATE".
StatusOr<DctMethod> dct_method_from_name(std::string_view name);

struct JpegOptions {
  int channels = 0;  // 0: as stored (CMYK gives 3); 1 grey, 3 RGB, 4 RGBA
  int ratio = 1;     // 1, 2, 4 or 8: decode at that fraction of the size
  DctMethod dct_method = DctMethod::kFast;
  bool fancy_upscaling = true;
  /// A file that ends early gives the rows there are and what libjpeg guesses.
  bool try_recover_truncated = false;
  /// The share of rows that must be there; missing ones are black.
  float acceptable_fraction = 1.0F;
  /// Turns the picture as its EXIF orientation says.
  bool exif_orientation = false;
  /// Also refuses data that libjpeg only warns of.
  bool strict = false;
  /// Decodes with libjpeg alone: the same pixels and errors, slower.
  bool plain_libjpeg = false;
  std::int64_t max_image_pixels = kDefaultMaxPixels;
};

/// A part of a picture, in pixels of the decoded (scaled) picture.
struct Window {
  std::int64_t y = 0;
  std::int64_t x = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

struct JpegShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;  // as stored: 4 for CMYK
  int orientation = 1;        // EXIF, 1..8
};

StatusOr<Tensor> decode_jpeg(std::string_view contents,
                             const JpegOptions& options = {});
/// Reads the header only.
StatusOr<JpegShape> extract_jpeg_shape(std::string_view contents);
/// The same pixels as decode_jpeg and a crop, but only the rows down to the
/// window's end and, unless the file is progressive or fancy_upscaling is off,
/// the columns around it are decoded. Not together with exif_orientation.
StatusOr<Tensor> decode_and_crop_jpeg(std::string_view contents,
                                      const Window& window,
                                      const JpegOptions& options = {});

struct PngOptions {
  int channels = 0;  // 0: as stored; 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA
  DType dtype = DType::kUInt8;  // or kUInt16
  std::int64_t max_image_pixels = kDefaultMaxPixels;
};
StatusOr<Tensor> decode_png(std::string_view contents,
                            const PngOptions& options = {});

struct WebpOptions {
  int channels = 0;  // 0: 3, or 4 when there is an alpha channel; 1, 3, 4
  std::int64_t max_image_pixels = kDefaultMaxPixels;
};
/// A still picture; refuses an animation.
StatusOr<Tensor> decode_webp(std::string_view contents,
                             const WebpOptions& options = {});

struct WebpFramesOptions {
  int channels = 0;  // 0: 4; 1, 3, 4
  /// Counts the pixels of all frames.
  std::int64_t max_image_pixels = kDefaultMaxPixels;
  /// Frames beyond this are not decoded; 0: all.
  std::int64_t max_frames = 0;
};
/// All frames as they are shown, [frames, height, width, channels]; a still
/// picture is one frame.
StatusOr<Tensor> decode_webp_frames(std::string_view contents,
                                    const WebpFramesOptions& options = {});
/// Whether a WebP says that it is an animation.
bool is_webp_animation(std::string_view contents);

struct BmpOptions {
  int channels = 0;  // 0: as stored (a grey palette is 1); 1, 3, 4
  std::int64_t max_image_pixels = kDefaultMaxPixels;
};
/// 1, 4, 8, 16, 24 and 32 bits per pixel; not the run-length encodings.
StatusOr<Tensor> decode_bmp(std::string_view contents,
                            const BmpOptions& options = {});

struct GifOptions {
  /// Counts the pixels of all frames.
  std::int64_t max_image_pixels = kDefaultMaxPixels;
  /// Frames beyond this are not decoded; 0: all.
  std::int64_t max_frames = 0;
};
/// All frames as they are shown, [frames, height, width, 3]; what is
/// transparent is black.
StatusOr<Tensor> decode_gif(std::string_view contents,
                            const GifOptions& options = {});

struct DecodeOptions {
  int channels = 0;
  DType dtype = DType::kUInt8;  // also kUInt16, kFloat16, kFloat32: scaled
  /// A GIF gives [frames, height, width, 3], an animated WebP [frames, height,
  /// width, 4]; false: the first frame.
  bool expand_animations = true;
  std::int64_t max_image_pixels = kDefaultMaxPixels;
};
/// Any of the formats, told by its first bytes.
StatusOr<Tensor> decode_image(std::string_view contents,
                              const DecodeOptions& options = {});

}  // namespace penstock::image
