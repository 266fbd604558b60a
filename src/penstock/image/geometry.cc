#include "penstock/image/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "penstock/image/view.h"

namespace penstock::image {
namespace {

// Calls `f` with the size of a pixel as a constant where that pays.
template <class F>
void with_pixel_bytes(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      f(std::integral_constant<std::size_t, 1>());
      break;
    case 3:
      f(std::integral_constant<std::size_t, 3>());
      break;
    case 4:
      f(std::integral_constant<std::size_t, 4>());
      break;
    case 12:
      f(std::integral_constant<std::size_t, 12>());
      break;
    default:
      f(bytes);
      break;
  }
}

// A result whose pixel (y, x) is the input's pixel
// start + y * row_step + x * column_step, counted in pixels.
StatusOr<Tensor> rearranged(const View& in, Size size, std::int64_t start,
                            std::int64_t row_step, std::int64_t column_step) {
  PS_ASSIGN_OR_RETURN(
      Tensor result,
      Tensor::allocate(in.dtype,
                       in.shape_of(size.height, size.width, in.channels)));
  const auto image_bytes =
      in.image_values() * static_cast<std::int64_t>(dtype_size(in.dtype));
  with_pixel_bytes(in.pixel_bytes(), [&](auto bytes) {
    std::byte* out = result.mutable_data();
    const auto pixel = static_cast<std::int64_t>(bytes);
    const auto row_bytes = static_cast<std::size_t>(size.width * pixel);
    for (std::int64_t n = 0; n < in.batch; ++n) {
      const std::byte* image = in.data + n * image_bytes;
      for (std::int64_t y = 0; y < size.height; ++y) {
        const std::byte* from = image + (start + y * row_step) * pixel;
        if (column_step == 1) {
          std::memcpy(out, from, row_bytes);
          out += row_bytes;
          continue;
        }
        for (std::int64_t x = 0; x < size.width; ++x) {
          std::memcpy(out, from + x * column_step * pixel, bytes);
          out += bytes;
        }
      }
    }
  });
  return result;
}

StatusOr<Tensor> cropped(const View& in, const Window& w,
                         std::string_view name) {
  if (w.y < 0 || w.x < 0 || w.height < 1 || w.width < 1 ||
      w.height > in.height || w.width > in.width ||
      w.y > in.height - w.height || w.x > in.width - w.width) {
    return invalid_argument(to_absl(name), ": the window y=", w.y, " x=", w.x,
                            " height=", w.height, " width=", w.width,
                            " is not inside the picture of ", in.height, " x ",
                            in.width);
  }
  return rearranged(in, {w.height, w.width}, w.y * in.width + w.x, in.width, 1);
}

StatusOr<Tensor> padded(const View& in, std::int64_t y, std::int64_t x,
                        Size size, std::string_view name) {
  if (y < 0 || x < 0 || size.height < in.height || size.width < in.width ||
      y > size.height - in.height || x > size.width - in.width) {
    return invalid_argument(to_absl(name), ": a picture of ", in.height, " x ",
                            in.width, " at y=", y, " x=", x,
                            " does not fit into ", size.height, " x ",
                            size.width);
  }
  PS_ASSIGN_OR_RETURN(
      Tensor result,
      Tensor::allocate(in.dtype,
                       in.shape_of(size.height, size.width, in.channels)));
  const std::size_t pixel = in.pixel_bytes();
  const std::size_t row = static_cast<std::size_t>(in.width) * pixel;
  const std::size_t left = static_cast<std::size_t>(x) * pixel;
  const std::size_t right =
      static_cast<std::size_t>(size.width - in.width - x) * pixel;
  const std::size_t whole = left + row + right;
  const std::byte* from = in.data;
  std::byte* out = result.mutable_data();
  const auto zeros = [&](std::size_t bytes) {
    std::memset(out, 0, bytes);
    out += bytes;
  };
  for (std::int64_t n = 0; n < in.batch; ++n) {
    zeros(static_cast<std::size_t>(y) * whole);
    for (std::int64_t i = 0; i < in.height; ++i) {
      zeros(left);
      std::memcpy(out, from, row);
      out += row;
      from += row;
      zeros(right);
    }
    zeros(static_cast<std::size_t>(size.height - in.height - y) * whole);
  }
  return result;
}

template <class T>
void rotate_image(const View& in, const T* pixels, double radians,
                  const RotateOptions& options, T* out) {
  const double cosine = std::cos(radians);
  const double sine = std::sin(radians);
  const double middle_y = static_cast<double>(in.height - 1) / 2;
  const double middle_x = static_cast<double>(in.width - 1) / 2;
  const auto at = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
    if (y < 0 || x < 0 || y >= in.height || x >= in.width) {
      return options.fill_value;
    }
    return as_float(pixels[(y * in.width + x) * in.channels + c]);
  };
  constexpr float kHalf =
      std::is_same_v<T, float> || std::is_same_v<T, Float16> ? 0.0F : 0.5F;
  for (std::int64_t y = 0; y < in.height; ++y) {
    for (std::int64_t x = 0; x < in.width; ++x) {
      // Rows grow downwards, so turning back is this sign of the sine.
      const double dy = static_cast<double>(y) - middle_y;
      const double dx = static_cast<double>(x) - middle_x;
      const double from_x = cosine * dx - sine * dy + middle_x;
      const double from_y = sine * dx + cosine * dy + middle_y;
      if (options.interpolation == ResizeMethod::kNearest) {
        const auto ny = static_cast<std::int64_t>(std::nearbyint(from_y));
        const auto nx = static_cast<std::int64_t>(std::nearbyint(from_x));
        for (std::int64_t c = 0; c < in.channels; ++c) {
          *out++ = saturate_to<T>(at(ny, nx, c));
        }
        continue;
      }
      const double floor_y = std::floor(from_y);
      const double floor_x = std::floor(from_x);
      const auto y0 = static_cast<std::int64_t>(floor_y);
      const auto x0 = static_cast<std::int64_t>(floor_x);
      const auto fy = static_cast<float>(from_y - floor_y);
      const auto fx = static_cast<float>(from_x - floor_x);
      for (std::int64_t c = 0; c < in.channels; ++c) {
        const float top = at(y0, x0, c) * (1 - fx) + at(y0, x0 + 1, c) * fx;
        const float bottom =
            at(y0 + 1, x0, c) * (1 - fx) + at(y0 + 1, x0 + 1, c) * fx;
        *out++ = saturate_to<T>(top * (1 - fy) + bottom * fy + kHalf);
      }
    }
  }
}

}  // namespace

StatusOr<Tensor> crop_to_bounding_box(const Tensor& image,
                                      const Window& window) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "crop_to_bounding_box"));
  return cropped(in, window, "crop_to_bounding_box");
}

StatusOr<Tensor> pad_to_bounding_box(const Tensor& image, std::int64_t y,
                                     std::int64_t x, Size size) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "pad_to_bounding_box"));
  return padded(in, y, x, size, "pad_to_bounding_box");
}

StatusOr<Window> central_crop_window(Size image, double fraction) {
  if (!(fraction > 0 && fraction <= 1)) {
    return invalid_argument(
        "central_crop: central_fraction must be in (0, 1], got ", fraction);
  }
  const auto margin = [&](std::int64_t length) {
    const auto l = static_cast<double>(length);
    return static_cast<std::int64_t>((l - l * fraction) / 2);
  };
  const std::int64_t y = margin(image.height);
  const std::int64_t x = margin(image.width);
  return Window{y, x, image.height - 2 * y, image.width - 2 * x};
}

StatusOr<Tensor> central_crop(const Tensor& image, double fraction) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "central_crop"));
  PS_ASSIGN_OR_RETURN(const Window window,
                      central_crop_window({in.height, in.width}, fraction));
  return cropped(in, window, "central_crop");
}

StatusOr<Tensor> resize_with_crop_or_pad(const Tensor& image, Size size) {
  constexpr std::string_view kName = "resize_with_crop_or_pad";
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, kName));
  if (size.height < 1 || size.width < 1) {
    return invalid_argument(
        "resize_with_crop_or_pad: size must be at least "
        "1 x 1, got ",
        size.height, " x ", size.width);
  }
  const Window window{std::max<std::int64_t>(in.height - size.height, 0) / 2,
                      std::max<std::int64_t>(in.width - size.width, 0) / 2,
                      std::min(in.height, size.height),
                      std::min(in.width, size.width)};
  if (window.height == size.height && window.width == size.width) {
    return cropped(in, window, kName);
  }
  PS_ASSIGN_OR_RETURN(const Tensor part, cropped(in, window, kName));
  PS_ASSIGN_OR_RETURN(const View inner, view_of(part, kName));
  return padded(inner, std::max<std::int64_t>(size.height - in.height, 0) / 2,
                std::max<std::int64_t>(size.width - in.width, 0) / 2, size,
                kName);
}

StatusOr<Tensor> flip_left_right(const Tensor& image) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "flip_left_right"));
  return rearranged(in, {in.height, in.width}, in.width - 1, in.width, -1);
}

StatusOr<Tensor> flip_up_down(const Tensor& image) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "flip_up_down"));
  return rearranged(in, {in.height, in.width}, (in.height - 1) * in.width,
                    -in.width, 1);
}

StatusOr<Tensor> rot90(const Tensor& image, std::int64_t k) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "rot90"));
  const std::int64_t last = in.height * in.width - 1;
  switch ((k % 4 + 4) % 4) {
    case 1:
      return rearranged(in, {in.width, in.height}, in.width - 1, -1, in.width);
    case 2:
      return rearranged(in, {in.height, in.width}, last, -in.width, -1);
    case 3:
      return rearranged(in, {in.width, in.height}, last - (in.width - 1), 1,
                        -in.width);
    default:
      return image;
  }
}

StatusOr<Tensor> transpose(const Tensor& image) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "transpose"));
  return rearranged(in, {in.width, in.height}, 0, 1, in.width);
}

StatusOr<Tensor> rotate(const Tensor& image, double radians,
                        const RotateOptions& options) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "rotate"));
  if (!std::isfinite(radians)) {
    return invalid_argument("rotate: radians must be finite, got ", radians);
  }
  if (options.interpolation != ResizeMethod::kBilinear &&
      options.interpolation != ResizeMethod::kNearest) {
    return invalid_argument(
        "rotate: interpolation must be bilinear or nearest, got ",
        to_absl(resize_method_name(options.interpolation)));
  }
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(in.dtype, image.shape()));
  with_pixel_type(in.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* out = reinterpret_cast<T*>(result.mutable_data());
    for (std::int64_t n = 0; n < in.batch; ++n) {
      rotate_image(in, in.image<T>(n), radians, options,
                   out + n * in.image_values());
    }
  });
  return result;
}

}  // namespace penstock::image
