// Pictures: the kernels beside memcpy, resize, and JPEG files to batches beside
// the bare loop that does the same work without an engine.
//
// PENSTOCK_BENCH_PHOTOS names a folder of JPEG files to use instead of the
// generated ones.
// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>  // wants the two above before it
// clang-format on

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "benchmarks/micro/bench.h"
#include "penstock/base/random.h"
#include "penstock/image/image.h"
#include "penstock/image/kernels.h"
#include "penstock/penstock.h"

namespace penstock::bench {
namespace {

constexpr std::int64_t kHeight = 375;
constexpr std::int64_t kWidth = 500;
constexpr std::int64_t kSide = 224;
constexpr std::int64_t kBatch = 32;
const std::vector<float> kMean = {123.675F, 116.28F, 103.53F};
const std::vector<float> kStd = {58.395F, 57.12F, 57.375F};

// Smooth colours under noise: about as many bytes as a photograph.
Tensor photograph(std::uint64_t seed) {
  RandomStream random(seed);
  Tensor image =
      Tensor::allocate<std::uint8_t>(Shape{kHeight, kWidth, 3}).value();
  std::uint8_t* out = image.mutable_as<std::uint8_t>().data();
  const double phase = random.uniform() * 6;
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) {
      for (int c = 0; c < 3; ++c) {
        const double wave =
            std::sin(phase + 0.031 * static_cast<double>(x * (c + 1))) +
            std::cos(phase * 2 + 0.027 * static_cast<double>(y));
        *out++ =
            static_cast<std::uint8_t>(120 + 45 * wave + 26 * random.uniform());
      }
    }
  }
  return image;
}

std::vector<std::string> files() {
  std::vector<std::string> all;
  if (const char* folder = std::getenv("PENSTOCK_BENCH_PHOTOS")) {
    std::vector<std::filesystem::path> paths;
    for (const auto& e : std::filesystem::directory_iterator(folder)) {
      paths.push_back(e.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream in(path, std::ios::binary);
      all.emplace_back(std::istreambuf_iterator<char>(in),
                       std::istreambuf_iterator<char>());
    }
    return all;
  }
  for (std::uint64_t i = 0; i < 32; ++i) {
    all.push_back(image::encode_jpeg(photograph(i), {.quality = 92}).value());
  }
  return all;
}

image::Window window_of(bool crop, image::Size size, std::uint64_t key) {
  if (!crop) return {0, 0, size.height, size.width};
  return image::random_resized_crop_window(size, key).value();
}

// What anybody would write: libjpeg with crop and skip, then a plain loop.
class BareLoop {
 public:
  BareLoop() {
    info_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&info_);
  }
  ~BareLoop() { jpeg_destroy_decompress(&info_); }
  BareLoop(const BareLoop&) = delete;
  BareLoop& operator=(const BareLoop&) = delete;

  void load(const std::string& file, std::uint64_t key, bool crop, float* out) {
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()),
                 file.size());
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = JCS_RGB;
    const image::Window w =
        window_of(crop, {info_.image_height, info_.image_width}, key);
    const bool flip = crop && (mix64(key) & 1) != 0;
    jpeg_start_decompress(&info_);
    auto x = static_cast<JDIMENSION>(w.x);
    auto width = static_cast<JDIMENSION>(w.width);
    if (crop) jpeg_crop_scanline(&info_, &x, &width);
    if (w.y > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(w.y));
    const std::size_t stride = std::size_t{info_.output_width} * 3;
    rows_.resize(stride * static_cast<std::size_t>(w.height));
    for (std::int64_t r = 0; r < w.height;) {
      JSAMPROW lines[8];
      const std::int64_t n = std::min<std::int64_t>(8, w.height - r);
      for (std::int64_t k = 0; k < n; ++k) {
        lines[k] = rows_.data() + stride * static_cast<std::size_t>(r + k);
      }
      r += jpeg_read_scanlines(&info_, lines, static_cast<JDIMENSION>(n));
    }
    jpeg_abort_decompress(&info_);
    shrink(rows_.data() + (static_cast<std::size_t>(w.x) - x) * 3, stride, w,
           flip, out);
  }

 private:
  void shrink(const std::uint8_t* base, std::size_t stride,
              const image::Window& w, bool flip, float* out) {
    middle_.resize(stride);
    const auto scale = [](std::int64_t i, std::int64_t length) {
      return std::max(0.0F, (static_cast<float>(i) + 0.5F) *
                                    static_cast<float>(length) /
                                    static_cast<float>(kSide) -
                                0.5F);
    };
    for (std::int64_t oy = 0; oy < kSide; ++oy) {
      const float sy = scale(oy, w.height);
      const auto y0 = static_cast<std::int64_t>(sy);
      const std::int64_t y1 = std::min(y0 + 1, w.height - 1);
      const float fy = sy - static_cast<float>(y0);
      const std::uint8_t* a = base + static_cast<std::size_t>(y0) * stride;
      const std::uint8_t* b = base + static_cast<std::size_t>(y1) * stride;
      for (std::int64_t i = 0; i < w.width * 3; ++i) {
        middle_[static_cast<std::size_t>(i)] =
            static_cast<float>(a[i]) +
            (static_cast<float>(b[i]) - static_cast<float>(a[i])) * fy;
      }
      for (std::int64_t ox = 0; ox < kSide; ++ox) {
        const float sx = scale(ox, w.width);
        const auto x0 = static_cast<std::size_t>(sx);
        const auto x1 = std::min(x0 + 1, static_cast<std::size_t>(w.width - 1));
        const float fx = sx - static_cast<float>(x0);
        float* o = out + (oy * kSide + (flip ? kSide - 1 - ox : ox)) * 3;
        for (std::size_t k = 0; k < 3; ++k) {
          const float v = middle_[x0 * 3 + k];
          o[k] = (v + (middle_[x1 * 3 + k] - v) * fx - kMean[k]) / kStd[k];
        }
      }
    }
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  std::vector<std::uint8_t> rows_;
  std::vector<float> middle_;
};

image::TransformOptions chain(std::uint64_t key, bool crop) {
  image::TransformOptions options;
  options.decode.channels = 3;
  options.size = image::Size{kSide, kSide};
  options.normalize = image::Normalization{kMean, kStd};
  options.flip_left_right = crop && (mix64(key) & 1) != 0;
  if (crop) {
    options.crop = [key](image::Size size) -> StatusOr<image::Window> {
      return window_of(true, size, key);
    };
  }
  return options;
}

double gb_per_s(double bytes, double ns) { return bytes / ns; }

// The mean difference of the two, in steps of 255: they must do the same work.
double difference(const std::string& file) {
  BareLoop bare;
  std::vector<float> a(kSide * kSide * 3);
  bare.load(file, 1, true, a.data());
  const Tensor b = image::decode_and_transform(file, chain(1, true)).value();
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += std::abs(a[i] - b.as<float>()[i]) * 57;
  }
  return sum / static_cast<double>(a.size());
}

}  // namespace

PENSTOCK_BENCH(60, image_kernels) {
  const Tensor photo = photograph(1);
  const int repeats = table.quick() ? 20 : 300;
  const double bytes = kHeight * kWidth * 3;
  std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
  std::vector<float> floats(static_cast<std::size_t>(bytes));
  std::vector<float> normalized(floats.size());
  const float weights[] = {0.25F, 0.75F};
  const std::vector<float> scale = {1 / kStd[0], 1 / kStd[1], 1 / kStd[2]};
  const auto t = interleave(
      repeats,
      {[&] {
         return time_of([&] {
           std::memcpy(copy.data(), photo.data(), copy.size());
           keep(copy);
         });
       },
       [&] {
         return time_of([&] {
           image::widen(photo.as<std::uint8_t>().data(),
                        static_cast<std::int64_t>(bytes), 1 / 255.0F,
                        floats.data());
           keep(floats);
         });
       },
       [&] {
         return time_of([&] {
           for (std::int64_t y = 0; y + 1 < kHeight; ++y) {
             image::vertical_sum(photo.data() + y * kWidth * 3, DType::kUInt8,
                                 kWidth * 3, weights, 2, kWidth * 3,
                                 floats.data() + y * kWidth * 3);
           }
           keep(floats);
         });
       },
       [&] {
         return time_of([&] {
           image::subtract_and_scale(
               photo.data(), DType::kUInt8, static_cast<std::int64_t>(bytes),
               kMean.data(), scale.data(), 3, normalized.data());
           keep(normalized);
         });
       },
       [&] {
         return time_of([&] { keep(image::resize(photo, {kSide, kSide})); });
       },
       [&] {
         return time_of([&] {
           keep(image::resize(photo, {kSide, kSide}, {.antialias = true}));
         });
       },
       [&] {
         return time_of([&] {
           keep(image::resize(photo, {kSide, kSide},
                              {.method = image::ResizeMethod::kBicubic}));
         });
       },
       [&] {
         return time_of([&] { keep(image::adjust_contrast(photo, 1.3F)); });
       },
       [&] { return time_of([&] { keep(image::adjust_hue(photo, 0.1F)); }); }});
  table.at_most("resize bilinear 500x375 -> 224, RGB uint8, one core",
                t[4].best() / 1e6, "ms", 0.15);
  table.reference("  with antialias", t[5].best() / 1e6, "ms");
  table.reference("  bicubic", t[6].best() / 1e6, "ms");
  table.reference("  memcpy of the picture", gb_per_s(bytes, t[0].best()),
                  "GB/s");
  table.reference("  uint8 to float, bytes read + written",
                  gb_per_s(5 * bytes, t[1].best()), "GB/s");
  table.reference("  sum of two rows, bytes read + written",
                  gb_per_s(6 * bytes, t[2].best()), "GB/s");
  table.reference("  normalize, bytes read + written",
                  gb_per_s(5 * bytes, t[3].best()), "GB/s");
  table.reference("  contrast of uint8", t[7].best() / 1e6, "ms");
  table.reference("  hue of uint8", t[8].best() / 1e6, "ms");
}

PENSTOCK_BENCH(61, image_one_core) {
  const std::vector<std::string> all = files();
  table.reference("fused and bare loop differ by, of 255", difference(all[0]),
                  "steps");
  BareLoop bare;
  std::vector<float> out(kSide * kSide * 3);
  for (const bool crop : {true, false}) {
    std::uint64_t key = 0;
    const std::size_t images = table.quick() ? 4 : 32;
    const auto each = [&](const auto& load) {
      return time_of([&] {
        for (std::size_t i = 0; i < images; ++i) load(all[i % all.size()], i);
      });
    };
    const auto t = interleave(
        table.quick() ? 3 : 15,
        {[&] {
           return each([&](const std::string& file, std::size_t i) {
             bare.load(file, key + i, crop, out.data());
           });
         },
         [&] {
           const double time =
               each([&](const std::string& file, std::size_t i) {
                 keep(image::decode_and_transform(file, chain(key + i, crop)));
               });
           key += images;
           return time;
         }});
    const std::string name =
        crop ? "JPEG -> random crop, resize 224, flip, normalise, one core"
             : "JPEG -> resize 224, normalise, one core";
    table.at_least(name + ": speed of the bare loop", median_ratio(t[0], t[1]),
                   "x", 0.95);
    table.reference("  rate", 1e9 * static_cast<double>(images) / t[1].best(),
                    "images/s");
  }
}

PENSTOCK_BENCH(63, jpeg_decoding) {
  const std::vector<std::string> all = files();
  const auto pass = [&all](bool plain_libjpeg) {
    return
        [&all, options = image::JpegOptions{.plain_libjpeg = plain_libjpeg}] {
          return time_of([&] {
            for (const std::string& file : all) {
              keep(image::decode_jpeg(file, options));
            }
          });
        };
  };
  std::int64_t different = 0;
  for (const std::string& file : all) {
    const auto ours = image::decode_jpeg(file);
    const auto plain = image::decode_jpeg(file, {.plain_libjpeg = true});
    different += !ours.ok() || !plain.ok() || *ours != *plain;
  }
  table.at_most("JPEG: pictures that libjpeg alone decodes differently",
                static_cast<double>(different), "pictures", 0);
  const auto t = interleave(table.quick() ? 3 : 15, {pass(false), pass(true)});
  table.reference("  speed of libjpeg alone", median_ratio(t[1], t[0]), "x");
  table.reference("  a picture",
                  t[0].best() / 1e3 / static_cast<double>(all.size()), "us");
}

PENSTOCK_BENCH(62, image_batches) {
  const std::vector<std::string> all = files();
  const std::int64_t images = table.quick() ? 2 * kBatch : 20 * kBatch;
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  const auto loop = [&] {
    std::atomic<std::int64_t> next{0};
    std::vector<std::thread> workers;
    for (unsigned t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        BareLoop bare;
        std::vector<float> batch(kBatch * kSide * kSide * 3);
        for (std::int64_t i; (i = next++) < images;) {
          bare.load(all[static_cast<std::size_t>(i) % all.size()],
                    static_cast<std::uint64_t>(i), true,
                    batch.data() + i % kBatch * kSide * kSide * 3);
        }
        keep(batch);
      });
    }
    for (std::thread& worker : workers) worker.join();
  };
  const Dataset ds = Dataset::range(images)
                         .map([&all](std::int64_t i) {
                           const auto key = static_cast<std::uint64_t>(i);
                           return image::decode_and_transform(
                               all[static_cast<std::size_t>(i) % all.size()],
                               chain(key, true));
                         })
                         .batch(kBatch, {.drop_remainder = true});
  const auto drain = [&] {
    Iterator it = ds.iterator();
    while (auto batch = it.next()) keep(*batch);
  };
  drain();
  const auto t = interleave(
      table.quick() ? 3 : 9,
      {[&] { return time_of(loop); }, [&] { return time_of(drain); }});
  table.at_least(
      "JPEG -> random crop, resize 224, flip, normalise, batch 32: speed of "
      "the bare loop on all cores",
      median_ratio(t[0], t[1]), "x", 0.95);
  table.reference("  rate", 1e9 * static_cast<double>(images) / t[1].best(),
                  "images/s");
  table.reference("  bare loop",
                  1e9 * static_cast<double>(images) / t[0].best(), "images/s");
}

}  // namespace penstock::bench
