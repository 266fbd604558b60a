// decode_image: the format is told by the first bytes.
#include "penstock/image/convert.h"
#include "penstock/image/decode.h"
#include "penstock/image/pixels.h"

namespace penstock::image {
namespace {

StatusOr<Tensor> decode_any(std::string_view contents, Format format,
                            const DecodeOptions& options) {
  switch (format) {
    case Format::kJpeg:
      return decode_jpeg(contents,
                         {.channels = options.channels,
                          .max_image_pixels = options.max_image_pixels});
    case Format::kPng:
      // Wider types than uint8 keep the 16 bits of a deep PNG.
      return decode_png(
          contents, {.channels = options.channels,
                     .dtype = options.dtype == DType::kUInt8 ? DType::kUInt8
                                                             : DType::kUInt16,
                     .max_image_pixels = options.max_image_pixels});
    case Format::kWebp:
      if (is_webp_animation(contents)) {
        PS_ASSIGN_OR_RETURN(
            Tensor frames,
            decode_webp_frames(
                contents, {.channels = options.channels,
                           .max_image_pixels = options.max_image_pixels,
                           .max_frames = options.expand_animations ? 0 : 1}));
        return options.expand_animations ? frames : frames.row(0);
      }
      return decode_webp(contents,
                         {.channels = options.channels,
                          .max_image_pixels = options.max_image_pixels});
    case Format::kBmp:
      return decode_bmp(contents,
                        {.channels = options.channels,
                         .max_image_pixels = options.max_image_pixels});
    case Format::kGif: {
      if (options.channels == 1 || options.channels == 4) {
        return invalid_argument(
            "decode_image: channels must be 0 or 3 for a GIF, got ",
            options.channels);
      }
      PS_ASSIGN_OR_RETURN(
          Tensor frames,
          decode_gif(contents,
                     {.max_image_pixels = options.max_image_pixels,
                      .max_frames = options.expand_animations ? 0 : 1}));
      return options.expand_animations ? frames : frames.row(0);
    }
    case Format::kUnknown:
      break;
  }
  return invalid_argument(
      "decode_image: the data are no JPEG, PNG, GIF, BMP or WebP",
      contents.empty() ? ": there are none" : "");
}

}  // namespace

Format detect_format(std::string_view contents) {
  const auto begins = [&](std::string_view head) {
    return contents.substr(0, head.size()) == head;
  };
  if (begins("\xFF\xD8\xFF")) return Format::kJpeg;
  if (begins("\x89PNG\r\n\x1A\n")) return Format::kPng;
  if (begins("GIF87a") || begins("GIF89a")) return Format::kGif;
  if (begins("BM")) return Format::kBmp;
  if (begins("RIFF") && contents.size() >= 12 &&
      contents.substr(8, 4) == "WEBP") {
    return Format::kWebp;
  }
  return Format::kUnknown;
}

std::string_view format_name(Format format) {
  switch (format) {
    case Format::kJpeg:
      return "JPEG";
    case Format::kPng:
      return "PNG";
    case Format::kGif:
      return "GIF";
    case Format::kBmp:
      return "BMP";
    case Format::kWebp:
      return "WebP";
    case Format::kUnknown:
      break;
  }
  return "unknown";
}

StatusOr<Tensor> decode_image(std::string_view contents,
                              const DecodeOptions& options) {
  switch (options.dtype) {
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kFloat16:
    case DType::kFloat32:
      break;
    default:
      return invalid_argument(
          "decode_image: dtype must be uint8, uint16, float16 or float32, got ",
          to_absl(dtype_name(options.dtype)));
  }
  if (options.channels != 0 && options.channels != 1 && options.channels != 3 &&
      options.channels != 4) {
    return invalid_argument("decode_image: channels must be 0, 1, 3 or 4, got ",
                            options.channels);
  }
  PS_ASSIGN_OR_RETURN(Tensor image,
                      decode_any(contents, detect_format(contents), options));
  if (image.dtype() == options.dtype) return image;
  return convert_image_dtype(image, options.dtype);
}

}  // namespace penstock::image
