// Image codecs, sizes and turns by name: "image.decode_jpeg", "image.resize".
//
// Each works on one element, so that a decoded picture may lie in its batch
// from the start.
#include <optional>

#include "penstock/expr/image_specs.h"
#include "penstock/image/convert.h"
#include "penstock/image/encode.h"
#include "penstock/image/geometry.h"

namespace penstock::expr {
namespace {

StatusOr<std::int64_t> static_channels(const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(const auto channels, attributes.integer("channels", 0));
  if (channels < 0 || channels > 4) {
    return invalid_argument("channels must be 0 to 4, got ", channels);
  }
  return channels == 0 ? kUnknownDim : channels;
}

LeafSpecs decoded(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_contents(args, attributes));
  PS_ASSIGN_OR_RETURN(const auto channels, static_channels(attributes));
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      attributes.dtype("dtype", DType::kUInt8));
  if (dtype != DType::kUInt8 && dtype != DType::kUInt16) {
    return invalid_argument("dtype must be uint8 or uint16, got ",
                            to_absl(dtype_name(dtype)));
  }
  PS_ASSIGN_OR_RETURN(const auto ratio, attributes.integer("ratio", 1));
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
    return invalid_argument("ratio must be 1, 2, 4 or 8, got ", ratio);
  }
  PS_ASSIGN_OR_RETURN(const std::string dct, attributes.text("dct_method", ""));
  PS_RETURN_IF_ERROR(image::dct_method_from_name(dct).status());
  return std::vector<LeafSpec>{
      {dtype, PartialShape{kUnknownDim, kUnknownDim, channels}}};
}

LeafSpecs decoded_webp(SpecArgs args, const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto specs, decoded(args, attributes));
  PS_ASSIGN_OR_RETURN(const bool frames,
                      attributes.boolean("webp_frames", false));
  if (frames) {
    specs[0].shape =
        PartialShape{kUnknownDim, kUnknownDim, kUnknownDim, specs[0].shape[2]};
  }
  return specs;
}

LeafSpecs decoded_window(SpecArgs args, const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto specs, decoded(args, attributes));
  if (is_operand(attributes, "crop_window")) return specs;
  PS_ASSIGN_OR_RETURN(const auto w, attributes.integers("crop_window"));
  if (w.size() != 4 || w[0] < 0 || w[1] < 0 || w[2] < 1 || w[3] < 1) {
    return invalid_argument(
        "crop_window must be (y, x, height, width) inside "
        "the picture");
  }
  specs[0].shape = with_size(specs[0].shape, w[2], w[3]);
  return specs;
}

LeafSpecs decoded_any(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_contents(args, attributes));
  PS_ASSIGN_OR_RETURN(const auto channels, static_channels(attributes));
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      attributes.dtype("dtype", DType::kUInt8));
  if (dtype != DType::kUInt8 && dtype != DType::kUInt16 &&
      dtype != DType::kFloat16 && dtype != DType::kFloat32) {
    return invalid_argument(
        "dtype must be uint8, uint16, float16 or float32, got ",
        to_absl(dtype_name(dtype)));
  }
  PS_ASSIGN_OR_RETURN(const bool animations,
                      attributes.boolean("expand_animations", true));
  return std::vector<LeafSpec>{
      {dtype, animations ? PartialShape()
                         : PartialShape{kUnknownDim, kUnknownDim, channels}}};
}

LeafSpecs decoded_frames(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_contents(args, attributes));
  return std::vector<LeafSpec>{
      {DType::kUInt8, PartialShape{kUnknownDim, kUnknownDim, kUnknownDim, 3}}};
}

LeafSpecs jpeg_shape(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_contents(args, attributes));
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      attributes.dtype("dtype", DType::kInt32));
  if (dtype != DType::kInt32 && dtype != DType::kInt64) {
    return invalid_argument("output_type must be int32 or int64, got ",
                            to_absl(dtype_name(dtype)));
  }
  return std::vector<LeafSpec>{{dtype, PartialShape{3}}};
}

LeafSpecs encoded(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  if (args[0].shape.has_rank() && args[0].shape.rank() != 3) {
    return invalid_argument("image must be [height, width, channels], got ",
                            args[0].to_string());
  }
  return std::vector<LeafSpec>{{DType::kString, PartialShape(Shape{})}};
}

LeafSpecs windowed(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  std::int64_t height = kUnknownDim;
  std::int64_t width = kUnknownDim;
  if (!is_operand(attributes, "window")) {
    PS_ASSIGN_OR_RETURN(const auto w, attributes.integers("window"));
    if (w.size() != 4 || w[0] < 0 || w[1] < 0 || w[2] < 1 || w[3] < 1) {
      return invalid_argument(
          "offsets must be >= 0 and the target size >= 1 x 1");
    }
    height = w[2];
    width = w[3];
  }
  return std::vector<LeafSpec>{
      {args[0].dtype, with_size(args[0].shape, height, width)}};
}

LeafSpecs turned(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  PartialShape shape = args[0].shape;
  if (is_operand(attributes, "k")) {
    return std::vector<LeafSpec>{
        {args[0].dtype, with_size(shape, kUnknownDim, kUnknownDim)}};
  }
  PS_ASSIGN_OR_RETURN(const auto k, attributes.integer("k", 1));
  if (k % 2 != 0 && shape.has_rank()) {
    shape = with_size(shape, shape[shape.rank() - 2], shape[shape.rank() - 3]);
  }
  return std::vector<LeafSpec>{{args[0].dtype, shape}};
}

LeafSpecs channels_first(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_picture(args, attributes));
  PartialShape shape = args[0].shape;
  if (shape.has_rank()) {
    const std::size_t r = shape.rank();
    const std::int64_t h = shape[r - 3];
    const std::int64_t w = shape[r - 2];
    const std::int64_t c = shape[r - 1];
    shape.set(r - 3, c);
    shape.set(r - 2, h);
    shape.set(r - 1, w);
  }
  return std::vector<LeafSpec>{{args[0].dtype, shape}};
}

/// With "any_format" the decoders of JPEG, PNG and GIF take each other's files,
/// as TensorFlow's do. Nothing if the file is of the decoder's `own` format, or
/// of none of them.
StatusOr<std::optional<Tensor>> of_another_format(const RowCall& call,
                                                  image::Format own) {
  using image::Format;
  PS_ASSIGN_OR_RETURN(const bool any,
                      call.attributes.boolean("any_format", false));
  if (!any) return std::nullopt;
  const std::string_view contents = call.args[0].str();
  const Format format = image::detect_format(contents);
  if (format == own || (format != Format::kJpeg && format != Format::kPng &&
                        format != Format::kGif)) {
    return std::nullopt;
  }
  PS_ASSIGN_OR_RETURN(auto options, decode_params(Params(call)));
  if (own == Format::kGif) options.channels = 3;
  PS_ASSIGN_OR_RETURN(Tensor image, image::decode_image(contents, options));
  const Shape& shape = image.shape();
  if (own == Format::kGif) {
    return image.reshaped(Shape{1, shape[0], shape[1], shape[2]});
  }
  if (format != Format::kGif) return image;
  if (shape[0] != 1) {
    return invalid_argument("a GIF of ", shape[0],
                            " frames: decode_gif and decode_image give them");
  }
  return image.row(0);
}

StatusOr<Tensor> decode_jpeg(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(auto other,
                      of_another_format(call, image::Format::kJpeg));
  if (other) return *std::move(other);
  PS_ASSIGN_OR_RETURN(const auto options, jpeg_params(Params(call)));
  return image::decode_jpeg(call.args[0].str(), options);
}

StatusOr<Tensor> decode_and_crop_jpeg(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto options, jpeg_params(params));
  PS_ASSIGN_OR_RETURN(const auto window, window_param(params, "crop_window"));
  return image::decode_and_crop_jpeg(call.args[0].str(), window, options);
}

StatusOr<Tensor> extract_jpeg_shape(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto shape,
                      image::extract_jpeg_shape(call.args[0].str()));
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      call.attributes.dtype("dtype", DType::kInt32));
  if (dtype == DType::kInt64) {
    return Tensor::from<std::int64_t>(
        {shape.height, shape.width, shape.channels});
  }
  return Tensor::from<std::int32_t>(
      {static_cast<std::int32_t>(shape.height),
       static_cast<std::int32_t>(shape.width),
       static_cast<std::int32_t>(shape.channels)});
}

StatusOr<Tensor> decode_png(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(auto other, of_another_format(call, image::Format::kPng));
  if (other) return *std::move(other);
  PS_ASSIGN_OR_RETURN(const auto o, decode_params(Params(call)));
  return image::decode_png(call.args[0].str(),
                           {.channels = o.channels,
                            .dtype = o.dtype,
                            .max_image_pixels = o.max_image_pixels});
}

/// With "webp_frames" a WebP has frames, as TensorFlow gives it, a still one a
/// single frame.
StatusOr<Tensor> with_webp_frames(const RowCall& call, Tensor image) {
  PS_ASSIGN_OR_RETURN(const bool frames,
                      call.attributes.boolean("webp_frames", false));
  const Shape& shape = image.shape();
  if (!frames || shape.rank() != 3 ||
      image::detect_format(call.args[0].str()) != image::Format::kWebp) {
    return image;
  }
  return image.reshaped(Shape{1, shape[0], shape[1], shape[2]});
}

StatusOr<Tensor> decode_webp(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto o, decode_params(Params(call)));
  PS_ASSIGN_OR_RETURN(const bool frames,
                      call.attributes.boolean("webp_frames", false));
  const std::string_view contents = call.args[0].str();
  if (frames && image::is_webp_animation(contents)) {
    return image::decode_webp_frames(
        contents,
        {.channels = o.channels, .max_image_pixels = o.max_image_pixels});
  }
  PS_ASSIGN_OR_RETURN(
      Tensor image,
      image::decode_webp(contents, {.channels = o.channels,
                                    .max_image_pixels = o.max_image_pixels}));
  return with_webp_frames(call, std::move(image));
}

StatusOr<Tensor> decode_bmp(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto o, decode_params(Params(call)));
  return image::decode_bmp(
      call.args[0].str(),
      {.channels = o.channels, .max_image_pixels = o.max_image_pixels});
}

StatusOr<Tensor> decode_gif(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(auto other, of_another_format(call, image::Format::kGif));
  if (other) return *std::move(other);
  image::GifOptions options;
  PS_ASSIGN_OR_RETURN(
      options.max_image_pixels,
      call.attributes.integer("max_image_pixels", image::kDefaultMaxPixels));
  PS_ASSIGN_OR_RETURN(options.max_frames,
                      call.attributes.integer("max_frames", 0));
  return image::decode_gif(call.args[0].str(), options);
}

StatusOr<Tensor> decode_image(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto options, decode_params(Params(call)));
  PS_ASSIGN_OR_RETURN(Tensor image,
                      image::decode_image(call.args[0].str(), options));
  return with_webp_frames(call, std::move(image));
}

StatusOr<Tensor> encode_jpeg(const RowCall& call) {
  const Params params(call);
  image::EncodeJpegOptions options;
  PS_ASSIGN_OR_RETURN(const auto quality, params.integer("quality", 95));
  options.quality = static_cast<int>(quality);
  PS_ASSIGN_OR_RETURN(options.progressive,
                      params.boolean("progressive", false));
  PS_ASSIGN_OR_RETURN(options.optimize_size,
                      params.boolean("optimize_size", false));
  PS_ASSIGN_OR_RETURN(options.chroma_downsampling,
                      params.boolean("chroma_downsampling", true));
  PS_ASSIGN_OR_RETURN(const std::string bytes,
                      image::encode_jpeg(call.args[0], options));
  return Tensor::string(bytes);
}

StatusOr<Tensor> encode_png(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto compression,
                      Params(call).integer("compression", -1));
  PS_ASSIGN_OR_RETURN(
      const std::string bytes,
      image::encode_png(call.args[0],
                        {.compression = static_cast<int>(compression)}));
  return Tensor::string(bytes);
}

StatusOr<Tensor> encode_webp(const RowCall& call) {
  const Params params(call);
  image::EncodeWebpOptions options;
  PS_ASSIGN_OR_RETURN(const double quality, params.number("quality", 75));
  options.quality = static_cast<float>(quality);
  PS_ASSIGN_OR_RETURN(options.lossless, params.boolean("lossless", false));
  PS_ASSIGN_OR_RETURN(const std::string bytes,
                      image::encode_webp(call.args[0], options));
  return Tensor::string(bytes);
}

StatusOr<Tensor> resize(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto size, size_param(params));
  PS_ASSIGN_OR_RETURN(const auto options, resize_params(params));
  return image::resize(call.args[0], size, options);
}

StatusOr<Tensor> resize_with_pad(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto size, size_param(params));
  PS_ASSIGN_OR_RETURN(const auto options, resize_params(params));
  return image::resize_with_pad(call.args[0], size, options);
}

StatusOr<Tensor> resize_with_crop_or_pad(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto size, size_param(Params(call)));
  return image::resize_with_crop_or_pad(call.args[0], size);
}

StatusOr<Tensor> crop_to_bounding_box(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto window, window_param(Params(call), "window"));
  return image::crop_to_bounding_box(call.args[0], window);
}

StatusOr<Tensor> pad_to_bounding_box(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto w, window_param(Params(call), "window"));
  return image::pad_to_bounding_box(call.args[0], w.y, w.x,
                                    {w.height, w.width});
}

StatusOr<Tensor> central_crop(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const double fraction,
                      Params(call).number("fraction", 1.0));
  return image::central_crop(call.args[0], fraction);
}

StatusOr<Tensor> rot90(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto k, Params(call).integer("k", 1));
  return image::rot90(call.args[0], k);
}

StatusOr<Tensor> rotate(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const double radians, params.number("radians", 0));
  image::RotateOptions options;
  PS_ASSIGN_OR_RETURN(const std::string method,
                      call.attributes.text("interpolation", "bilinear"));
  PS_ASSIGN_OR_RETURN(options.interpolation,
                      image::resize_method_from_name(method));
  PS_ASSIGN_OR_RETURN(const double fill, params.number("fill_value", 0));
  options.fill_value = static_cast<float>(fill);
  return image::rotate(call.args[0], radians, options);
}

StatusOr<Tensor> convert_image_dtype(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      call.attributes.dtype("dtype", DType::kFloat32));
  PS_ASSIGN_OR_RETURN(const bool saturate,
                      call.attributes.boolean("saturate", false));
  return image::convert_image_dtype(call.args[0], dtype, saturate);
}

}  // namespace

void add_image_ops(std::vector<NativeOp>& out) {
  const auto add = [&](const char* name, Infer infer, Kernel kernel) {
    out.push_back(row_op(std::string("image.") + name, infer, kernel));
  };
  add("decode_jpeg", decoded, decode_jpeg);
  add("decode_and_crop_jpeg", decoded_window, decode_and_crop_jpeg);
  add("extract_jpeg_shape", jpeg_shape, extract_jpeg_shape);
  add("decode_png", decoded, decode_png);
  add("decode_webp", decoded_webp, decode_webp);
  add("decode_bmp", decoded, decode_bmp);
  add("decode_gif", decoded_frames, decode_gif);
  add("decode_image", decoded_any, decode_image);
  add("encode_jpeg", encoded, encode_jpeg);
  add("encode_png", encoded, encode_png);
  add("encode_webp", encoded, encode_webp);
  add("resize", resized_picture, resize);
  add("resize_with_pad", resized_picture, resize_with_pad);
  add("resize_with_crop_or_pad", picture_of_size, resize_with_crop_or_pad);
  add("crop_to_bounding_box", windowed, crop_to_bounding_box);
  add("pad_to_bounding_box", windowed, pad_to_bounding_box);
  add("central_crop", cropped_picture, central_crop);
  add("flip_left_right", same_picture,
      [](const RowCall& call) { return image::flip_left_right(call.args[0]); });
  add("flip_up_down", same_picture,
      [](const RowCall& call) { return image::flip_up_down(call.args[0]); });
  add("rot90", turned, rot90);
  // One axis for the other is an odd number of turns, as far as shapes go.
  add("transpose", turned,
      [](const RowCall& call) { return image::transpose(call.args[0]); });
  add("rotate", same_picture, rotate);
  add("convert_image_dtype", picture_of_dtype, convert_image_dtype);
  add("hwc_to_chw", channels_first,
      [](const RowCall& call) { return image::hwc_to_chw(call.args[0]); });
}

}  // namespace penstock::expr
