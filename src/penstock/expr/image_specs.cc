#include "penstock/expr/image_specs.h"

#include "penstock/image/view.h"

namespace penstock::expr {

NativeOp row_op(std::string name, Infer infer, Kernel kernel, bool random) {
  NativeOp op;
  op.name = std::move(name);
  op.infer = infer;
  op.row = [kernel](const RowCall& call, std::vector<Tensor>& out) {
    PS_ASSIGN_OR_RETURN(Tensor result, kernel(call));
    out.push_back(std::move(result));
    return absl::OkStatus();
  };
  op.random = random;
  return op;
}

NativeOp rows_op(std::string name, Infer infer, Kernels kernel, bool random) {
  NativeOp op;
  op.name = std::move(name);
  op.infer = infer;
  op.row = [kernel](const RowCall& call, std::vector<Tensor>& out) {
    PS_ASSIGN_OR_RETURN(out, kernel(call));
    return absl::OkStatus();
  };
  op.random = random;
  return op;
}

Status check_count(SpecArgs args, const Attributes& attributes,
                   std::size_t wanted) {
  wanted += num_operands(attributes);
  if (args.size() == wanted) return absl::OkStatus();
  return invalid_argument("takes ", wanted, " arguments, got ", args.size());
}

Status check_contents(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_count(args, attributes, 1));
  if (args[0].dtype == DType::kString &&
      PartialShape::compatible(args[0].shape, PartialShape(Shape{}))) {
    return absl::OkStatus();
  }
  return invalid_argument("contents must be one string, got ",
                          args[0].to_string());
}

Status check_picture(SpecArgs args, const Attributes& attributes,
                     std::size_t wanted) {
  PS_RETURN_IF_ERROR(check_count(args, attributes, wanted));
  const LeafSpec& image = args[0];
  if (image.shape.has_rank() && image.shape.rank() != 3 &&
      image.shape.rank() != 4) {
    return invalid_argument("image must have 3 or 4 dimensions, got ",
                            image.to_string(),
                            "; reshape it to [height, width, channels] first");
  }
  if (image.dtype == DType::kInvalid || image::is_pixel_type(image.dtype)) {
    return absl::OkStatus();
  }
  return invalid_argument(
      "image must be uint8, uint16, float16 or float32, got ",
      image.to_string(), "; cast it first");
}

PartialShape with_size(const PartialShape& shape, std::int64_t height,
                       std::int64_t width) {
  if (!shape.has_rank()) return shape;
  PartialShape out = shape;
  out.set(shape.rank() - 3, height);
  out.set(shape.rank() - 2, width);
  return out;
}

PartialShape with_channels(const PartialShape& shape, std::int64_t channels) {
  if (!shape.has_rank()) return shape;
  PartialShape out = shape;
  out.set(shape.rank() - 1, channels);
  return out;
}

LeafSpecs same_picture(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  return std::vector<LeafSpec>{args[0]};
}

LeafSpecs float_picture(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  return std::vector<LeafSpec>{{DType::kFloat32, args[0].shape}};
}

LeafSpecs picture_of_dtype(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      attributes.dtype("dtype", DType::kFloat32));
  if (!image::is_pixel_type(dtype)) {
    return invalid_argument(
        "dtype must be uint8, uint16, float16 or float32, got ",
        to_absl(dtype_name(dtype)));
  }
  return std::vector<LeafSpec>{{dtype, args[0].shape}};
}

namespace {

StatusOr<image::Size> checked_size(const std::vector<std::int64_t>& size) {
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    std::string got;
    for (const std::int64_t s : size) {
      absl::StrAppend(&got, got.empty() ? "" : ", ", s);
    }
    return invalid_argument("size must be (height, width), both >= 1, got (",
                            got, ")");
  }
  return image::Size{size[0], size[1]};
}

// kUnknownDim twice where it is computed.
StatusOr<image::Size> static_size(const Attributes& attributes) {
  if (is_operand(attributes, "size")) {
    return image::Size{kUnknownDim, kUnknownDim};
  }
  PS_ASSIGN_OR_RETURN(const auto size, attributes.integers("size"));
  return checked_size(size);
}

}  // namespace

LeafSpecs picture_of_size(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  PS_ASSIGN_OR_RETURN(const image::Size size, static_size(attributes));
  return std::vector<LeafSpec>{
      {args[0].dtype, with_size(args[0].shape, size.height, size.width)}};
}

LeafSpecs resized_picture(SpecArgs args, const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto specs, picture_of_size(args, attributes));
  PS_ASSIGN_OR_RETURN(const std::string method,
                      attributes.text("method", "bilinear"));
  PS_ASSIGN_OR_RETURN(const auto known, image::resize_method_from_name(method));
  if (known != image::ResizeMethod::kNearest) {
    specs[0].dtype = DType::kFloat32;
  }
  PS_ASSIGN_OR_RETURN(const bool fitted,
                      attributes.boolean("preserve_aspect_ratio", false));
  if (fitted) {
    specs[0].shape = with_size(specs[0].shape, kUnknownDim, kUnknownDim);
  }
  return specs;
}

LeafSpecs cropped_picture(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  return std::vector<LeafSpec>{
      {args[0].dtype, with_size(args[0].shape, kUnknownDim, kUnknownDim)}};
}

StatusOr<image::Size> size_param(const Params& params) {
  PS_ASSIGN_OR_RETURN(const auto size, params.integers("size"));
  return checked_size(size);
}

StatusOr<image::ResizeOptions> resize_params(const Params& params) {
  image::ResizeOptions options;
  PS_ASSIGN_OR_RETURN(const std::string method,
                      params.attributes().text("method", "bilinear"));
  PS_ASSIGN_OR_RETURN(options.method, image::resize_method_from_name(method));
  PS_ASSIGN_OR_RETURN(options.antialias, params.boolean("antialias", false));
  PS_ASSIGN_OR_RETURN(options.preserve_aspect_ratio,
                      params.boolean("preserve_aspect_ratio", false));
  return options;
}

StatusOr<image::JpegOptions> jpeg_params(const Params& params) {
  image::JpegOptions options;
  PS_ASSIGN_OR_RETURN(const auto channels, params.integer("channels", 0));
  PS_ASSIGN_OR_RETURN(const auto ratio, params.integer("ratio", 1));
  options.channels = static_cast<int>(channels);
  options.ratio = static_cast<int>(ratio);
  PS_ASSIGN_OR_RETURN(options.fancy_upscaling,
                      params.boolean("fancy_upscaling", true));
  PS_ASSIGN_OR_RETURN(options.try_recover_truncated,
                      params.boolean("try_recover_truncated", false));
  PS_ASSIGN_OR_RETURN(const double fraction,
                      params.number("acceptable_fraction", 1.0));
  options.acceptable_fraction = static_cast<float>(fraction);
  PS_ASSIGN_OR_RETURN(const std::string dct,
                      params.attributes().text("dct_method", ""));
  PS_ASSIGN_OR_RETURN(options.dct_method, image::dct_method_from_name(dct));
  PS_ASSIGN_OR_RETURN(options.exif_orientation,
                      params.boolean("exif_orientation", false));
  PS_ASSIGN_OR_RETURN(options.strict, params.boolean("strict", false));
  PS_ASSIGN_OR_RETURN(
      options.max_image_pixels,
      params.integer("max_image_pixels", image::kDefaultMaxPixels));
  return options;
}

StatusOr<image::DecodeOptions> decode_params(const Params& params) {
  image::DecodeOptions options;
  PS_ASSIGN_OR_RETURN(const auto channels, params.integer("channels", 0));
  options.channels = static_cast<int>(channels);
  PS_ASSIGN_OR_RETURN(options.dtype,
                      params.attributes().dtype("dtype", DType::kUInt8));
  PS_ASSIGN_OR_RETURN(options.expand_animations,
                      params.boolean("expand_animations", true));
  PS_ASSIGN_OR_RETURN(
      options.max_image_pixels,
      params.integer("max_image_pixels", image::kDefaultMaxPixels));
  return options;
}

StatusOr<image::Window> window_param(const Params& params,
                                     std::string_view name) {
  PS_ASSIGN_OR_RETURN(const auto w, params.integers(name));
  if (w.size() != 4) {
    return invalid_argument(to_absl(name),
                            " must be (y, x, height, width), got ", w.size(),
                            " values");
  }
  return image::Window{w[0], w[1], w[2], w[3]};
}

}  // namespace penstock::expr
