// decode_jpeg, decode_and_crop_jpeg and extract_jpeg_shape over JpegReader.
#include <cstring>
#include <optional>

#include "penstock/base/work_counters.h"
#include "penstock/image/decode.h"
#include "penstock/image/jpeg_reader.h"

namespace penstock::image {
namespace {

// Closes the reader on every way out: it must not keep what it points to.
// The pixel of the stored picture (height x width) that EXIF shows at (y, x).
std::int64_t stored_index(int orientation, std::int64_t y, std::int64_t x,
                          std::int64_t height, std::int64_t width) {
  switch (orientation) {
    case 2:
      return y * width + (width - 1 - x);
    case 3:
      return (height - 1 - y) * width + (width - 1 - x);
    case 4:
      return (height - 1 - y) * width + x;
    case 5:
      return x * width + y;
    case 6:
      return (height - 1 - x) * width + y;
    case 7:
      return (height - 1 - x) * width + (width - 1 - y);
    case 8:
      return x * width + (width - 1 - y);
    default:
      return y * width + x;
  }
}

StatusOr<Tensor> decode(std::string_view contents,
                        const std::optional<Window>& window,
                        const JpegOptions& options, std::string_view name) {
  if (options.ratio != 1 && options.ratio != 2 && options.ratio != 4 &&
      options.ratio != 8) {
    return invalid_argument(to_absl(name), ": ratio must be 1, 2, 4 or 8, got ",
                            options.ratio);
  }
  if (window && options.exif_orientation) {
    return invalid_argument(to_absl(name),
                            ": exif_orientation does not go with a window");
  }
  JpegReader& reader = JpegReader::local();
  const ClosesReader closing{reader};
  PS_RETURN_IF_ERROR(reader.open(contents, options, name));
  PS_RETURN_IF_ERROR(reader.start(8 / options.ratio, window));
  const std::int64_t height = reader.height();
  const std::int64_t width = reader.width();
  const std::int64_t channels = reader.channels();
  const auto stride = static_cast<std::ptrdiff_t>(width * channels);
  const int orientation =
      options.exif_orientation ? reader.shape().orientation : 1;
  if (orientation == 1) {
    PS_ASSIGN_OR_RETURN(Tensor image, Tensor::allocate<std::uint8_t>(
                                          Shape{height, width, channels}));
    PS_RETURN_IF_ERROR(
        reader.read(image.mutable_as<std::uint8_t>().data(), stride, height));
    return image;
  }
  Ref<Buffer> stored =
      Buffer::allocate(static_cast<std::size_t>(stride * height));
  if (!stored) {
    return absl::ResourceExhaustedError(
        absl::StrCat(to_absl(name), ": no memory for ", height, " x ", width));
  }
  auto* in = reinterpret_cast<std::uint8_t*>(stored->data());
  PS_RETURN_IF_ERROR(reader.read(in, stride, height));
  const bool turned = orientation >= 5;
  const std::int64_t rows = turned ? width : height;
  const std::int64_t columns = turned ? height : width;
  PS_ASSIGN_OR_RETURN(Tensor image, Tensor::allocate<std::uint8_t>(
                                        Shape{rows, columns, channels}));
  std::uint8_t* out = image.mutable_as<std::uint8_t>().data();
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; ++x, out += channels) {
      const std::int64_t at = stored_index(orientation, y, x, height, width);
      std::memcpy(out, in + at * channels, static_cast<std::size_t>(channels));
    }
  }
  return image;
}

}  // namespace

StatusOr<DctMethod> dct_method_from_name(std::string_view name) {
  if (name.empty() || name == "INTEGER_FAST") return DctMethod::kFast;
  if (name == "INTEGER_ACCURATE") return DctMethod::kAccurate;
  return invalid_argument(
      "decode_jpeg: dct_method must be '', 'INTEGER_FAST' or "
      "'INTEGER_ACCURATE', got '",
      to_absl(name), "'");
}

StatusOr<Tensor> decode_jpeg(std::string_view contents,
                             const JpegOptions& options) {
  auto image = decode(contents, std::nullopt, options, "decode_jpeg");
  if (image.ok()) {
    work_counters().decoded_pixels += image->shape()[0] * image->shape()[1];
  }
  return image;
}

StatusOr<Tensor> decode_and_crop_jpeg(std::string_view contents,
                                      const Window& window,
                                      const JpegOptions& options) {
  return decode(contents, window, options, "decode_and_crop_jpeg");
}

StatusOr<JpegShape> extract_jpeg_shape(std::string_view contents) {
  JpegReader& reader = JpegReader::local();
  const ClosesReader closing{reader};
  PS_RETURN_IF_ERROR(reader.open(contents,
                                 {.max_image_pixels = std::int64_t{1} << 62},
                                 "extract_jpeg_shape"));
  return reader.shape();
}

}  // namespace penstock::image
