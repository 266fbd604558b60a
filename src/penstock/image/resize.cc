#include "penstock/image/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "penstock/base/work_counters.h"
#include "penstock/image/axis_weights.h"
#include "penstock/image/geometry.h"
#include "penstock/image/kernels.h"
#include "penstock/image/view.h"

namespace penstock::image {
namespace {

constexpr std::array<std::string_view, 8> kNames = {
    "bilinear", "nearest",  "bicubic",  "area",
    "lanczos3", "lanczos5", "gaussian", "mitchellcubic"};

StatusOr<Tensor> resize_nearest(const View& in, Size size) {
  PS_ASSIGN_OR_RETURN(
      Tensor result,
      Tensor::allocate(in.dtype,
                       in.shape_of(size.height, size.width, in.channels)));
  const auto rows = nearest_indices(in.height, size.height);
  const auto columns = nearest_indices(in.width, size.width);
  const std::size_t pixel = in.pixel_bytes();
  const std::size_t row_bytes = static_cast<std::size_t>(in.width) * pixel;
  const std::size_t out_bytes = static_cast<std::size_t>(size.width) * pixel;
  const auto copy_row = [&](const std::byte* row, std::byte* out, auto bytes) {
    for (const std::int32_t x : columns) {
      std::memcpy(out, row + static_cast<std::size_t>(x) * bytes, bytes);
      out += bytes;
    }
  };
  std::byte* out = result.mutable_data();
  for (std::int64_t n = 0; n < in.batch; ++n) {
    const std::byte* image =
        in.data + static_cast<std::size_t>(n * in.height) * row_bytes;
    std::int32_t previous = -1;
    for (const std::int32_t y : rows) {
      const std::byte* row = image + static_cast<std::size_t>(y) * row_bytes;
      if (y == previous) {
        std::memcpy(out, out - out_bytes, out_bytes);
      } else if (pixel == 3) {
        copy_row(row, out, std::integral_constant<std::size_t, 3>());
      } else {
        copy_row(row, out, pixel);
      }
      previous = y;
      out += out_bytes;
    }
  }
  return result;
}

}  // namespace

Status check_size(Size size, std::string_view name) {
  // Indices along an axis are 32 bits wide.
  constexpr std::int64_t kLongest = (std::int64_t{1} << 31) - 1;
  const auto [least, most] = std::minmax(size.height, size.width);
  if (least >= 1 && most <= kLongest) return absl::OkStatus();
  return invalid_argument(
      to_absl(name), ": size must be ",
      least < 1 ? "at least 1 x 1" : "less than 2^31 on each side", ", got ",
      size.height, " x ", size.width);
}

StatusOr<ResizeMethod> resize_method_from_name(std::string_view name) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  if (at != kNames.end()) {
    return static_cast<ResizeMethod>(at - kNames.begin());
  }
  return invalid_argument(
      "method must be bilinear, nearest, bicubic, area, lanczos3, lanczos5, "
      "gaussian or mitchellcubic, got '",
      to_absl(name), "'");
}

std::string_view resize_method_name(ResizeMethod method) {
  return kNames[static_cast<std::size_t>(method)];
}

Size fitted_size(Size image, Size size) {
  const auto ratio = [](std::int64_t a, std::int64_t b) {
    return static_cast<float>(a) / static_cast<float>(b);
  };
  const float scale = std::min(ratio(size.height, image.height),
                               ratio(size.width, image.width));
  // Half to even, as TensorFlow rounds.
  const auto scaled = [&](std::int64_t length) {
    return std::max<std::int64_t>(
        1, std::llrint(scale * static_cast<float>(length)));
  };
  return {scaled(image.height), scaled(image.width)};
}

StatusOr<Tensor> resize(const Tensor& image, Size size,
                        const ResizeOptions& options) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "resize"));
  PS_RETURN_IF_ERROR(check_size(size, "resize"));
  if (options.preserve_aspect_ratio) {
    size = fitted_size({in.height, in.width}, size);
  }
  work_counters().resized_pixels += in.batch * size.height * size.width;
  if (options.method == ResizeMethod::kNearest) return resize_nearest(in, size);
  PS_ASSIGN_OR_RETURN(Tensor result,
                      Tensor::allocate<float>(
                          in.shape_of(size.height, size.width, in.channels)));
  const AxisWeights rows =
      axis_weights(in.height, size.height, options.method, options.antialias);
  const AxisWeights columns =
      axis_weights(in.width, size.width, options.method, options.antialias);
  const std::int64_t values = in.row_values();
  const auto row_bytes =
      static_cast<std::int64_t>(dtype_size(in.dtype)) * values;
  std::vector<float> line(static_cast<std::size_t>(values + kRowPadding), 0);
  float* out = result.mutable_as<float>().data();
  for (std::int64_t n = 0; n < in.batch; ++n) {
    const std::byte* pixels = in.data + n * in.height * row_bytes;
    for (std::int64_t y = 0; y < size.height; ++y) {
      const std::int64_t first = rows.first[static_cast<std::size_t>(y)];
      vertical_sum(pixels + first * row_bytes, in.dtype, values,
                   rows.weights.data() + y * rows.taps, rows.taps, values,
                   line.data());
      horizontal_sum(line.data(), columns, in.channels, out);
      out += size.width * in.channels;
    }
  }
  return result;
}

StatusOr<Tensor> resize_with_pad(const Tensor& image, Size size,
                                 const ResizeOptions& options) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "resize_with_pad"));
  PS_RETURN_IF_ERROR(check_size(size, "resize_with_pad"));
  const auto height = static_cast<float>(in.height);
  const auto width = static_cast<float>(in.width);
  const auto target_height = static_cast<float>(size.height);
  const auto target_width = static_cast<float>(size.width);
  const float ratio = std::max(width / target_width, height / target_height);
  const float fitted_height = height / ratio;
  const float fitted_width = width / ratio;
  const auto whole = [](float v) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(v)));
  };
  const auto margin = [](float v) {
    return std::max<std::int64_t>(0,
                                  static_cast<std::int64_t>(std::floor(v / 2)));
  };
  const Size inner{std::min(whole(fitted_height), size.height),
                   std::min(whole(fitted_width), size.width)};
  PS_ASSIGN_OR_RETURN(
      const Tensor small,
      resize(image, inner,
             {.method = options.method, .antialias = options.antialias}));
  return pad_to_bounding_box(small, margin(target_height - fitted_height),
                             margin(target_width - fitted_width), size);
}

}  // namespace penstock::image
