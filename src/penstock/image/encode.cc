// Encoders over libjpeg-turbo, libspng and libwebp.
#include "penstock/image/encode.h"

#include <jpeglib.h>
#include <spng.h>
#include <webp/encode.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace penstock::image {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// The picture's sizes, or why `operation` cannot encode it.
Status check(const Tensor& image, std::string_view operation, bool deep,
             int fewest, int most, std::int64_t longest) {
  const bool wide = deep && image.dtype() == DType::kUInt16;
  if (image.dtype() != DType::kUInt8 && !wide) {
    return invalid_argument(to_absl(operation), ": image must be uint8",
                            deep ? " or uint16" : "", ", got ",
                            to_absl(dtype_name(image.dtype())));
  }
  const Shape& shape = image.shape();
  if (shape.rank() != 3 || shape[2] < fewest || shape[2] > most) {
    return invalid_argument(to_absl(operation),
                            ": image must be [height, width, ", fewest, "..",
                            most, "], got ", shape.to_string());
  }
  if (shape[0] < 1 || shape[1] < 1 || shape[0] > longest ||
      shape[1] > longest) {
    return invalid_argument(to_absl(operation),
                            ": height and width must be 1 to ", longest,
                            ", got ", shape.to_string());
  }
  return absl::OkStatus();
}

struct JpegWriter {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
  unsigned char* out = nullptr;
  unsigned long size = 0;

  ~JpegWriter() {
    jpeg_destroy_compress(&info);
    std::free(out);
  }
};

// No object with a destructor in here: libjpeg leaves it by longjmp.
bool write_jpeg(JpegWriter& w, const std::uint8_t* pixels, std::int64_t height,
                std::int64_t width, int channels,
                const EncodeJpegOptions& options) {
  if (setjmp(w.jump) != 0) return false;
  jpeg_create_compress(&w.info);
  w.info.client_data = &w;
  jpeg_mem_dest(&w.info, &w.out, &w.size);
  w.info.image_width = static_cast<JDIMENSION>(width);
  w.info.image_height = static_cast<JDIMENSION>(height);
  w.info.input_components = channels;
  w.info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&w.info);
  jpeg_set_quality(&w.info, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&w.info);
  w.info.optimize_coding = options.optimize_size ? TRUE : FALSE;
  if (!options.chroma_downsampling) {
    w.info.comp_info[0].h_samp_factor = 1;
    w.info.comp_info[0].v_samp_factor = 1;
  }
  jpeg_start_compress(&w.info, TRUE);
  while (w.info.next_scanline < w.info.image_height) {
    auto* row = const_cast<JSAMPROW>(
        pixels +
        static_cast<std::ptrdiff_t>(w.info.next_scanline) * width * channels);
    jpeg_write_scanlines(&w.info, &row, 1);
  }
  jpeg_finish_compress(&w.info);
  return true;
}

}  // namespace

StatusOr<std::string> encode_jpeg(const Tensor& image,
                                  const EncodeJpegOptions& options) {
  PS_RETURN_IF_ERROR(
      check(image, "encode_jpeg", false, 1, 3, JPEG_MAX_DIMENSION));
  if (image.shape()[2] == 2) {
    return invalid_argument("encode_jpeg: image must have 1 or 3 channels");
  }
  if (options.quality < 0 || options.quality > 100) {
    return invalid_argument("encode_jpeg: quality must be 0 to 100, got ",
                            options.quality);
  }
  JpegWriter writer;
  writer.info.err = jpeg_std_error(&writer.errors);
  writer.info.client_data = &writer;
  writer.errors.error_exit = [](j_common_ptr info) {
    auto& self = *static_cast<JpegWriter*>(info->client_data);
    info->err->format_message(info, self.message);
    std::longjmp(self.jump, 1);
  };
  writer.errors.output_message = [](j_common_ptr) {};
  if (!write_jpeg(writer, image.as<std::uint8_t>().data(), image.shape()[0],
                  image.shape()[1], static_cast<int>(image.shape()[2]),
                  options)) {
    return internal_error("encode_jpeg: ", writer.message);
  }
  return std::string(reinterpret_cast<const char*>(writer.out), writer.size);
}

StatusOr<std::string> encode_png(const Tensor& image,
                                 const EncodePngOptions& options) {
  PS_RETURN_IF_ERROR(check(image, "encode_png", true, 1, 4, 0x7FFFFFFF));
  if (options.compression < -1 || options.compression > 9) {
    return invalid_argument("encode_png: compression must be -1 to 9, got ",
                            options.compression);
  }
  constexpr std::uint8_t kTypes[] = {
      SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA,
      SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context(
      spng_ctx_new(SPNG_CTX_ENCODER), spng_ctx_free);
  if (!context) return absl::ResourceExhaustedError("encode_png: no memory");
  spng_ihdr header{};
  header.height = static_cast<std::uint32_t>(image.shape()[0]);
  header.width = static_cast<std::uint32_t>(image.shape()[1]);
  header.bit_depth = image.dtype() == DType::kUInt8 ? 8 : 16;
  header.color_type = kTypes[image.shape()[2] - 1];
  spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  spng_set_option(context.get(), SPNG_IMG_COMPRESSION_LEVEL,
                  options.compression);
  int error = spng_set_ihdr(context.get(), &header);
  if (error == 0) {
    error = spng_encode_image(context.get(), image.data(),
                              static_cast<std::size_t>(image.byte_size()),
                              SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  }
  std::size_t size = 0;
  std::unique_ptr<void, Free> bytes;
  if (error == 0) {
    bytes.reset(spng_get_png_buffer(context.get(), &size, &error));
  }
  if (error != 0) return internal_error("encode_png: ", spng_strerror(error));
  return std::string(static_cast<const char*>(bytes.get()), size);
}

StatusOr<std::string> encode_webp(const Tensor& image,
                                  const EncodeWebpOptions& options) {
  PS_RETURN_IF_ERROR(
      check(image, "encode_webp", false, 3, 4, WEBP_MAX_DIMENSION));
  if (!(options.quality >= 0 && options.quality <= 100)) {
    return invalid_argument("encode_webp: quality must be 0 to 100, got ",
                            options.quality);
  }
  WebPConfig config;
  WebPPicture picture;
  if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) {
    return internal_error("encode_webp: libwebp is of another version");
  }
  config.quality = options.quality;
  config.lossless = options.lossless ? 1 : 0;
  config.exact = options.lossless ? 1 : 0;
  picture.height = static_cast<int>(image.shape()[0]);
  picture.width = static_cast<int>(image.shape()[1]);
  picture.use_argb = options.lossless ? 1 : 0;
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  const std::uint8_t* pixels = image.as<std::uint8_t>().data();
  const int channels = static_cast<int>(image.shape()[2]);
  const int stride = picture.width * channels;
  bool ok = channels == 3
                ? WebPPictureImportRGB(&picture, pixels, stride) != 0
                : WebPPictureImportRGBA(&picture, pixels, stride) != 0;
  ok = ok && WebPEncode(&config, &picture) != 0;
  const int error = picture.error_code;
  WebPPictureFree(&picture);
  StatusOr<std::string> result =
      ok ? StatusOr<std::string>(std::string(
               reinterpret_cast<const char*>(writer.mem), writer.size))
         : internal_error("encode_webp: libwebp error ", error);
  WebPMemoryWriterClear(&writer);
  return result;
}

}  // namespace penstock::image
