#include "penstock/image/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "penstock/base/random.h"
#include "penstock/image/color.h"
#include "penstock/image/geometry.h"
#include "penstock/image/view.h"

namespace penstock::image {
namespace {

// One stream for each function: one key may serve them all.
enum Stream : std::uint64_t {
  kFlipLeftRight = 0x1A6E0001,
  kFlipUpDown,
  kBrightness,
  kContrast,
  kSaturation,
  kHue,
  kGamma,
  kJitter,
  kCrop,
  kResizedCrop,
  kDistortedBox,
};

double uniform(RandomStream& random, Range range) {
  return range.low + (range.high - range.low) * random.uniform();
}

double draw(std::uint64_t key, Stream stream, Range range) {
  RandomStream random(key, stream);
  return uniform(random, range);
}

Status check_range(std::string_view name, std::string_view parameter,
                   Range range, double least, double most) {
  if (range.low >= least && range.low <= range.high && range.high <= most) {
    return absl::OkStatus();
  }
  return invalid_argument(to_absl(name), ": ", to_absl(parameter),
                          " must be low <= high in [", least, ", ", most,
                          "], got (", range.low, ", ", range.high, ")");
}

Status check_probability(std::string_view name, double p) {
  if (p >= 0 && p <= 1) return absl::OkStatus();
  return invalid_argument(to_absl(name),
                          ": probability must be in [0, 1], got ", p);
}

constexpr double kMost = 1e6;

StatusOr<Size> size_of(const Tensor& image, std::string_view name) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, name));
  return Size{in.height, in.width};
}

/// Each picture of a batch by a key of its own.
StatusOr<Tensor> flip_some(const Tensor& image, std::string_view name,
                           std::uint64_t key, Stream stream, double probability,
                           StatusOr<Tensor> (*flip)(const Tensor&)) {
  PS_RETURN_IF_ERROR(check_probability(name, probability));
  PS_ASSIGN_OR_RETURN(const View in, view_of(image, name));
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < in.batch; ++i) {
    const std::uint64_t own =
        in.batched ? mix64(key, static_cast<std::uint64_t>(i)) : key;
    if (draw(own, stream, {0, 1}) >= probability) kept.push_back(i);
  }
  if (static_cast<std::int64_t>(kept.size()) == in.batch) return image;
  PS_ASSIGN_OR_RETURN(Tensor result, flip(image));
  const std::size_t bytes =
      static_cast<std::size_t>(in.image_values()) * dtype_size(in.dtype);
  for (const std::int64_t i : kept) {
    const std::size_t at = static_cast<std::size_t>(i) * bytes;
    std::memcpy(result.mutable_data() + at, in.data + at, bytes);
  }
  return result;
}

std::int64_t place(RandomStream& random, std::int64_t room) {
  return static_cast<std::int64_t>(
      random.below(static_cast<std::uint64_t>(room) + 1));
}

}  // namespace

StatusOr<bool> flips_left_right(std::uint64_t key, double probability) {
  PS_RETURN_IF_ERROR(check_probability("random_flip_left_right", probability));
  return draw(key, kFlipLeftRight, {0, 1}) < probability;
}

StatusOr<Tensor> random_flip_left_right(const Tensor& image, std::uint64_t key,
                                        double probability) {
  return flip_some(image, "random_flip_left_right", key, kFlipLeftRight,
                   probability, flip_left_right);
}

StatusOr<Tensor> random_flip_up_down(const Tensor& image, std::uint64_t key,
                                     double probability) {
  return flip_some(image, "random_flip_up_down", key, kFlipUpDown, probability,
                   flip_up_down);
}

StatusOr<Tensor> random_brightness(const Tensor& image, std::uint64_t key,
                                   double max_delta) {
  PS_RETURN_IF_ERROR(
      check_range("random_brightness", "max_delta", {0, max_delta}, 0, kMost));
  return adjust_brightness(
      image,
      static_cast<float>(draw(key, kBrightness, {-max_delta, max_delta})));
}

StatusOr<Tensor> random_contrast(const Tensor& image, std::uint64_t key,
                                 Range factor) {
  PS_RETURN_IF_ERROR(
      check_range("random_contrast", "factor", factor, 0, kMost));
  return adjust_contrast(image,
                         static_cast<float>(draw(key, kContrast, factor)));
}

StatusOr<Tensor> random_saturation(const Tensor& image, std::uint64_t key,
                                   Range factor) {
  PS_RETURN_IF_ERROR(
      check_range("random_saturation", "factor", factor, 0, kMost));
  return adjust_saturation(image,
                           static_cast<float>(draw(key, kSaturation, factor)));
}

StatusOr<Tensor> random_hue(const Tensor& image, std::uint64_t key,
                            double max_delta) {
  PS_RETURN_IF_ERROR(
      check_range("random_hue", "max_delta", {0, max_delta}, 0, 0.5));
  return adjust_hue(
      image, static_cast<float>(draw(key, kHue, {-max_delta, max_delta})));
}

StatusOr<Tensor> random_gamma(const Tensor& image, std::uint64_t key,
                              Range gamma) {
  PS_RETURN_IF_ERROR(check_range("random_gamma", "gamma", gamma, 0, kMost));
  return adjust_gamma(image, static_cast<float>(draw(key, kGamma, gamma)));
}

StatusOr<Tensor> color_jitter(const Tensor& image, std::uint64_t key,
                              const ColorJitterOptions& options) {
  for (const auto& [value, name] : {std::pair(options.brightness, "brightness"),
                                    std::pair(options.contrast, "contrast"),
                                    std::pair(options.saturation, "saturation"),
                                    std::pair(options.hue, "hue")}) {
    const double most = std::string_view(name) == "hue" ? 0.5 : kMost;
    PS_RETURN_IF_ERROR(check_range("color_jitter", name, {0, value}, 0, most));
  }
  PS_RETURN_IF_ERROR(view_of(image, "color_jitter").status());
  RandomStream random(key, kJitter);
  std::array<int, 4> order = {0, 1, 2, 3};
  for (std::size_t i = 3; i > 0; --i) {
    std::swap(order[i], order[random.below(i + 1)]);
  }
  const auto factor = [](double spread) {
    return Range{std::max(0.0, 1 - spread), 1 + spread};
  };
  Tensor result = image;
  for (const int step : order) {
    StatusOr<Tensor> next = result;
    if (step == 0 && options.brightness > 0) {
      next = random_brightness(result, key, options.brightness);
    } else if (step == 1 && options.contrast > 0) {
      next = random_contrast(result, key, factor(options.contrast));
    } else if (step == 2 && options.saturation > 0) {
      next = random_saturation(result, key, factor(options.saturation));
    } else if (step == 3 && options.hue > 0) {
      next = random_hue(result, key, options.hue);
    }
    if (!next.ok()) return annotate(next.status(), "color_jitter: ");
    result = *std::move(next);
  }
  return result;
}

StatusOr<Window> random_crop_window(Size image, Size size, std::uint64_t key) {
  if (size.height < 1 || size.width < 1 || size.height > image.height ||
      size.width > image.width) {
    return invalid_argument("random_crop: size ", size.height, " x ",
                            size.width, " does not fit into the picture of ",
                            image.height, " x ", image.width);
  }
  RandomStream random(key, kCrop);
  const std::int64_t y = place(random, image.height - size.height);
  const std::int64_t x = place(random, image.width - size.width);
  return Window{y, x, size.height, size.width};
}

StatusOr<Tensor> random_crop(const Tensor& image, Size size,
                             std::uint64_t key) {
  PS_ASSIGN_OR_RETURN(const Size whole, size_of(image, "random_crop"));
  PS_ASSIGN_OR_RETURN(const Window window,
                      random_crop_window(whole, size, key));
  return crop_to_bounding_box(image, window);
}

StatusOr<Window> random_resized_crop_window(
    Size image, std::uint64_t key, const RandomResizedCropOptions& options) {
  constexpr std::string_view kName = "random_resized_crop";
  PS_RETURN_IF_ERROR(check_range(kName, "scale", options.scale, 0, 1));
  PS_RETURN_IF_ERROR(check_range(kName, "ratio", options.ratio, 1e-6, kMost));
  RandomStream random(key, kResizedCrop);
  const auto height = static_cast<double>(image.height);
  const auto width = static_cast<double>(image.width);
  const Range logs{std::log(options.ratio.low), std::log(options.ratio.high)};
  for (int i = 0; i < options.attempts; ++i) {
    const double area = height * width * uniform(random, options.scale);
    const double ratio = std::exp(uniform(random, logs));
    const std::int64_t w = std::llround(std::sqrt(area * ratio));
    const std::int64_t h = std::llround(std::sqrt(area / ratio));
    if (w < 1 || h < 1 || w > image.width || h > image.height) continue;
    const std::int64_t y = place(random, image.height - h);
    const std::int64_t x = place(random, image.width - w);
    return Window{y, x, h, w};
  }
  std::int64_t w = image.width;
  std::int64_t h = image.height;
  if (width / height < options.ratio.low) {
    h = std::clamp<std::int64_t>(std::llround(width / options.ratio.low), 1,
                                 image.height);
  } else if (width / height > options.ratio.high) {
    w = std::clamp<std::int64_t>(std::llround(height * options.ratio.high), 1,
                                 image.width);
  }
  return Window{(image.height - h) / 2, (image.width - w) / 2, h, w};
}

StatusOr<Tensor> random_resized_crop(const Tensor& image, Size size,
                                     std::uint64_t key,
                                     const RandomResizedCropOptions& options) {
  PS_ASSIGN_OR_RETURN(const Size whole, size_of(image, "random_resized_crop"));
  PS_ASSIGN_OR_RETURN(const Window window,
                      random_resized_crop_window(whole, key, options));
  PS_ASSIGN_OR_RETURN(const Tensor part, crop_to_bounding_box(image, window));
  return resize(part, size, options.resize);
}

StatusOr<Window> sample_distorted_bounding_box(
    Size image, const std::vector<Box>& boxes, std::uint64_t key,
    const DistortedBoxOptions& options) {
  constexpr std::string_view kName = "sample_distorted_bounding_box";
  PS_RETURN_IF_ERROR(
      check_range(kName, "aspect_ratio", options.aspect_ratio, 1e-6, kMost));
  PS_RETURN_IF_ERROR(check_range(kName, "area", options.area, 0, 1));
  if (!(options.min_object_covered >= 0 && options.min_object_covered <= 1)) {
    return invalid_argument(to_absl(kName),
                            ": min_object_covered must be in [0, 1], got ",
                            options.min_object_covered);
  }
  if (image.height < 1 || image.width < 1) {
    return invalid_argument(to_absl(kName), ": the picture has no pixels");
  }
  if (boxes.empty() && !options.use_image_if_no_bounding_boxes) {
    return invalid_argument(to_absl(kName),
                            ": there are no boxes, and "
                            "use_image_if_no_bounding_boxes is false");
  }
  const auto height = static_cast<double>(image.height);
  const auto width = static_cast<double>(image.width);
  std::vector<Window> objects;
  for (const Box& box : boxes) {
    if (!(box.y_min >= 0 && box.y_min < box.y_max && box.y_max <= 1 &&
          box.x_min >= 0 && box.x_min < box.x_max && box.x_max <= 1)) {
      return invalid_argument(to_absl(kName),
                              ": a box must be min < max in "
                              "[0, 1], got ",
                              box.y_min, " ", box.x_min, " ", box.y_max, " ",
                              box.x_max);
    }
    const auto y = static_cast<std::int64_t>(box.y_min * height);
    const auto x = static_cast<std::int64_t>(box.x_min * width);
    objects.push_back({y, x, static_cast<std::int64_t>(box.y_max * height) - y,
                       static_cast<std::int64_t>(box.x_max * width) - x});
  }
  const Window whole{0, 0, image.height, image.width};
  if (objects.empty()) objects.push_back(whole);

  const auto covers = [&](const Window& crop) {
    for (const Window& o : objects) {
      const std::int64_t h = std::min(crop.y + crop.height, o.y + o.height) -
                             std::max(crop.y, o.y);
      const std::int64_t w =
          std::min(crop.x + crop.width, o.x + o.width) - std::max(crop.x, o.x);
      const std::int64_t shared =
          std::max<std::int64_t>(h, 0) * std::max<std::int64_t>(w, 0);
      const std::int64_t object = o.height * o.width;
      if (object > 0 &&
          static_cast<double>(shared) >=
              options.min_object_covered * static_cast<double>(object)) {
        return true;
      }
    }
    return false;
  };
  RandomStream random(key, kDistortedBox);
  for (int i = 0; i < options.max_attempts; ++i) {
    const double ratio = uniform(random, options.aspect_ratio);
    // Heights for which area, and then width, stay within their limits.
    const double least = std::sqrt(options.area.low * height * width / ratio);
    const double most =
        std::min({std::sqrt(options.area.high * height * width / ratio), height,
                  width / ratio});
    if (most < least) continue;
    const std::int64_t h = std::llround(uniform(random, {least, most}));
    const std::int64_t w = std::llround(static_cast<double>(h) * ratio);
    if (h < 1 || w < 1 || h > image.height || w > image.width) continue;
    const auto area = static_cast<double>(h) * static_cast<double>(w);
    if (area < options.area.low * height * width ||
        area > options.area.high * height * width) {
      continue;
    }
    const std::int64_t y = place(random, image.height - h);
    const std::int64_t x = place(random, image.width - w);
    const Window crop{y, x, h, w};
    if (covers(crop)) return crop;
  }
  return whole;
}

}  // namespace penstock::image
