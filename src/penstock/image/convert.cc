#include "penstock/image/convert.h"

#include <cstring>
#include <limits>

#include "penstock/image/view.h"

namespace penstock::image {
namespace {

template <class T>
constexpr bool kIsFloat =
    std::is_same_v<T, float> || std::is_same_v<T, Float16>;

template <class To>
To from_fraction(float value, bool saturate) {
  if constexpr (std::is_same_v<To, float>) {
    return value;
  } else if constexpr (std::is_same_v<To, Float16>) {
    return to_float16(value);
  } else {
    // The half avoids that the largest value is lost to rounding down.
    constexpr auto kLargest = std::numeric_limits<To>::max();
    float scaled = value * (static_cast<float>(kLargest) + 0.5F);
    if (saturate) {
      return saturate_to<To>(scaled);
    }
    if (!(scaled > -2147483648.0F && scaled < 2147483648.0F)) scaled = 0;
    return static_cast<To>(static_cast<std::int32_t>(scaled));
  }
}

template <class From, class To>
void convert(const From* in, std::int64_t count, bool saturate, To* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (kIsFloat<From>) {
      out[i] = from_fraction<To>(as_float(in[i]), saturate);
    } else if constexpr (kIsFloat<To>) {
      constexpr float kScale =
          1.0F / static_cast<float>(std::numeric_limits<From>::max());
      out[i] = from_fraction<To>(static_cast<float>(in[i]) * kScale, false);
    } else if constexpr (sizeof(From) > sizeof(To)) {
      out[i] = static_cast<To>(in[i] >> 8);
    } else if constexpr (sizeof(From) < sizeof(To)) {
      out[i] = static_cast<To>(in[i] << 8);
    } else {
      out[i] = in[i];
    }
  }
}

}  // namespace

StatusOr<Tensor> convert_image_dtype(const Tensor& image, DType dtype,
                                     bool saturate) {
  constexpr std::string_view kName = "convert_image_dtype";
  if (!is_pixel_type(dtype)) {
    return invalid_argument(
        "convert_image_dtype: dtype must be uint8, uint16, float16 or "
        "float32, got ",
        to_absl(dtype_name(dtype)));
  }
  PS_RETURN_IF_ERROR(check_pixel_type(image, kName));
  if (image.dtype() == dtype) return image;
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(dtype, image.shape()));
  const std::int64_t count = image.num_elements();
  with_pixel_type(image.dtype(), [&](auto from) {
    with_pixel_type(dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      convert(reinterpret_cast<const From*>(image.data()), count, saturate,
              reinterpret_cast<To*>(result.mutable_data()));
    });
  });
  return result;
}

StatusOr<Tensor> hwc_to_chw(const Tensor& image) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, "hwc_to_chw"));
  Shape shape = image.shape();
  const std::size_t first = shape.rank() - 3;
  shape[first] = in.channels;
  shape[first + 1] = in.height;
  shape[first + 2] = in.width;
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(image.dtype(), shape));
  const std::int64_t plane = in.height * in.width;
  with_pixel_type(image.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto* out = reinterpret_cast<T*>(result.mutable_data());
    for (std::int64_t n = 0; n < in.batch; ++n) {
      const T* pixels = in.image<T>(n);
      for (std::int64_t c = 0; c < in.channels; ++c, out += plane) {
        for (std::int64_t i = 0; i < plane; ++i) {
          out[i] = pixels[i * in.channels + c];
        }
      }
    }
  });
  return result;
}

}  // namespace penstock::image
