// Random operations on pictures, keyed: the same key gives the same picture,
// whichever worker runs and whatever ran before.
//
// A key is 64 bits that the caller makes from seed, epoch and element
// (base/random.h: mix64). Functions draw from streams of their own, so one key
// may serve several of them. A batch is treated as one: all of its pictures
// get the same values, except in mixup and cutmix.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/base/status.h"
#include "penstock/image/decode.h"
#include "penstock/image/resize.h"
#include "penstock/memory/tensor.h"

namespace penstock::image {

struct Range {
  double low = 0;
  double high = 0;
};

/// Whether random_flip_left_right turns the picture of this key.
StatusOr<bool> flips_left_right(std::uint64_t key, double probability = 0.5);
StatusOr<Tensor> random_flip_left_right(const Tensor& image, std::uint64_t key,
                                        double probability = 0.5);
StatusOr<Tensor> random_flip_up_down(const Tensor& image, std::uint64_t key,
                                     double probability = 0.5);
/// delta from [-max_delta, max_delta).
StatusOr<Tensor> random_brightness(const Tensor& image, std::uint64_t key,
                                   double max_delta);
/// factor from [low, high).
StatusOr<Tensor> random_contrast(const Tensor& image, std::uint64_t key,
                                 Range factor);
StatusOr<Tensor> random_saturation(const Tensor& image, std::uint64_t key,
                                   Range factor);
/// delta from [-max_delta, max_delta); max_delta in [0, 0.5].
StatusOr<Tensor> random_hue(const Tensor& image, std::uint64_t key,
                            double max_delta);
StatusOr<Tensor> random_gamma(const Tensor& image, std::uint64_t key,
                              Range gamma);

struct ColorJitterOptions {
  double brightness = 0;  // delta up to this
  double contrast = 0;    // factor from [1 - this, 1 + this)
  double saturation = 0;  // factor from [1 - this, 1 + this)
  double hue = 0;         // delta up to this
};
/// Brightness, contrast, saturation and hue in a random order.
StatusOr<Tensor> color_jitter(const Tensor& image, std::uint64_t key,
                              const ColorJitterOptions& options);

/// A window of `size` at a random place.
StatusOr<Window> random_crop_window(Size image, Size size, std::uint64_t key);
StatusOr<Tensor> random_crop(const Tensor& image, Size size, std::uint64_t key);

struct RandomResizedCropOptions {
  Range scale = {0.08, 1.0};         // share of the area
  Range ratio = {3.0 / 4, 4.0 / 3};  // width to height, uniform in log
  int attempts = 10;                 // then the middle of the picture
  ResizeOptions resize = {};
};
StatusOr<Window> random_resized_crop_window(
    Size image, std::uint64_t key,
    const RandomResizedCropOptions& options = {});
StatusOr<Tensor> random_resized_crop(
    const Tensor& image, Size size, std::uint64_t key,
    const RandomResizedCropOptions& options = {});

/// Corners in fractions of the picture.
struct Box {
  float y_min = 0;
  float x_min = 0;
  float y_max = 1;
  float x_max = 1;
  friend bool operator==(const Box&, const Box&) = default;
};
struct DistortedBoxOptions {
  double min_object_covered = 0.1;
  Range aspect_ratio = {0.75, 1.33};  // width to height
  Range area = {0.05, 1.0};
  int max_attempts = 100;
  /// Without boxes the whole picture is the object; false: an error.
  bool use_image_if_no_bounding_boxes = false;
};
/// A window that covers enough of one of the boxes; the whole picture when
/// none was found, as tf.image.sample_distorted_bounding_box.
StatusOr<Window> sample_distorted_bounding_box(
    Size image, const std::vector<Box>& boxes, std::uint64_t key,
    const DistortedBoxOptions& options = {});

struct Mixed {
  Tensor images;  // float32 for mixup, the input's dtype for cutmix
  Tensor labels;  // float32 [batch, classes]
};
/// Each picture and its label mixed with those of another of the batch: lambda
/// of the first, 1 - lambda of the second. lambda is from beta(alpha, alpha),
/// one for each picture. images [n, h, w, c], labels [n, classes] float32.
StatusOr<Mixed> mixup(const Tensor& images, const Tensor& labels,
                      std::uint64_t key, double alpha = 0.2);
/// A rectangle of 1 - lambda of the area comes from another picture; labels
/// are mixed by the area that was really taken.
StatusOr<Mixed> cutmix(const Tensor& images, const Tensor& labels,
                       std::uint64_t key, double alpha = 1.0);

}  // namespace penstock::image
