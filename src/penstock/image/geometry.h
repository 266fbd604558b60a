// Cutting, padding, turning: pixels move, values stay.
//
// All take [height, width, channels] or [batch, height, width, channels] of
// uint8, uint16, float16 or float32 and keep the dtype.
#pragma once

#include <cstdint>

#include "penstock/base/status.h"
#include "penstock/image/decode.h"
#include "penstock/image/resize.h"
#include "penstock/memory/tensor.h"

namespace penstock::image {

StatusOr<Tensor> crop_to_bounding_box(const Tensor& image,
                                      const Window& window);
/// Zeros around the picture, which lies at (y, x) of the result.
StatusOr<Tensor> pad_to_bounding_box(const Tensor& image, std::int64_t y,
                                     std::int64_t x, Size size);
/// The middle of the picture; `fraction` of each side, in (0, 1].
StatusOr<Window> central_crop_window(Size image, double fraction);
StatusOr<Tensor> central_crop(const Tensor& image, double fraction);
/// The middle of the picture, or the picture in the middle of zeros.
StatusOr<Tensor> resize_with_crop_or_pad(const Tensor& image, Size size);

StatusOr<Tensor> flip_left_right(const Tensor& image);
StatusOr<Tensor> flip_up_down(const Tensor& image);
/// `k` quarter turns against the clock.
StatusOr<Tensor> rot90(const Tensor& image, std::int64_t k = 1);
/// Rows become columns.
StatusOr<Tensor> transpose(const Tensor& image);

struct RotateOptions {
  ResizeMethod interpolation = ResizeMethod::kBilinear;  // or kNearest
  float fill_value = 0;  // outside of the picture
};
/// Turns about the middle by `radians` against the clock; the size stays.
/// Bilinear results of integers are rounded.
StatusOr<Tensor> rotate(const Tensor& image, double radians,
                        const RotateOptions& options = {});

}  // namespace penstock::image
