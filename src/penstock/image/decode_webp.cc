// WebP over libwebp: lossy and lossless pictures, still and animated.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>

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

Status check_arguments(std::string_view contents, int channels) {
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
    return invalid_argument("decode_webp: channels must be 0, 1, 3 or 4, got ",
                            channels);
  }
  if (detect_format(contents) != Format::kWebp) {
    return invalid_argument(
        "decode_webp: not a WebP: ",
        contents.empty() ? "no data" : "it does not begin with RIFF....WEBP");
  }
  return absl::OkStatus();
}

}  // namespace

bool is_webp_animation(std::string_view contents) {
  WebPBitstreamFeatures features;
  return WebPGetFeatures(reinterpret_cast<const std::uint8_t*>(contents.data()),
                         contents.size(), &features) == VP8_STATUS_OK &&
         features.has_animation != 0;
}

StatusOr<Tensor> decode_webp_frames(std::string_view contents,
                                    const WebpFramesOptions& options) {
  PS_RETURN_IF_ERROR(check_arguments(contents, options.channels));
  const WebPData data{reinterpret_cast<const std::uint8_t*>(contents.data()),
                      contents.size()};
  // The decoder allocates what the header says: look at that first.
  const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(
      WebPDemux(&data), WebPDemuxDelete);
  if (!demuxer) return failure(VP8_STATUS_BITSTREAM_ERROR, contents.size());
  const std::int64_t height =
      WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT);
  const std::int64_t width = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH);
  std::int64_t frames = WebPDemuxGetI(demuxer.get(), WEBP_FF_FRAME_COUNT);
  if (options.max_frames > 0) frames = std::min(frames, options.max_frames);
  if (frames < 1) return failure(VP8_STATUS_NOT_ENOUGH_DATA, contents.size());
  if (height * width > options.max_image_pixels / frames) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "decode_webp: WebP: ", frames, " frames of ", height, " x ", width,
        " pixels, more than max_image_pixels = ", options.max_image_pixels));
  }
  const int channels = options.channels == 0 ? 4 : options.channels;
  WebPAnimDecoderOptions how;
  if (!WebPAnimDecoderOptionsInit(&how)) {
    return internal_error("decode_webp: libwebp is of another version");
  }
  how.color_mode = MODE_RGBA;
  how.use_threads = 0;
  const std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)>
      decoder(WebPAnimDecoderNew(&data, &how), WebPAnimDecoderDelete);
  if (!decoder) return failure(VP8_STATUS_BITSTREAM_ERROR, contents.size());
  PS_ASSIGN_OR_RETURN(Tensor images, Tensor::allocate<std::uint8_t>(Shape{
                                         frames, height, width, channels}));
  std::uint8_t* out = images.mutable_as<std::uint8_t>().data();
  for (std::int64_t i = 0; i < frames; ++i) {
    std::uint8_t* canvas = nullptr;
    int shown_at = 0;
    if (!WebPAnimDecoderGetNext(decoder.get(), &canvas, &shown_at)) {
      return absl::DataLossError(absl::StrCat("decode_webp: WebP: frame ", i,
                                              " of ", frames, " is damaged"));
    }
    rgba_to_pixels(canvas, height * width, channels, out);
    out += height * width * channels;
  }
  return images;
}

StatusOr<Tensor> decode_webp(std::string_view contents,
                             const WebpOptions& options) {
  PS_RETURN_IF_ERROR(check_arguments(contents, options.channels));
  const auto* data = reinterpret_cast<const std::uint8_t*>(contents.data());
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) {
    return internal_error("decode_webp: libwebp is of another version");
  }
  VP8StatusCode code = WebPGetFeatures(data, contents.size(), &config.input);
  if (code != VP8_STATUS_OK) return failure(code, contents.size());
  if (config.input.has_animation) {
    return absl::UnimplementedError(
        "decode_webp: WebP: an animation; decode_image gives its frames");
  }
  const std::int64_t height = config.input.height;
  const std::int64_t width = config.input.width;
  if (height * width > options.max_image_pixels) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "decode_webp: WebP: ", height, " x ", width,
        " pixels, more than max_image_pixels = ", options.max_image_pixels));
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
