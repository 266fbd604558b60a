// WebP over libwebp: lossy and lossless still pictures.
#include <webp/decode.h>

#include "penstock/image/decode.h"
#include "penstock/image/pixels.h"

namespace penstock::image {
namespace {

std::string_view reason(VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "no memory";
    case VP8_STATUS_BITSTREAM_ERROR:
      return "the data are damaged";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "an unsupported feature";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the data end early";
    default:
      return "libwebp refuses the data";
  }
}

Status failure(VP8StatusCode code, std::size_t size) {
  return absl::DataLossError(absl::StrCat(
      "decode_webp: WebP: ", to_absl(reason(code)), " (", size, " bytes)"));
}

}  // namespace

StatusOr<Tensor> decode_webp(std::string_view contents,
                             const WebpOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3 &&
      options.channels != 4) {
    return invalid_argument("decode_webp: channels must be 0, 1, 3 or 4, got ",
                            options.channels);
  }
  if (detect_format(contents) != Format::kWebp) {
    return invalid_argument(
        "decode_webp: not a WebP: ",
        contents.empty() ? "no data" : "it does not begin with RIFF....WEBP");
  }
  const auto* data = reinterpret_cast<const std::uint8_t*>(contents.data());
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) {
    return internal_error("decode_webp: libwebp is of another version");
  }
  VP8StatusCode code = WebPGetFeatures(data, contents.size(), &config.input);
  if (code != VP8_STATUS_OK) return failure(code, contents.size());
  if (config.input.has_animation) {
    return absl::UnimplementedError(
        "decode_webp: WebP: animations are not supported");
  }
  const std::int64_t height = config.input.height;
  const std::int64_t width = config.input.width;
  if (height * width > options.max_pixels) {
    return absl::ResourceExhaustedError(
        absl::StrCat("decode_webp: WebP: ", height, " x ", width,
                     " pixels, more than max_pixels = ", options.max_pixels));
  }
  const int channels = options.channels != 0    ? options.channels
                       : config.input.has_alpha ? 4
                                                : 3;
  PS_ASSIGN_OR_RETURN(Tensor image, Tensor::allocate<std::uint8_t>(
                                        Shape{height, width, channels}));
  std::uint8_t* target = image.mutable_as<std::uint8_t>().data();
  const int coded = channels == 1 ? 4 : channels;
  const auto bytes = static_cast<std::size_t>(height * width * coded);
  Ref<Buffer> scratch;
  if (channels == 1) {
    scratch = Buffer::allocate(bytes);
    if (!scratch) return absl::ResourceExhaustedError("decode_webp: no memory");
    target = reinterpret_cast<std::uint8_t*>(scratch->data());
  }
  config.output.colorspace = coded == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = target;
  config.output.u.RGBA.stride = static_cast<int>(width) * coded;
  config.output.u.RGBA.size = bytes;
  code = WebPDecode(data, contents.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (code != VP8_STATUS_OK) return failure(code, contents.size());
  if (channels == 1) {
    rgba_to_pixels(target, height * width, 1,
                   image.mutable_as<std::uint8_t>().data());
  }
  return image;
}

}  // namespace penstock::image
