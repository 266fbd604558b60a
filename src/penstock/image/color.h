// Brightness, contrast, saturation, hue, gamma, grey, HSV, YUV, normalising.
//
// The adjust_* functions take integers too: they are scaled to [0, 1], changed,
// and scaled back with saturation, as TensorFlow does. They keep the dtype.
#pragma once

#include <span>

#include "penstock/base/status.h"
#include "penstock/memory/tensor.h"

namespace penstock::image {

/// Adds `delta`, a fraction of the full range.
StatusOr<Tensor> adjust_brightness(const Tensor& image, float delta);
/// (x - mean) * factor + mean, with the mean of each channel of each picture.
StatusOr<Tensor> adjust_contrast(const Tensor& image, float factor);
/// Multiplies the saturation of RGB pixels; factor >= 0.
StatusOr<Tensor> adjust_saturation(const Tensor& image, float factor);
/// Turns the hue of RGB pixels by `delta` in [-1, 1] turns.
StatusOr<Tensor> adjust_hue(const Tensor& image, float delta);
/// gain * x ^ gamma; gamma >= 0.
StatusOr<Tensor> adjust_gamma(const Tensor& image, float gamma = 1,
                              float gain = 1);

/// One channel, 0.2989 R + 0.587 G + 0.114 B; keeps the dtype.
StatusOr<Tensor> rgb_to_grayscale(const Tensor& image);
/// Three equal channels.
StatusOr<Tensor> grayscale_to_rgb(const Tensor& image);
// float16 and float32 only, values in [0, 1]. The result is float32.
StatusOr<Tensor> rgb_to_hsv(const Tensor& image);
StatusOr<Tensor> hsv_to_rgb(const Tensor& image);
StatusOr<Tensor> rgb_to_yuv(const Tensor& image);
StatusOr<Tensor> yuv_to_rgb(const Tensor& image);

/// float32 (x - mean[c]) / std[c] in the image's own units, computed as a
/// product with 1 / std. One value for all channels or one for each.
StatusOr<Tensor> normalize(const Tensor& image, std::span<const float> mean,
                           std::span<const float> std);
/// float32 of mean 0 and deviation 1 in each picture; a flat one gives 0.
StatusOr<Tensor> per_image_standardization(const Tensor& image);

}  // namespace penstock::image
