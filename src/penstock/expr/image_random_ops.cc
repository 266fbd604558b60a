// Random operations on pictures, by name.
//
// They take the key of their call, which hangs on seed, epoch and element; a
// parameter "seed" replaces it, for who wants one picture always.
#include "penstock/expr/image_specs.h"
#include "penstock/image/augment.h"

namespace penstock::expr {
namespace {

LeafSpecs mixed(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes, 2));
  if (args[0].shape.has_rank() && args[0].shape.rank() != 4) {
    return invalid_argument(
        "images must be a batch [batch, height, width, channels], got ",
        args[0].to_string());
  }
  if (args[1].dtype != DType::kFloat32 ||
      (args[1].shape.has_rank() && args[1].shape.rank() != 2)) {
    return invalid_argument(
        "labels must be float32 [batch, classes] (one_hot), got ",
        args[1].to_string());
  }
  return std::vector<LeafSpec>{args[0], args[1]};
}

LeafSpecs mixed_floats(SpecArgs args, const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto specs, mixed(args, attributes));
  specs[0].dtype = DType::kFloat32;
  return specs;
}

LeafSpecs box(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_count(args, attributes, 2));
  if (args[1].dtype != DType::kFloat32) {
    return invalid_argument("bounding_boxes must be float32, got ",
                            args[1].to_string());
  }
  return std::vector<LeafSpec>{{DType::kInt64, PartialShape{3}},
                               {DType::kInt64, PartialShape{3}},
                               {DType::kFloat32, PartialShape{1, 1, 4}}};
}

StatusOr<image::Range> range(const Params& params, std::string_view name,
                             image::Range fallback) {
  PS_ASSIGN_OR_RETURN(const auto values,
                      params.numbers(name, {fallback.low, fallback.high}));
  if (values.size() != 2) {
    return invalid_argument(to_absl(name), " must be (low, high), got ",
                            values.size(), " values");
  }
  return image::Range{values[0], values[1]};
}

template <StatusOr<Tensor> (*kF)(const Tensor&, std::uint64_t, double)>
StatusOr<Tensor> flip(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto key, params.key(call.random_key));
  PS_ASSIGN_OR_RETURN(const double p, params.number("probability", 0.5));
  return kF(call.args[0], key, p);
}

template <StatusOr<Tensor> (*kF)(const Tensor&, std::uint64_t, double)>
StatusOr<Tensor> by_delta(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto key, params.key(call.random_key));
  PS_ASSIGN_OR_RETURN(const double delta, params.number("max_delta", 0));
  return kF(call.args[0], key, delta);
}

template <StatusOr<Tensor> (*kF)(const Tensor&, std::uint64_t, image::Range)>
StatusOr<Tensor> by_factor(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto key, params.key(call.random_key));
  PS_ASSIGN_OR_RETURN(const auto factor, range(params, "factor", {1, 1}));
  return kF(call.args[0], key, factor);
}

StatusOr<Tensor> color_jitter(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto key, params.key(call.random_key));
  image::ColorJitterOptions options;
  PS_ASSIGN_OR_RETURN(options.brightness, params.number("brightness", 0));
  PS_ASSIGN_OR_RETURN(options.contrast, params.number("contrast", 0));
  PS_ASSIGN_OR_RETURN(options.saturation, params.number("saturation", 0));
  PS_ASSIGN_OR_RETURN(options.hue, params.number("hue", 0));
  return image::color_jitter(call.args[0], key, options);
}

StatusOr<Tensor> random_crop(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto key, params.key(call.random_key));
  PS_ASSIGN_OR_RETURN(const auto size, size_param(params));
  return image::random_crop(call.args[0], size, key);
}

StatusOr<Tensor> random_resized_crop(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto key, params.key(call.random_key));
  PS_ASSIGN_OR_RETURN(const auto size, size_param(params));
  PS_ASSIGN_OR_RETURN(const auto options, resized_crop_params(params));
  return image::random_resized_crop(call.args[0], size, key, options);
}

StatusOr<std::vector<Tensor>> distorted_box(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto key, params.key(call.random_key));
  PS_ASSIGN_OR_RETURN(const auto shape, integers_of(call.args[0]));
  if (shape.size() < 2) {
    return invalid_argument(
        "image_size must be (height, width, channels), got ", shape.size(),
        " values");
  }
  const Tensor& given = call.args[1];
  if (given.rank() < 1 ||
      (given.num_elements() > 0 && given.shape()[given.rank() - 1] != 4)) {
    return invalid_argument("bounding_boxes must be [..., 4], got ",
                            given.shape().to_string());
  }
  std::vector<image::Box> boxes;
  const auto values = given.as<float>();
  for (std::size_t i = 0; i + 3 < values.size(); i += 4) {
    boxes.push_back({values[i], values[i + 1], values[i + 2], values[i + 3]});
  }
  image::DistortedBoxOptions options;
  PS_ASSIGN_OR_RETURN(options.min_object_covered,
                      params.number("min_object_covered", 0.1));
  PS_ASSIGN_OR_RETURN(options.aspect_ratio,
                      range(params, "aspect_ratio_range", {0.75, 1.33}));
  PS_ASSIGN_OR_RETURN(options.area, range(params, "area_range", {0.05, 1}));
  PS_ASSIGN_OR_RETURN(const auto attempts, params.integer("max_attempts", 100));
  options.max_attempts = static_cast<int>(attempts);
  PS_ASSIGN_OR_RETURN(options.use_image_if_no_bounding_boxes,
                      params.boolean("use_image_if_no_bounding_boxes", false));
  PS_ASSIGN_OR_RETURN(const image::Window w,
                      image::sample_distorted_bounding_box(
                          {shape[0], shape[1]}, boxes, key, options));
  const auto height = static_cast<float>(shape[0]);
  const auto width = static_cast<float>(shape[1]);
  const auto y = static_cast<float>(w.y);
  const auto x = static_cast<float>(w.x);
  const Tensor chosen = Tensor::from<float>(
      {y / height, x / width, (y + static_cast<float>(w.height)) / height,
       (x + static_cast<float>(w.width)) / width});
  return std::vector<Tensor>{
      Tensor::from<std::int64_t>({w.y, w.x, 0}),
      Tensor::from<std::int64_t>({w.height, w.width, -1}),
      chosen.reshaped(Shape{1, 1, 4})};
}

template <StatusOr<image::Mixed> (*kF)(const Tensor&, const Tensor&,
                                       std::uint64_t, double)>
StatusOr<std::vector<Tensor>> mix(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto key, params.key(call.random_key));
  PS_ASSIGN_OR_RETURN(const double alpha, params.number("alpha", 1));
  PS_ASSIGN_OR_RETURN(image::Mixed result,
                      kF(call.args[0], call.args[1], key, alpha));
  return std::vector<Tensor>{std::move(result.images),
                             std::move(result.labels)};
}

}  // namespace

StatusOr<image::RandomResizedCropOptions> resized_crop_params(
    const Params& params) {
  image::RandomResizedCropOptions options;
  PS_ASSIGN_OR_RETURN(options.resize, resize_params(params));
  PS_ASSIGN_OR_RETURN(options.scale, range(params, "scale", options.scale));
  PS_ASSIGN_OR_RETURN(options.ratio, range(params, "ratio", options.ratio));
  return options;
}

void add_image_random_ops(std::vector<NativeOp>& out) {
  const auto add = [&](const char* name, Infer infer, Kernel kernel) {
    out.push_back(row_op(std::string("image.") + name, infer, kernel, true));
  };
  add("random_flip_left_right", same_picture,
      flip<image::random_flip_left_right>);
  add("random_flip_up_down", same_picture, flip<image::random_flip_up_down>);
  add("random_brightness", same_picture, by_delta<image::random_brightness>);
  add("random_contrast", same_picture, by_factor<image::random_contrast>);
  add("random_saturation", same_picture, by_factor<image::random_saturation>);
  add("random_hue", same_picture, by_delta<image::random_hue>);
  add("random_gamma", same_picture, by_factor<image::random_gamma>);
  add("color_jitter", same_picture, color_jitter);
  add("random_crop", picture_of_size, random_crop);
  add("random_resized_crop", resized_picture, random_resized_crop);
  out.push_back(
      rows_op("image.sample_distorted_bounding_box", box, distorted_box, true));
  out.push_back(rows_op("image.mixup", mixed_floats, mix<image::mixup>, true));
  out.push_back(rows_op("image.cutmix", mixed, mix<image::cutmix>, true));
}

}  // namespace penstock::expr
