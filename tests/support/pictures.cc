#include "tests/support/pictures.h"

#include <jpeglib.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "penstock/base/random.h"

namespace penstock::testing {
namespace {

void put32(std::string& out, std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(v >> shift));
  }
}
void put16le(std::string& out, std::uint32_t v) {
  out.push_back(static_cast<char>(v));
  out.push_back(static_cast<char>(v >> 8));
}

std::uint32_t crc32(const std::string& data) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : data) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int i = 0; i < 8; ++i) {
      crc = crc & 1 ? crc >> 1 ^ 0xEDB88320U : crc >> 1;
    }
  }
  return ~crc;
}

std::uint32_t adler32(const std::string& data) {
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char c : data) {
    a = (a + static_cast<std::uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

std::string stored_zlib(const std::string& data) {
  std::string out = "\x78\x01";
  std::size_t at = 0;
  do {
    const std::size_t n = std::min<std::size_t>(65535, data.size() - at);
    out.push_back(at + n == data.size() ? 1 : 0);
    put16le(out, static_cast<std::uint32_t>(n));
    put16le(out, ~static_cast<std::uint32_t>(n));
    out.append(data, at, n);
    at += n;
  } while (at < data.size());
  put32(out, adler32(data));
  return out;
}

void put_chunk(std::string& out, const std::string& type,
               const std::string& data) {
  put32(out, static_cast<std::uint32_t>(data.size()));
  out += type + data;
  put32(out, crc32(type + data));
}

struct BitWriter {
  std::string bytes;
  std::uint32_t bits = 0;
  int used = 0;
  void put(std::uint32_t code, int width) {
    bits |= code << used;
    used += width;
    while (used >= 8) {
      bytes.push_back(static_cast<char>(bits));
      bits >>= 8;
      used -= 8;
    }
  }
};

}  // namespace

Tensor picture(std::int64_t height, std::int64_t width, std::int64_t channels,
               std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::uint8_t> values;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const double wave = std::sin(0.05 * static_cast<double>(x * (c + 1))) +
                            std::cos(0.04 * static_cast<double>(y * (3 - c)));
        values.push_back(
            static_cast<std::uint8_t>(126 + 55 * wave + 8 * random.uniform()));
      }
    }
  }
  return Tensor::from(std::span<const std::uint8_t>(values),
                      Shape{height, width, channels});
}

Tensor noise(const Shape& shape, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::uint8_t> values(
      static_cast<std::size_t>(shape.num_elements()));
  for (auto& v : values) v = static_cast<std::uint8_t>(random.next_u64());
  return Tensor::from(std::span<const std::uint8_t>(values), shape);
}

int PngFile::samples_per_pixel() const {
  constexpr int kSamples[] = {1, 0, 3, 1, 2, 0, 4};
  return kSamples[color_type];
}

std::string PngFile::encode() const {
  const auto n = static_cast<std::uint32_t>(samples_per_pixel());
  std::string raw;
  const auto add_rows = [&](std::uint32_t y0, std::uint32_t x0,
                            std::uint32_t dy, std::uint32_t dx) {
    if (x0 >= width) return;
    for (std::uint32_t y = y0; y < height; y += dy) {
      raw.push_back(0);  // no filter
      std::uint32_t byte = 0;
      int used = 0;
      for (std::uint32_t x = x0; x < width; x += dx) {
        for (std::uint32_t c = 0; c < n; ++c) {
          const std::uint32_t v = samples[(y * width + x) * n + c];
          if (bit_depth == 16) raw.push_back(static_cast<char>(v >> 8));
          if (bit_depth >= 8) {
            raw.push_back(static_cast<char>(v));
            continue;
          }
          byte = byte << bit_depth | v;
          used += bit_depth;
          if (used == 8) {
            raw.push_back(static_cast<char>(byte));
            byte = 0;
            used = 0;
          }
        }
      }
      if (used > 0) raw.push_back(static_cast<char>(byte << (8 - used)));
    }
  };
  if (interlaced) {
    constexpr std::uint32_t kPass[7][4] = {
        {0, 0, 8, 8}, {0, 4, 8, 8}, {4, 0, 8, 4}, {0, 2, 4, 4},
        {2, 0, 4, 2}, {0, 1, 2, 2}, {1, 0, 2, 1}};
    for (const auto& p : kPass) add_rows(p[0], p[1], p[2], p[3]);
  } else {
    add_rows(0, 0, 1, 1);
  }
  std::string header;
  put32(header, width);
  put32(header, height);
  header.push_back(static_cast<char>(bit_depth));
  header.push_back(static_cast<char>(color_type));
  header += std::string(2, '\0');
  header.push_back(interlaced ? 1 : 0);
  std::string out = "\x89PNG\r\n\x1A\n";
  put_chunk(out, "IHDR", header);
  for (const auto& [name, content] : chunks) put_chunk(out, name, content);
  if (!palette.empty()) put_chunk(out, "PLTE", palette);
  if (!transparent.empty()) put_chunk(out, "tRNS", transparent);
  put_chunk(out, "IDAT", stored_zlib(raw));
  put_chunk(out, "IEND", "");
  return out;
}

std::string encode_gif(int height, int width, const std::string& colours,
                       const std::vector<GifFrame>& frames) {
  std::string out = "GIF89a";
  put16le(out, static_cast<std::uint32_t>(width));
  put16le(out, static_cast<std::uint32_t>(height));
  out += std::string("\x91\x00\x00", 3);  // a global map of four colours
  out += colours;
  for (const GifFrame& f : frames) {
    out += "\x21\xF9\x04";
    out.push_back(
        static_cast<char>(f.disposal << 2 | (f.transparent >= 0 ? 1 : 0)));
    put16le(out, 5);
    out.push_back(static_cast<char>(std::max(f.transparent, 0)));
    out.push_back(0);
    out.push_back(0x2C);
    for (const int v : {f.left, f.top, f.width, f.height}) {
      put16le(out, static_cast<std::uint32_t>(v));
    }
    out.push_back(f.interlaced ? 0x40 : 0);
    out.push_back(2);  // LZW: codes of 3 bits, a clear before they widen
    BitWriter bits;
    const auto row = [&](int y) {
      for (int x = 0; x < f.width; ++x) {
        if (x % 2 == 0) bits.put(4, 3);
        bits.put(f.indices[static_cast<std::size_t>(y * f.width + x)], 3);
      }
    };
    if (f.interlaced) {
      constexpr int kFirst[] = {0, 4, 2, 1};
      constexpr int kStep[] = {8, 8, 4, 2};
      for (int pass = 0; pass < 4; ++pass) {
        for (int y = kFirst[pass]; y < f.height; y += kStep[pass]) row(y);
      }
    } else {
      for (int y = 0; y < f.height; ++y) row(y);
    }
    bits.put(5, 3);
    bits.put(0, 7);
    for (std::size_t at = 0; at < bits.bytes.size(); at += 255) {
      const std::size_t n = std::min<std::size_t>(255, bits.bytes.size() - at);
      out.push_back(static_cast<char>(n));
      out.append(bits.bytes, at, n);
    }
    out.push_back(0);
  }
  out.push_back(0x3B);
  return out;
}

namespace {

// A JPEG whose parameters `set` changes.
template <class Set>
std::string encode_with_libjpeg(const Tensor& image, J_COLOR_SPACE space,
                                Set set) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_height = static_cast<JDIMENSION>(image.shape()[0]);
  info.image_width = static_cast<JDIMENSION>(image.shape()[1]);
  info.input_components = static_cast<int>(image.shape()[2]);
  info.in_color_space = space;
  jpeg_set_defaults(&info);
  set(info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row =
        const_cast<JSAMPROW>(image.as<std::uint8_t>().data() +
                             info.next_scanline * image.shape()[1] *
                                 static_cast<std::int64_t>(image.shape()[2]));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string out(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return out;
}

}  // namespace

std::string encode_jpeg_as(const Tensor& image, const JpegCoding& coding) {
  return encode_with_libjpeg(
      image, image.shape()[2] == 1 ? JCS_GRAYSCALE : JCS_RGB,
      [&](jpeg_compress_struct& info) {
        jpeg_set_quality(&info, coding.quality, TRUE);
        info.comp_info[0].h_samp_factor = coding.samples_across;
        info.comp_info[0].v_samp_factor = coding.samples_down;
        info.optimize_coding = coding.optimized ? TRUE : FALSE;
        info.restart_interval = static_cast<unsigned>(coding.restart_interval);
      });
}

std::string encode_cmyk(const Tensor& image, bool ycck, bool adobe) {
  return encode_with_libjpeg(image, JCS_CMYK, [&](jpeg_compress_struct& info) {
    jpeg_set_colorspace(&info, ycck ? JCS_YCCK : JCS_CMYK);
    jpeg_set_quality(&info, 100, TRUE);
    for (int c = 0; c < 4; ++c) {
      info.comp_info[c].h_samp_factor = 1;
      info.comp_info[c].v_samp_factor = 1;
    }
    info.write_Adobe_marker = adobe ? TRUE : FALSE;
  });
}

std::string with_orientation(const std::string& jpeg, int orientation,
                             bool big_endian) {
  std::string tiff;
  const auto put = [&](std::uint32_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int shift = 8 * (big_endian ? bytes - 1 - i : i);
      tiff.push_back(static_cast<char>(v >> shift));
    }
  };
  tiff = big_endian ? "MM" : "II";
  put(42, 2);
  put(8, 4);
  put(2, 2);  // two entries: a width, which is skipped, and the orientation
  for (const auto& [tag, value] :
       {std::pair<int, int>{0x0100, 7}, {0x0112, orientation}}) {
    put(static_cast<std::uint32_t>(tag), 2);
    put(3, 2);
    put(1, 4);
    put(static_cast<std::uint32_t>(value), 2);
    put(0, 2);
  }
  put(0, 4);
  std::string segment("\xFF\xE1", 2);
  const std::size_t length = 2 + 6 + tiff.size();
  segment.push_back(static_cast<char>(length >> 8));
  segment.push_back(static_cast<char>(length));
  segment += std::string("Exif\0\0", 6) + tiff;
  return jpeg.substr(0, 2) + segment + jpeg.substr(2);
}

}  // namespace penstock::testing
