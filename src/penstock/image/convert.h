// Changing the dtype or the layout of pictures.
#pragma once

#include <span>

#include "penstock/base/status.h"
#include "penstock/memory/tensor.h"

namespace penstock::image {

/// As tf.image.convert_image_dtype: integers are fractions of their largest
/// value, floats lie in [0, 1]. dtypes: uint8, uint16, float16, float32. With
/// `saturate` values outside become the nearest one, otherwise they wrap.
StatusOr<Tensor> convert_image_dtype(const Tensor& image, DType dtype,
                                     bool saturate = false);

/// [..., height, width, channels] to [..., channels, height, width].
StatusOr<Tensor> hwc_to_chw(const Tensor& image);

}  // namespace penstock::image
