// BMP: pictures with palette, also run-length encoded, bit fields, 24 and 32
// bits.
//
// Written here because the format is a header and rows; every offset is
// checked against the size of the data before it is used. Pixels that a
// run-length encoding leaves out have the first colour of the palette.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "penstock/image/decode.h"
#include "penstock/image/pixels.h"

namespace penstock::image {
namespace {

enum Compression : std::uint32_t {
  kPlain = 0,
  kRunLength8 = 1,
  kRunLength4 = 2,
  kBitFields = 3,
  kAlphaBitFields = 6,
};

template <class... Parts>
Status failure(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat("decode_bmp: BMP: ", parts...));
}

// Little-endian numbers; those beyond the end read as zero, the caller has
// checked what matters.
class Bytes {
 public:
  explicit Bytes(std::string_view data) : data_(data) {}
  std::size_t size() const { return data_.size(); }
  std::uint8_t u8(std::size_t at) const {
    return at < data_.size() ? static_cast<std::uint8_t>(data_[at]) : 0;
  }
  std::uint32_t u16(std::size_t at) const { return u8(at) | u8(at + 1) << 8; }
  std::uint32_t u32(std::size_t at) const {
    return u16(at) | u16(at + 2) << 16;
  }
  std::int32_t i32(std::size_t at) const {
    return static_cast<std::int32_t>(u32(at));
  }
  const std::uint8_t* data() const {
    return reinterpret_cast<const std::uint8_t*>(data_.data());
  }

 private:
  std::string_view data_;
};

// One channel of a 16 or 32 bit pixel.
struct Field {
  std::uint32_t mask = 0;
  int shift = 0;
  std::uint32_t most = 0;

  explicit Field(std::uint32_t m = 0)
      : mask(m), shift(m == 0 ? 0 : std::countr_zero(m)), most(m >> shift) {}
  std::uint8_t of(std::uint32_t pixel, std::uint8_t missing) const {
    if (most == 0) return missing;
    const std::uint64_t v = (pixel & mask) >> shift;
    return static_cast<std::uint8_t>((v * 255 + most / 2) / most);
  }
};

struct Picture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool bottom_up = true;
  std::uint32_t bits = 0;
  bool run_length = false;
  std::size_t pixels_at = 0;
  std::size_t row_bytes = 0;
  std::array<std::array<std::uint8_t, 4>, 256> palette{};
  bool grey = false;  // the palette is
  std::array<Field, 4> fields;

  int default_channels() const {
    if (bits <= 8) return grey ? 1 : 3;
    return bits == 32 && fields[3].mask != 0 ? 4 : 3;
  }
};

Status read_palette(const Bytes& in, std::size_t at, std::size_t entry_bytes,
                    std::size_t count, Picture& picture) {
  if (at + count * entry_bytes > in.size()) {
    return failure("the palette of ", count, " colours ends beyond the data");
  }
  picture.grey = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t e = at + i * entry_bytes;
    picture.palette[i] = {in.u8(e + 2), in.u8(e + 1), in.u8(e), 255};
    picture.grey =
        picture.grey && in.u8(e) == in.u8(e + 1) && in.u8(e) == in.u8(e + 2);
  }
  return absl::OkStatus();
}

StatusOr<Picture> read_header(const Bytes& in, std::int64_t max_image_pixels) {
  Picture p;
  if (in.size() < 26) return failure("the data end in the header");
  p.pixels_at = in.u32(10);
  const std::size_t header = in.u32(14);
  std::uint32_t compression = kPlain;
  std::uint32_t colours = 0;
  std::size_t entry_bytes = 4;
  if (header == 12) {
    p.width = in.u16(18);
    p.height = in.u16(20);
    p.bits = in.u16(24);
    entry_bytes = 3;
  } else if (header >= 40 && header <= 1024) {
    if (in.size() < 14 + header) return failure("the data end in the header");
    p.width = in.i32(18);
    p.height = in.i32(22);
    p.bits = in.u16(28);
    compression = in.u32(30);
    colours = in.u32(46);
  } else {
    return failure("a header of ", header, " bytes at byte 14");
  }
  if (p.height < 0) {
    p.bottom_up = false;
    p.height = -p.height;
  }
  if (p.width <= 0 || p.height <= 0) {
    return failure("the size ", p.height, " x ", p.width);
  }
  if (p.width > max_image_pixels / p.height) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "decode_bmp: BMP: ", p.height, " x ", p.width,
        " pixels, more than max_image_pixels = ", max_image_pixels));
  }
  const bool masks =
      compression == kBitFields || compression == kAlphaBitFields;
  p.run_length = compression == kRunLength8 || compression == kRunLength4;
  if (compression != kPlain && !masks && !p.run_length) {
    return failure("compression ", compression);
  }
  if (p.run_length && p.bits != (compression == kRunLength8 ? 8 : 4)) {
    return failure("run-length encoding ", compression, " of ", p.bits,
                   " bits per pixel");
  }
  switch (p.bits) {
    case 1:
    case 4:
    case 8: {
      const std::size_t most = std::size_t{1} << p.bits;
      const std::size_t count = colours == 0 ? most : colours;
      if (count > most) return failure("a palette of ", count, " colours");
      PS_RETURN_IF_ERROR(read_palette(in, 14 + header, entry_bytes, count, p));
      break;
    }
    case 16:
      p.fields = {Field(0x7C00), Field(0x03E0), Field(0x001F), Field()};
      break;
    case 24:
      break;
    case 32:
      p.fields = {Field(0xFF0000), Field(0xFF00), Field(0xFF),
                  Field(0xFF000000)};
      break;
    default:
      return failure(p.bits, " bits per pixel");
  }
  if (masks && (p.bits == 16 || p.bits == 32)) {
    // Behind a header of 40 bytes, else part of it: the same place.
    const bool alpha = header >= 56 || compression == kAlphaBitFields;
    for (std::size_t c = 0; c < 4; ++c) {
      p.fields[c] = Field(c < 3 || alpha ? in.u32(54 + 4 * c) : 0);
    }
  }
  if (p.run_length) {
    if (p.pixels_at > in.size()) {
      return failure("pixels at byte ", p.pixels_at, ", ", in.size(),
                     " bytes in all");
    }
    return p;
  }
  p.row_bytes = (static_cast<std::size_t>(p.width) * p.bits + 31) / 32 * 4;
  const std::size_t needed = p.row_bytes * static_cast<std::size_t>(p.height);
  if (p.pixels_at > in.size() || needed > in.size() - p.pixels_at) {
    return failure("the data end early: ", needed, " bytes of pixels at byte ",
                   p.pixels_at, ", ", in.size(), " bytes in all");
  }
  return p;
}

// Undoes the run-length encoding: stored rows of one byte for each pixel.
//
// Pairs of bytes: a count and what is repeated, or 0 and a command: 0 ends a
// row, 1 the picture, 2 jumps right and on, others are a count of pixels that
// follow as they are, padded to 16 bits. What lies beyond the end of a row is
// dropped.
StatusOr<std::vector<std::uint8_t>> expand_runs(const Bytes& in, Picture& p) {
  const auto width = static_cast<std::size_t>(p.width);
  const auto height = static_cast<std::size_t>(p.height);
  const bool nibbles = p.bits == 4;
  std::vector<std::uint8_t> plane(width * height, 0);
  std::size_t at = p.pixels_at;
  std::size_t x = 0;
  std::size_t y = 0;
  const auto put = [&](std::size_t i, std::uint8_t pair) {
    const std::uint8_t value = !nibbles     ? pair
                               : i % 2 == 0 ? pair >> 4
                                            : pair & 15;
    if (x < width) plane[y * width + x++] = value;
  };
  while (y < height) {
    if (in.size() - at < 2) {
      // Without its end, but whole.
      if (y + 1 == height && x == width) break;
      return failure("the data end early: in row ", y, " of ", height);
    }
    const std::size_t count = in.u8(at);
    const std::uint8_t value = in.u8(at + 1);
    at += 2;
    if (count > 0) {
      for (std::size_t i = 0; i < count; ++i) put(i, value);
    } else if (value == 0) {
      x = 0;
      ++y;
    } else if (value == 1) {
      break;
    } else if (value == 2) {
      if (in.size() - at < 2) return failure("the data end early: in a jump");
      x += in.u8(at);
      y += in.u8(at + 1);
      if (x > width || y >= height) {
        return failure("a jump out of the picture at byte ", at);
      }
      at += 2;
    } else {
      const std::size_t bytes =
          nibbles ? (std::size_t{value} + 1) / 2 : std::size_t{value};
      if (in.size() - at < bytes) {
        return failure("the data end early: ", bytes, " bytes at byte ", at);
      }
      for (std::size_t i = 0; i < value; ++i) {
        put(i, in.u8(at + (nibbles ? i / 2 : i)));
      }
      at = std::min(in.size(), at + bytes + bytes % 2);
    }
  }
  p.bits = 8;
  p.row_bytes = width;
  return plane;
}

// One stored row as RGBA.
void read_row(const Picture& p, const std::uint8_t* row, std::uint8_t* rgba) {
  for (std::int64_t x = 0; x < p.width; ++x, rgba += 4) {
    if (p.bits <= 8) {
      const std::int64_t bit = x * p.bits;
      const std::uint32_t index =
          (row[bit / 8] >> (8 - p.bits - bit % 8)) & ((1U << p.bits) - 1);
      std::memcpy(rgba, p.palette[index].data(), 4);
    } else if (p.bits == 24) {
      rgba[0] = row[3 * x + 2];
      rgba[1] = row[3 * x + 1];
      rgba[2] = row[3 * x];
      rgba[3] = 255;
    } else {
      const std::size_t width = p.bits / 8;
      std::uint32_t pixel = 0;
      for (std::size_t i = 0; i < width; ++i) {
        pixel |= std::uint32_t{row[static_cast<std::size_t>(x) * width + i]}
                 << (8 * i);
      }
      for (std::size_t c = 0; c < 4; ++c) {
        rgba[c] = p.fields[c].of(pixel, c == 3 ? 255 : 0);
      }
    }
  }
}

}  // namespace

StatusOr<Tensor> decode_bmp(std::string_view contents,
                            const BmpOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3 &&
      options.channels != 4) {
    return invalid_argument("decode_bmp: channels must be 0, 1, 3 or 4, got ",
                            options.channels);
  }
  if (detect_format(contents) != Format::kBmp) {
    return invalid_argument(
        "decode_bmp: not a BMP: ",
        contents.empty() ? "no data" : "it does not begin with BM");
  }
  const Bytes in(contents);
  PS_ASSIGN_OR_RETURN(Picture picture,
                      read_header(in, options.max_image_pixels));
  std::vector<std::uint8_t> plane;
  const std::uint8_t* pixels = in.data() + picture.pixels_at;
  if (picture.run_length) {
    PS_ASSIGN_OR_RETURN(plane, expand_runs(in, picture));
    pixels = plane.data();
  }
  const int channels =
      options.channels == 0 ? picture.default_channels() : options.channels;
  PS_ASSIGN_OR_RETURN(Tensor image,
                      Tensor::allocate<std::uint8_t>(
                          Shape{picture.height, picture.width, channels}));
  std::uint8_t* out = image.mutable_as<std::uint8_t>().data();
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(picture.width) * 4);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    const std::int64_t stored = picture.bottom_up ? picture.height - 1 - y : y;
    read_row(picture,
             pixels + static_cast<std::size_t>(stored) * picture.row_bytes,
             rgba.data());
    // A grey palette keeps its values exactly.
    rgba_to_pixels(rgba.data(), picture.width, channels, out);
    out += picture.width * channels;
  }
  return image;
}

}  // namespace penstock::image
