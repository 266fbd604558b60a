// Pictures and picture files made by hand, for the tests of penstock/image.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "penstock/memory/tensor.h"

namespace penstock::testing {

/// Smooth colours with some noise, the same in every run: uint8.
Tensor picture(std::int64_t height, std::int64_t width, std::int64_t channels,
               std::uint64_t seed = 1);
/// Every value random: uint8.
Tensor noise(const Shape& shape, std::uint64_t seed = 1);

/// A PNG written without zlib (stored blocks) from packed rows of samples.
struct PngFile {
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  int bit_depth = 8;
  int color_type = 2;  // 0 grey, 2 RGB, 3 palette, 4 grey + alpha, 6 RGBA
  bool interlaced = false;
  std::vector<std::uint32_t> samples;  // row by row
  std::string palette;                 // PLTE, three bytes each
  std::string transparent;             // tRNS, if not empty
  // Name and content of other chunks in front of the pixels.
  std::vector<std::pair<std::string, std::string>> chunks;

  int samples_per_pixel() const;
  std::string encode() const;
};

/// One frame of a GIF, its pixels indices into four colours (2 bits).
struct GifFrame {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> indices;
  int disposal = 0;
  int transparent = -1;
  bool interlaced = false;
};
/// `colours` holds 12 bytes: four times red, green, blue.
std::string encode_gif(int height, int width, const std::string& colours,
                       const std::vector<GifFrame>& frames);

/// How a JPEG is coded.
struct JpegCoding {
  int quality = 90;
  int samples_down = 1;  // pixels that share their colour
  int samples_across = 1;
  bool optimized = false;    // with tables of its own
  int restart_interval = 0;  // units between markers; 0: none
};
/// A JPEG of grey or RGB pixels.
std::string encode_jpeg_as(const Tensor& image, const JpegCoding& coding);
/// A JPEG of CMYK or YCCK pixels [height, width, 4].
std::string encode_cmyk(const Tensor& image, bool ycck, bool adobe);
/// `jpeg` with an EXIF segment that holds this orientation.
std::string with_orientation(const std::string& jpeg, int orientation,
                             bool big_endian);

}  // namespace penstock::testing
