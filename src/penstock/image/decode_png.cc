// PNG over libspng.
//
// libspng gives the samples as they are stored (1 to 16 bits, packed below 8);
// widening, palette, alpha and grey are done here, so that all depths take one
// way. A picture that needs none of it is decoded straight into the result.
#include <spng.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "penstock/image/decode.h"

namespace penstock::image {
namespace {

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

// Chunks that are no pixels (text, profiles) may take this much.
constexpr std::size_t kMaxChunkBytes = std::size_t{64} << 20;
// What libpng takes for a gamma, in 1/100000.
constexpr std::uint32_t kLeastGamma = 16;
constexpr std::uint32_t kMostGamma = 625'000'000;
// Its name and checksum.
constexpr std::string_view kLastChunk = "IEND\xAE\x42\x60\x82";

Status failure(std::string_view what) {
  return absl::DataLossError(absl::StrCat("decode_png: PNG: ", to_absl(what)));
}
Status failure(std::string_view doing, int error) {
  return failure(absl::StrCat(to_absl(doing), ": ", spng_strerror(error)));
}

struct Stored {
  spng_ihdr header{};
  spng_plte palette{};
  spng_trns transparent{};
  bool has_transparent = false;
  std::uint32_t gamma = 0;  // in 1/100000; 0 if the file does not say
  std::uint32_t significant_bits = 0;

  bool has_palette() const {
    return header.color_type == SPNG_COLOR_TYPE_INDEXED;
  }
  bool has_alpha() const {
    return header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ||
           header.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA;
  }
  bool grey() const {
    return header.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
           header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
  }
  int samples() const {
    if (has_palette()) return 1;
    return (grey() ? 1 : 3) + (has_alpha() ? 1 : 0);
  }
  int default_channels() const {
    if (has_palette()) return has_transparent ? 4 : 3;
    return samples();
  }
};

// One pixel as red, green, blue, alpha; 16 bits wide if `depth` is 16.
struct Pixel {
  std::uint32_t r, g, b, a;
};

class Samples {
 public:
  Samples(const Stored& stored, const std::uint8_t* row)
      : stored_(stored), row_(row), depth_(stored.header.bit_depth) {}

  std::uint32_t at(std::int64_t i) const {
    if (depth_ == 8) return row_[i];
    if (depth_ == 16) {
      std::uint16_t v;
      std::memcpy(&v, row_ + 2 * i, 2);
      return v;
    }
    const std::int64_t bit = i * depth_;
    return (row_[bit / 8] >> (8 - depth_ - bit % 8)) & ((1U << depth_) - 1);
  }

  Pixel pixel(std::int64_t x) const {
    const std::uint32_t full = depth_ == 16 ? 65535 : 255;
    if (stored_.has_palette()) {
      const std::uint32_t index = at(x);
      // libspng has refused indices beyond the palette in strict streams; the
      // rest reads as black, as libpng shows it.
      if (index >= stored_.palette.n_entries) return {0, 0, 0, 255};
      const spng_plte_entry& e = stored_.palette.entries[index];
      const std::uint32_t alpha =
          stored_.has_transparent && index < stored_.transparent.n_type3_entries
              ? stored_.transparent.type3_alpha[index]
              : 255;
      return {e.red, e.green, e.blue, alpha};
    }
    const spng_trns& key = stored_.transparent;
    if (stored_.grey()) {
      const std::uint32_t raw = at(x * stored_.samples());
      const std::uint32_t v =
          depth_ < 8 ? raw * (255 / ((1U << depth_) - 1)) : raw;
      std::uint32_t alpha = full;
      if (stored_.has_alpha())
        alpha = at(x * 2 + 1);
      else if (stored_.has_transparent && raw == key.gray)
        alpha = 0;
      return {v, v, v, alpha};
    }
    const std::int64_t first = x * stored_.samples();
    Pixel p{at(first), at(first + 1), at(first + 2), full};
    if (stored_.has_alpha())
      p.a = at(first + 3);
    else if (stored_.has_transparent && p.r == key.red && p.g == key.green &&
             p.b == key.blue) {
      p.a = 0;
    }
    return p;
  }

 private:
  const Stored& stored_;
  const std::uint8_t* row_;
  std::uint32_t depth_;
};

// libpng's grey with TensorFlow's weights: 0.299, 0.587, 0.114 in 1/32768. The
// weights are for light, so where the file tells its gamma the samples go
// through tables to light and back; without it they are taken as they are, and
// the sum is rounded only for 16 bits.
class Grey {
 public:
  Grey(const Stored& stored, int channels, bool narrowed)
      : wide_(stored.header.bit_depth == 16) {
    const std::int64_t gamma = stored.gamma;
    if (channels > 2 || stored.grey() || gamma == 0) return;
    const std::int64_t screen = reciprocal(gamma);
    if (!significant(gamma) && !significant(screen)) return;
    if (!wide_) {
      to_light_ = bytes(screen);
      from_light_ = bytes(reciprocal(screen));
      return;
    }
    // Of 16 bits libpng looks up the upper ones: 11 for a result of 8.
    const std::uint32_t bits = stored.significant_bits;
    if (bits > 0 && bits < 16) shift_ = 16 - bits;
    if (narrowed) shift_ = std::max(shift_, 5U);
    shift_ = std::min(shift_, 8U);
    to_light_ = words(screen);
    from_light_ = words(reciprocal(screen));
    if (narrowed) {
      unchanged_ = rounded_words();
    } else if (shift_ > 0) {
      unchanged_ = words(kOne);
    }
  }

  std::uint32_t operator()(const Pixel& p) const {
    const bool plain = p.r == p.g && p.r == p.b;
    if (plain) return unchanged_.empty() ? p.r : unchanged_[p.r >> shift_];
    if (to_light_.empty()) {
      return (weighted(p.r, p.g, p.b) + (wide_ ? kHalf : 0)) >> 15;
    }
    const std::uint32_t light =
        (weighted(to_light_[p.r >> shift_], to_light_[p.g >> shift_],
                  to_light_[p.b >> shift_]) +
         kHalf) >>
        15;
    return from_light_[light >> shift_];
  }

 private:
  using Table = std::vector<std::uint16_t>;
  static constexpr std::uint32_t kHalf = 16384;
  static constexpr std::int64_t kOne = 100'000;

  static std::uint32_t weighted(std::uint32_t r, std::uint32_t g,
                                std::uint32_t b) {
    return r * 9797 + g * 19234 + b * 3737;
  }
  static std::int64_t reciprocal(std::int64_t gamma) {
    return static_cast<std::int64_t>(
        std::floor(1e10 / static_cast<double>(gamma) + 0.5));
  }
  static bool significant(std::int64_t gamma) {
    return gamma < kOne - 5'000 || gamma > kOne + 5'000;
  }
  static std::uint16_t corrected(double fraction, double full,
                                 std::int64_t gamma) {
    const double power = static_cast<double>(gamma) * 1e-5;
    return static_cast<std::uint16_t>(
        std::floor(full * std::pow(fraction, power) + 0.5));
  }

  static Table bytes(std::int64_t gamma) {
    Table table(256);
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = significant(gamma)
                     ? corrected(static_cast<double>(i) / 255, 255, gamma)
                     : static_cast<std::uint16_t>(i);
    }
    return table;
  }
  Table words(std::int64_t gamma) const {
    Table table(std::size_t{1} << (16 - shift_));
    const auto most = static_cast<std::uint32_t>(table.size() - 1);
    for (std::uint32_t i = 0; i <= most; ++i) {
      table[i] =
          significant(gamma)
              ? corrected(i * (1.0 / most), 65535, gamma)
              : static_cast<std::uint16_t>((i * 65535 + most / 2) / most);
    }
    return table;
  }
  /// Those whose upper byte is the nearest one.
  Table rounded_words() const {
    Table table(std::size_t{1} << (16 - shift_), 65535);
    const auto most = static_cast<std::uint32_t>(table.size() - 1);
    std::size_t last = 0;
    for (std::uint32_t byte = 0; byte < 255; ++byte) {
      const std::uint32_t bound =
          ((byte * 257 + 128) * most + 32768) / 65535 + 1;
      for (; last < bound; ++last) {
        table[last] = static_cast<std::uint16_t>(byte * 257);
      }
    }
    return table;
  }

  bool wide_;
  std::uint32_t shift_ = 0;
  Table to_light_;
  Table from_light_;
  Table unchanged_;  // for pixels that are grey
};

template <class T>
void convert_row(const Stored& stored, const Grey& grey, const std::uint8_t* in,
                 int channels, T* out) {
  const Samples samples(stored, in);
  const auto narrow = [&](std::uint32_t v) -> T {
    const bool wide = stored.header.bit_depth == 16;
    if constexpr (sizeof(T) == 1)
      return static_cast<T>(wide ? v >> 8 : v);
    else
      return static_cast<T>(wide ? v : v * 257);
  };
  for (std::int64_t x = 0; x < stored.header.width; ++x, out += channels) {
    const Pixel p = samples.pixel(x);
    if (channels < 3) {
      out[0] = narrow(grey(p));
    } else {
      out[0] = narrow(p.r);
      out[1] = narrow(p.g);
      out[2] = narrow(p.b);
    }
    if (channels % 2 == 0) out[channels - 1] = narrow(p.a);
  }
}

StatusOr<Stored> read_header(spng_ctx* context, const PngOptions& options) {
  Stored stored;
  if (const int e = spng_get_ihdr(context, &stored.header); e != 0) {
    return failure("the header", e);
  }
  const std::int64_t pixels =
      std::int64_t{stored.header.width} * std::int64_t{stored.header.height};
  if (pixels > options.max_image_pixels) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "decode_png: PNG: ", stored.header.height, " x ", stored.header.width,
        " pixels, more than max_image_pixels = ", options.max_image_pixels));
  }
  if (stored.has_palette()) {
    if (const int e = spng_get_plte(context, &stored.palette); e != 0) {
      return failure("the palette", e);
    }
  }
  const int e = spng_get_trns(context, &stored.transparent);
  if (e != 0 && e != SPNG_ECHUNKAVAIL) return failure("chunk tRNS", e);
  stored.has_transparent = e == 0;
  std::uint8_t intent = 0;
  if (spng_get_srgb(context, &intent) == 0) {
    stored.gamma = 45455;
  } else if (spng_get_gama_int(context, &stored.gamma) != 0 ||
             stored.gamma < kLeastGamma || stored.gamma > kMostGamma) {
    stored.gamma = 0;
  }
  if (spng_sbit sbit; spng_get_sbit(context, &sbit) == 0) {
    stored.significant_bits =
        std::max({sbit.red_bits, sbit.green_bits, sbit.blue_bits});
  }
  return stored;
}

}  // namespace

StatusOr<Tensor> decode_png(std::string_view contents,
                            const PngOptions& options) {
  if (options.channels < 0 || options.channels > 4) {
    return invalid_argument("decode_png: channels must be 0 to 4, got ",
                            options.channels);
  }
  if (options.dtype != DType::kUInt8 && options.dtype != DType::kUInt16) {
    return invalid_argument("decode_png: dtype must be uint8 or uint16, got ",
                            to_absl(dtype_name(options.dtype)));
  }
  if (detect_format(contents) != Format::kPng) {
    return invalid_argument("decode_png: not a PNG: ",
                            contents.empty() ? "no data"
                                             : "it does not begin with the "
                                               "eight bytes of every PNG");
  }
  const Context context(spng_ctx_new(0));
  if (!context) return absl::ResourceExhaustedError("decode_png: no memory");
  spng_set_chunk_limits(context.get(), kMaxChunkBytes, kMaxChunkBytes);
  spng_set_png_buffer(context.get(), contents.data(), contents.size());
  PS_ASSIGN_OR_RETURN(const Stored stored, read_header(context.get(), options));

  const int channels =
      options.channels == 0 ? stored.default_channels() : options.channels;
  const std::int64_t height = stored.header.height;
  const std::int64_t width = stored.header.width;
  std::size_t bytes = 0;
  if (const int e =
          spng_decoded_image_size(context.get(), SPNG_FMT_PNG, &bytes);
      e != 0) {
    return failure("the size", e);
  }
  PS_ASSIGN_OR_RETURN(
      Tensor image,
      Tensor::allocate(options.dtype, Shape{height, width, channels}));
  const std::uint32_t wanted_depth = options.dtype == DType::kUInt8 ? 8 : 16;
  const bool direct = !stored.has_palette() && channels == stored.samples() &&
                      stored.header.bit_depth == wanted_depth;
  Ref<Buffer> scratch;
  std::byte* target = image.mutable_data();
  if (!direct) {
    scratch = Buffer::allocate(bytes);
    if (!scratch) {
      return absl::ResourceExhaustedError(
          absl::StrCat("decode_png: no memory for ", bytes, " bytes"));
    }
    target = scratch->data();
    // libspng adds the bits of interlaced narrow samples to what is there.
    if (stored.header.interlace_method != 0) std::memset(target, 0, bytes);
  } else if (bytes != static_cast<std::size_t>(image.byte_size())) {
    return internal_error("decode_png: unexpected size ", bytes);
  }
  if (const int e =
          spng_decode_image(context.get(), target, bytes, SPNG_FMT_PNG, 0);
      e != 0) {
    return failure(absl::StrCat("the pixels of ", height, " x ", width), e);
  }
  if (const int e = spng_decode_chunks(context.get()); e != 0) {
    return failure("behind the pixels", e);
  }
  // libspng stops at the name of the last chunk.
  if (contents.rfind(kLastChunk) == std::string_view::npos) {
    return failure("the last chunk is cut or damaged");
  }
  if (direct) return image;
  const Grey grey(stored, channels, wanted_depth == 8);
  const std::size_t row_bytes = bytes / static_cast<std::size_t>(height);
  for (std::int64_t y = 0; y < height; ++y) {
    const auto* row = reinterpret_cast<const std::uint8_t*>(target) +
                      static_cast<std::size_t>(y) * row_bytes;
    const std::int64_t at = y * width * channels;
    if (wanted_depth == 8) {
      convert_row(stored, grey, row, channels,
                  image.mutable_as<std::uint8_t>().data() + at);
    } else {
      convert_row(stored, grey, row, channels,
                  image.mutable_as<std::uint16_t>().data() + at);
    }
  }
  return image;
}

}  // namespace penstock::image
