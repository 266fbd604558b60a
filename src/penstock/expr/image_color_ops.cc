// Operations on the values of pictures, by name.
#include "penstock/expr/image_specs.h"
#include "penstock/image/color.h"

namespace penstock::expr {
namespace {

LeafSpecs with_three(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  const PartialShape& shape = args[0].shape;
  if (shape.has_rank()) {
    const std::int64_t channels = shape[shape.rank() - 1];
    if (channels != 3 && channels != kUnknownDim) {
      return invalid_argument("image must have 3 channels, got ",
                              args[0].to_string());
    }
  }
  return std::vector<LeafSpec>{{args[0].dtype, with_channels(shape, 3)}};
}

LeafSpecs to_grey(SpecArgs args, const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto specs, with_three(args, attributes));
  specs[0].shape = with_channels(specs[0].shape, 1);
  return specs;
}

LeafSpecs from_grey(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  const PartialShape& shape = args[0].shape;
  if (shape.has_rank()) {
    const std::int64_t channels = shape[shape.rank() - 1];
    if (channels != 1 && channels != kUnknownDim) {
      return invalid_argument("image must have 1 channel, got ",
                              args[0].to_string());
    }
  }
  return std::vector<LeafSpec>{{args[0].dtype, with_channels(shape, 3)}};
}

LeafSpecs other_space(SpecArgs args, const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto specs, with_three(args, attributes));
  if (specs[0].dtype != DType::kFloat32 && specs[0].dtype != DType::kFloat16 &&
      specs[0].dtype != DType::kInvalid) {
    return invalid_argument("image must be float16 or float32, got ",
                            args[0].to_string(),
                            "; convert_image_dtype it first");
  }
  return specs;
}

template <StatusOr<Tensor> (*kF)(const Tensor&)>
StatusOr<Tensor> plain(const RowCall& call) {
  return kF(call.args[0]);
}

template <StatusOr<Tensor> (*kF)(const Tensor&, float)>
StatusOr<Tensor> by_delta(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const double delta, Params(call).number("delta", 0));
  return kF(call.args[0], static_cast<float>(delta));
}

template <StatusOr<Tensor> (*kF)(const Tensor&, float)>
StatusOr<Tensor> by_factor(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const double factor, Params(call).number("factor", 1));
  return kF(call.args[0], static_cast<float>(factor));
}

StatusOr<Tensor> adjust_gamma(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const double gamma, params.number("gamma", 1));
  PS_ASSIGN_OR_RETURN(const double gain, params.number("gain", 1));
  return image::adjust_gamma(call.args[0], static_cast<float>(gamma),
                             static_cast<float>(gain));
}

StatusOr<Tensor> normalize(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto mean, params.numbers("mean"));
  PS_ASSIGN_OR_RETURN(const auto deviation, params.numbers("std"));
  const std::vector<float> m(mean.begin(), mean.end());
  const std::vector<float> s(deviation.begin(), deviation.end());
  return image::normalize(call.args[0], m, s);
}

}  // namespace

void add_image_color_ops(std::vector<NativeOp>& out) {
  const auto add = [&](const char* name, Infer infer, Kernel kernel) {
    out.push_back(row_op(std::string("image.") + name, infer, kernel));
  };
  add("adjust_brightness", same_picture, by_delta<image::adjust_brightness>);
  add("adjust_contrast", same_picture, by_factor<image::adjust_contrast>);
  add("adjust_saturation", with_three, by_factor<image::adjust_saturation>);
  add("adjust_hue", with_three, by_delta<image::adjust_hue>);
  add("adjust_gamma", same_picture, adjust_gamma);
  add("rgb_to_grayscale", to_grey, plain<image::rgb_to_grayscale>);
  add("grayscale_to_rgb", from_grey, plain<image::grayscale_to_rgb>);
  add("rgb_to_hsv", other_space, plain<image::rgb_to_hsv>);
  add("hsv_to_rgb", other_space, plain<image::hsv_to_rgb>);
  add("rgb_to_yuv", other_space, plain<image::rgb_to_yuv>);
  add("yuv_to_rgb", other_space, plain<image::yuv_to_rgb>);
  add("normalize", float_picture, normalize);
  add("per_image_standardization", float_picture,
      plain<image::per_image_standardization>);
}

}  // namespace penstock::expr
