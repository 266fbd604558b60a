// Resizing with TensorFlow's numbers (tf.image.resize of version 2: pixel
// centres at half, no align_corners).
//
// Every method but nearest is a sum of weighted pixels along each axis; the
// weights of an axis are made once per call and the sums run as SIMD loops
// (resize_simd.cc), which give the same bits on every machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "penstock/base/status.h"
#include "penstock/memory/tensor.h"

namespace penstock::image {

enum class ResizeMethod {
  kBilinear,
  kNearest,
  kBicubic,
  kArea,
  kLanczos3,
  kLanczos5,
  kGaussian,
  kMitchellCubic,
};
/// "bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5",
/// "gaussian", "mitchellcubic".
StatusOr<ResizeMethod> resize_method_from_name(std::string_view name);
std::string_view resize_method_name(ResizeMethod method);

struct Size {
  std::int64_t height = 0;
  std::int64_t width = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

struct ResizeOptions {
  ResizeMethod method = ResizeMethod::kBilinear;
  /// Widens the kernel when shrinking; nearest and area ignore it.
  bool antialias = false;
  /// Fits the picture into the size instead of filling it.
  bool preserve_aspect_ratio = false;
};

/// The error of a size that no picture can have.
Status check_size(Size size, std::string_view name);

/// float32, in the units of the input; nearest keeps the dtype.
StatusOr<Tensor> resize(const Tensor& image, Size size,
                        const ResizeOptions& options = {});
/// The size that resize() gives with preserve_aspect_ratio.
Size fitted_size(Size image, Size size);

/// Fits the picture into `size` and fills the rest with zeros, centred.
StatusOr<Tensor> resize_with_pad(const Tensor& image, Size size,
                                 const ResizeOptions& options = {});

}  // namespace penstock::image
