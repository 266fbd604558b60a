// What the operations on pictures share: the look of a tensor as pictures, the
// four pixel types, and rounding to them.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "penstock/base/status.h"
#include "penstock/memory/tensor.h"

namespace penstock::image {

constexpr bool is_pixel_type(DType t) {
  return t == DType::kUInt8 || t == DType::kUInt16 || t == DType::kFloat16 ||
         t == DType::kFloat32;
}

inline Status check_pixel_type(const Tensor& image, std::string_view name) {
  if (is_pixel_type(image.dtype())) return absl::OkStatus();
  return invalid_argument(
      to_absl(name), ": image must be uint8, uint16, float16 or float32, got ",
      to_absl(dtype_name(image.dtype())));
}

/// Calls `f` with a value of the C++ type of `t`, which is a pixel type.
template <class F>
auto with_pixel_type(DType t, F&& f) {
  switch (t) {
    case DType::kUInt8:
      return f(std::uint8_t{});
    case DType::kUInt16:
      return f(std::uint16_t{});
    case DType::kFloat16:
      return f(Float16{});
    default:
      return f(float{});
  }
}

template <class T>
float as_float(T value) {
  if constexpr (std::is_same_v<T, Float16>)
    return to_float(value);
  else
    return static_cast<float>(value);
}

/// Truncates towards zero, the ends for values outside, 0 for NaN.
template <class T>
T saturate_to(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(value);
  } else {
    constexpr auto kMost = static_cast<float>(std::numeric_limits<T>::max());
    value = value > 0 ? value : 0.0F;
    value = value < kMost ? value : kMost;
    return static_cast<T>(static_cast<std::int32_t>(value));
  }
}

/// One picture [h, w, c] or several [n, h, w, c] of equal size.
struct View {
  const std::byte* data = nullptr;
  DType dtype = DType::kInvalid;
  bool batched = false;
  std::int64_t batch = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;

  std::int64_t row_values() const { return width * channels; }
  std::int64_t image_values() const { return height * row_values(); }
  std::size_t pixel_bytes() const {
    return static_cast<std::size_t>(channels) * dtype_size(dtype);
  }
  template <class T>
  const T* image(std::int64_t n) const {
    return reinterpret_cast<const T*>(data) + n * image_values();
  }
  /// The shape of as many pictures of another size.
  Shape shape_of(std::int64_t new_height, std::int64_t new_width,
                 std::int64_t new_channels) const {
    return batched ? Shape{batch, new_height, new_width, new_channels}
                   : Shape{new_height, new_width, new_channels};
  }
};

/// Refuses other ranks, other dtypes and pictures without pixels.
inline StatusOr<View> view_of(const Tensor& image, std::string_view name) {
  PS_RETURN_IF_ERROR(check_pixel_type(image, name));
  const Shape& s = image.shape();
  if (s.rank() != 3 && s.rank() != 4) {
    return invalid_argument(to_absl(name),
                            ": image must be [height, width, channels] or "
                            "[batch, height, width, channels], got ",
                            s.to_string());
  }
  View v;
  v.data = image.data();
  v.dtype = image.dtype();
  v.batched = s.rank() == 4;
  const std::size_t first = v.batched ? 1 : 0;
  if (v.batched) v.batch = s[0];
  v.height = s[first];
  v.width = s[first + 1];
  v.channels = s[first + 2];
  if (v.height < 1 || v.width < 1 || v.channels < 1) {
    return invalid_argument(to_absl(name),
                            ": image has no pixels: ", s.to_string());
  }
  return v;
}

}  // namespace penstock::image
