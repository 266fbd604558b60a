#include "penstock/image/color.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "penstock/image/kernels.h"
#include "penstock/image/pixel_math.h"
#include "penstock/image/view.h"

namespace penstock::image {
namespace {

// A value as a fraction of its range, and back with saturation: what
// convert_image_dtype does around a float operation.
template <class T>
float to_fraction(T value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr float kScale =
        1.0F / static_cast<float>(std::numeric_limits<T>::max());
    return static_cast<float>(value) * kScale;
  } else {
    return as_float(value);
  }
}
template <class T>
T from_fraction(float value) {
  if constexpr (std::is_integral_v<T>) {
    return saturate_to<T>(
        value * (static_cast<float>(std::numeric_limits<T>::max()) + 0.5F));
  } else {
    return saturate_to<T>(value);
  }
}

// The same function on every value. uint8 has 256 of them: a table.
template <class F>
StatusOr<Tensor> map_values(const Tensor& image, const View& in, F f) {
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(in.dtype, image.shape()));
  const std::int64_t count = image.num_elements();
  with_pixel_type(in.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const T*>(in.data);
    auto* to = reinterpret_cast<T*>(result.mutable_data());
    if constexpr (sizeof(T) == 1) {
      std::array<T, 256> table;
      for (std::size_t v = 0; v < 256; ++v) {
        table[v] = from_fraction<T>(f(to_fraction(static_cast<T>(v))));
      }
      for (std::int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = from_fraction<T>(f(to_fraction(from[i])));
      }
    }
  });
  return result;
}

StatusOr<View> rgb_view(const Tensor& image, std::string_view name) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, name));
  if (in.channels != 3) {
    return invalid_argument(to_absl(name), ": image must have 3 channels, got ",
                            image.shape().to_string());
  }
  return in;
}

// The same function on every RGB pixel, in fractions of the range.
template <class F>
StatusOr<Tensor> map_pixels(const Tensor& image, const View& in, F f) {
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(in.dtype, image.shape()));
  const std::int64_t pixels = image.num_elements() / 3;
  with_pixel_type(in.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const T*>(in.data);
    auto* to = reinterpret_cast<T*>(result.mutable_data());
    for (std::int64_t i = 0; i < pixels; ++i, from += 3, to += 3) {
      const Rgb p = f(Rgb{to_fraction(from[0]), to_fraction(from[1]),
                          to_fraction(from[2])});
      to[0] = from_fraction<T>(p.r);
      to[1] = from_fraction<T>(p.g);
      to[2] = from_fraction<T>(p.b);
    }
  });
  return result;
}

using ColorKernel = void (*)(const void*, DType, std::int64_t, float, void*);
StatusOr<Tensor> with_kernel(const Tensor& image, const View& in,
                             ColorKernel kernel, float amount) {
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(in.dtype, image.shape()));
  kernel(in.data, in.dtype, image.num_elements() / 3, amount,
         result.mutable_data());
  return result;
}

// Colour spaces take floats and give float32.
template <class F>
StatusOr<Tensor> convert_space(const Tensor& image, std::string_view name,
                               F f) {
  PS_ASSIGN_OR_RETURN(const View in, rgb_view(image, name));
  if (in.dtype != DType::kFloat16 && in.dtype != DType::kFloat32) {
    return invalid_argument(to_absl(name),
                            ": image must be float16 or float32, got ",
                            to_absl(dtype_name(in.dtype)));
  }
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(in.dtype, image.shape()));
  const std::int64_t pixels = image.num_elements() / 3;
  with_pixel_type(in.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const T*>(in.data);
    auto* to = reinterpret_cast<T*>(result.mutable_data());
    for (std::int64_t i = 0; i < pixels; ++i, from += 3, to += 3) {
      const std::array<float, 3> p = f(std::array<float, 3>{
          as_float(from[0]), as_float(from[1]), as_float(from[2])});
      std::transform(p.begin(), p.end(), to, saturate_to<T>);
    }
  });
  return result;
}

using Matrix = std::array<std::array<float, 3>, 3>;  // [from][to]

constexpr Matrix kRgbToYuv = {{{0.299F, -0.14714119F, 0.61497538F},
                               {0.587F, -0.28886916F, -0.51496512F},
                               {0.114F, 0.43601035F, -0.10001026F}}};
constexpr Matrix kYuvToRgb = {{{1, 1, 1},
                               {0, -0.394642334F, 2.03206185F},
                               {1.13988303F, -0.58062185F, 0}}};

std::array<float, 3> multiply(const std::array<float, 3>& p, const Matrix& m) {
  std::array<float, 3> out;
  for (std::size_t c = 0; c < 3; ++c) {
    out[c] = p[0] * m[0][c] + p[1] * m[1][c] + p[2] * m[2][c];
  }
  return out;
}

Status check_finite(float value, std::string_view name,
                    std::string_view parameter) {
  if (std::isfinite(value)) return absl::OkStatus();
  return invalid_argument(to_absl(name), ": ", to_absl(parameter),
                          " must be finite, got ", value);
}

Status check_not_negative(float value, std::string_view name,
                          std::string_view parameter) {
  if (value >= 0 && std::isfinite(value)) return absl::OkStatus();
  return invalid_argument(to_absl(name), ": ", to_absl(parameter),
                          " must be >= 0, got ", value);
}

}  // namespace

StatusOr<Tensor> adjust_brightness(const Tensor& image, float delta) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "adjust_brightness"));
  PS_RETURN_IF_ERROR(check_finite(delta, "adjust_brightness", "delta"));
  return map_values(image, in, [delta](float v) { return v + delta; });
}

StatusOr<Tensor> adjust_contrast(const Tensor& image, float factor) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "adjust_contrast"));
  PS_RETURN_IF_ERROR(check_finite(factor, "adjust_contrast", "factor"));
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(in.dtype, image.shape()));
  const std::int64_t pixels = in.height * in.width;
  const auto channels = static_cast<std::size_t>(in.channels);
  with_pixel_type(in.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* to = reinterpret_cast<T*>(result.mutable_data());
    std::vector<double> sums(channels);
    std::vector<float> means(channels);
    for (std::int64_t n = 0; n < in.batch; ++n, to += in.image_values()) {
      const T* from = in.image<T>(n);
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t i = 0; i < pixels; ++i) {
        for (std::size_t c = 0; c < channels; ++c) {
          // Sums of integers are exact in double, so the order is free.
          sums[c] += static_cast<double>(
              as_float(from[i * in.channels + static_cast<std::int64_t>(c)]));
        }
      }
      for (std::size_t c = 0; c < channels; ++c) {
        double mean = sums[c] / static_cast<double>(pixels);
        if constexpr (std::is_integral_v<T>) {
          mean /= static_cast<double>(std::numeric_limits<T>::max());
        }
        means[c] = static_cast<float>(mean);
      }
      const auto change = [&](T value, float mean) {
        return from_fraction<T>((to_fraction(value) - mean) * factor + mean);
      };
      if constexpr (sizeof(T) == 1) {
        std::vector<std::array<T, 256>> tables(channels);
        for (std::size_t c = 0; c < channels; ++c) {
          for (std::size_t v = 0; v < 256; ++v) {
            tables[c][v] = change(static_cast<T>(v), means[c]);
          }
        }
        for (std::int64_t i = 0, k = 0; i < pixels; ++i) {
          for (std::size_t c = 0; c < channels; ++c, ++k) {
            to[k] = tables[c][from[k]];
          }
        }
      } else {
        for (std::int64_t i = 0, k = 0; i < pixels; ++i) {
          for (std::size_t c = 0; c < channels; ++c, ++k) {
            to[k] = change(from[k], means[c]);
          }
        }
      }
    }
  });
  return result;
}

StatusOr<Tensor> adjust_saturation(const Tensor& image, float factor) {
  PS_ASSIGN_OR_RETURN(const View in, rgb_view(image, "adjust_saturation"));
  PS_RETURN_IF_ERROR(check_not_negative(factor, "adjust_saturation", "factor"));
  if (in.dtype == DType::kUInt8 || in.dtype == DType::kFloat32) {
    return with_kernel(image, in, scale_saturation, factor);
  }
  return map_pixels(image, in,
                    [factor](const Rgb& p) { return saturated(p, factor); });
}

StatusOr<Tensor> adjust_hue(const Tensor& image, float delta) {
  PS_ASSIGN_OR_RETURN(const View in, rgb_view(image, "adjust_hue"));
  if (!(delta >= -1 && delta <= 1)) {
    return invalid_argument("adjust_hue: delta must be in [-1, 1], got ",
                            delta);
  }
  if (in.dtype == DType::kUInt8 || in.dtype == DType::kFloat32) {
    return with_kernel(image, in, turn_hue, delta);
  }
  return map_pixels(image, in,
                    [delta](const Rgb& p) { return hue_turned(p, delta); });
}

StatusOr<Tensor> adjust_gamma(const Tensor& image, float gamma, float gain) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "adjust_gamma"));
  PS_RETURN_IF_ERROR(check_not_negative(gamma, "adjust_gamma", "gamma"));
  PS_RETURN_IF_ERROR(check_finite(gain, "adjust_gamma", "gain"));
  return map_values(
      image, in, [gamma, gain](float v) { return gain * std::pow(v, gamma); });
}

StatusOr<Tensor> rgb_to_grayscale(const Tensor& image) {
  PS_ASSIGN_OR_RETURN(const View in, rgb_view(image, "rgb_to_grayscale"));
  PS_ASSIGN_OR_RETURN(
      Tensor result,
      Tensor::allocate(in.dtype, in.shape_of(in.height, in.width, 1)));
  const std::int64_t pixels = result.num_elements();
  with_pixel_type(in.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const T*>(in.data);
    auto* to = reinterpret_cast<T*>(result.mutable_data());
    for (std::int64_t i = 0; i < pixels; ++i, from += 3) {
      to[i] = from_fraction<T>(to_fraction(from[0]) * 0.2989F +
                               to_fraction(from[1]) * 0.587F +
                               to_fraction(from[2]) * 0.114F);
    }
  });
  return result;
}

StatusOr<Tensor> grayscale_to_rgb(const Tensor& image) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "grayscale_to_rgb"));
  if (in.channels != 1) {
    return invalid_argument("grayscale_to_rgb: image must have 1 channel, got ",
                            image.shape().to_string());
  }
  PS_ASSIGN_OR_RETURN(
      Tensor result,
      Tensor::allocate(in.dtype, in.shape_of(in.height, in.width, 3)));
  const std::int64_t pixels = image.num_elements();
  with_pixel_type(in.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const T*>(in.data);
    auto* to = reinterpret_cast<T*>(result.mutable_data());
    for (std::int64_t i = 0; i < pixels; ++i, to += 3) {
      to[0] = to[1] = to[2] = from[i];
    }
  });
  return result;
}

StatusOr<Tensor> rgb_to_hsv(const Tensor& image) {
  return convert_space(image, "rgb_to_hsv", [](const auto& p) {
    const Hsv out = to_hsv({p[0], p[1], p[2]});
    return std::array<float, 3>{out.h, out.s, out.v};
  });
}

StatusOr<Tensor> hsv_to_rgb(const Tensor& image) {
  return convert_space(image, "hsv_to_rgb", [](const auto& p) {
    const Rgb out = to_rgb({p[0], p[1], p[2]});
    return std::array<float, 3>{out.r, out.g, out.b};
  });
}

StatusOr<Tensor> rgb_to_yuv(const Tensor& image) {
  return convert_space(image, "rgb_to_yuv",
                       [](const auto& p) { return multiply(p, kRgbToYuv); });
}

StatusOr<Tensor> yuv_to_rgb(const Tensor& image) {
  return convert_space(image, "yuv_to_rgb",
                       [](const auto& p) { return multiply(p, kYuvToRgb); });
}

StatusOr<Tensor> normalize(const Tensor& image, std::span<const float> mean,
                           std::span<const float> std) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "normalize"));
  const auto channels = static_cast<std::size_t>(in.channels);
  for (const auto& [values, name] :
       {std::pair(mean, "mean"), std::pair(std, "std")}) {
    if (values.size() != 1 && values.size() != channels) {
      return invalid_argument("normalize: ", name, " must have 1 or ",
                              in.channels, " values, got ", values.size());
    }
  }
  std::vector<float> means(channels);
  std::vector<float> scales(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    means[c] = mean[mean.size() == 1 ? 0 : c];
    const float deviation = std[std.size() == 1 ? 0 : c];
    if (!(deviation > 0)) {
      return invalid_argument("normalize: std must be > 0, got ", deviation);
    }
    scales[c] = 1 / deviation;
  }
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate<float>(image.shape()));
  subtract_and_scale(image.data(), in.dtype, image.num_elements(), means.data(),
                     scales.data(), in.channels,
                     result.mutable_as<float>().data());
  return result;
}

StatusOr<Tensor> per_image_standardization(const Tensor& image) {
  PS_ASSIGN_OR_RETURN(const View in,
                      view_of(image, "per_image_standardization"));
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate<float>(image.shape()));
  float* to = result.mutable_as<float>().data();
  const std::int64_t values = in.image_values();
  const auto count = static_cast<double>(values);
  for (std::int64_t n = 0; n < in.batch; ++n, to += values) {
    with_pixel_type(in.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* from = in.image<T>(n);
      double mean = 0;
      double variance = 0;
      if constexpr (sizeof(T) == 1) {
        const Moments m = moments(from, values);
        mean = static_cast<double>(m.sum) / count;
        variance = static_cast<double>(m.squares) / count - mean * mean;
      } else {
        for (std::int64_t i = 0; i < values; ++i) {
          mean += static_cast<double>(as_float(from[i]));
        }
        mean /= count;
        for (std::int64_t i = 0; i < values; ++i) {
          const double d = static_cast<double>(as_float(from[i])) - mean;
          variance += d * d;
        }
        variance /= count;
      }
      const double deviation =
          std::max(std::sqrt(std::max(variance, 0.0)), 1 / std::sqrt(count));
      const auto centre = static_cast<float>(mean);
      const auto scale = static_cast<float>(1 / deviation);
      subtract_and_scale(from, in.dtype, values, &centre, &scale, 1, to);
    });
  }
  return result;
}

}  // namespace penstock::image
