// PNG over libspng.
//
// libspng gives the samples as they are stored (1 to 16 bits, packed below 8);
// widening, palette, alpha and grey are done here, so that all depths take one
// way. A picture that needs none of it is decoded straight into the result.
#include <spng.h>

#include <cstring>
#include <memory>

#include "penstock/image/decode.h"

namespace penstock::image {
namespace {

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

// Chunks that are no pixels (text, profiles) may take this much.
constexpr std::size_t kMaxChunkBytes = std::size_t{64} << 20;
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

// libpng's grey with TensorFlow's weights: 0.299, 0.587, 0.114 in 1/32768, and
// rounded only for 16 bits.
std::uint32_t grey_of(const Pixel& p, int bit_depth) {
  if (p.r == p.g && p.r == p.b) return p.r;
  const std::uint32_t sum = p.r * 9797 + p.g * 19234 + p.b * 3737;
  return (sum + (bit_depth == 16 ? 16384 : 0)) >> 15;
}

template <class T>
void convert_row(const Stored& stored, const std::uint8_t* in, int channels,
                 T* out) {
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
      out[0] = narrow(grey_of(p, stored.header.bit_depth));
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
  const std::size_t row_bytes = bytes / static_cast<std::size_t>(height);
  for (std::int64_t y = 0; y < height; ++y) {
    const auto* row = reinterpret_cast<const std::uint8_t*>(target) +
                      static_cast<std::size_t>(y) * row_bytes;
    const std::int64_t at = y * width * channels;
    if (wanted_depth == 8) {
      convert_row(stored, row, channels,
                  image.mutable_as<std::uint8_t>().data() + at);
    } else {
      convert_row(stored, row, channels,
                  image.mutable_as<std::uint16_t>().data() + at);
    }
  }
  return image;
}

}  // namespace penstock::image
