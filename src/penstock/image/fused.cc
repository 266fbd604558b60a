#include "penstock/image/fused.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "penstock/base/work_counters.h"
#include "penstock/image/axis_weights.h"
#include "penstock/image/color.h"
#include "penstock/image/geometry.h"
#include "penstock/image/jpeg_reader.h"
#include "penstock/image/kernels.h"

namespace penstock::image {
namespace {

constexpr std::string_view kName = "decode_and_transform";

StatusOr<Tensor> widened(Tensor image) {
  if (image.dtype() == DType::kFloat32) return image;
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate<float>(image.shape()));
  widen(image.as<std::uint8_t>().data(), image.num_elements(), 1,
        result.mutable_as<float>().data());
  return result;
}

// The operations one by one.
StatusOr<Tensor> transform(Tensor image, const TransformOptions& options) {
  if (image.rank() != 3) {
    return invalid_argument("decode_and_transform: one picture is wanted, got ",
                            image.shape().to_string());
  }
  if (options.crop) {
    PS_ASSIGN_OR_RETURN(const Window window,
                        options.crop({image.shape()[0], image.shape()[1]}));
    PS_ASSIGN_OR_RETURN(image, crop_to_bounding_box(image, window));
  }
  if (options.size) {
    PS_ASSIGN_OR_RETURN(image, resize(image, *options.size, options.resize));
  }
  if (options.flip_left_right) {
    PS_ASSIGN_OR_RETURN(image, flip_left_right(image));
  }
  if (options.normalize) {
    PS_ASSIGN_OR_RETURN(image, normalize(image, options.normalize->mean,
                                         options.normalize->std));
  }
  if (options.finish) {
    PS_ASSIGN_OR_RETURN(image, widened(std::move(image)));
    options.finish(image.mutable_as<float>());
  }
  return image;
}

// Means and factors for each channel.
struct Scaling {
  std::vector<float> mean;
  std::vector<float> factor;
};

StatusOr<Scaling> scaling_of(const Normalization& n, int channels) {
  const auto count = static_cast<std::size_t>(channels);
  for (const auto* values : {&n.mean, &n.std}) {
    if (values->size() != 1 && values->size() != count) {
      return invalid_argument(
          "decode_and_transform: normalize: mean and std "
          "must have 1 or ",
          channels, " values, got ", values->size());
    }
  }
  Scaling scaling;
  for (std::size_t c = 0; c < count; ++c) {
    const float deviation = n.std[n.std.size() == 1 ? 0 : c];
    if (!(deviation > 0)) {
      return invalid_argument(
          "decode_and_transform: normalize: std must be > 0, got ", deviation);
    }
    scaling.mean.push_back(n.mean[n.mean.size() == 1 ? 0 : c]);
    scaling.factor.push_back(1 / deviation);
  }
  return scaling;
}

// Rows of the picture, decoded as they are asked for; only the last ones are
// kept, one behind the other.
class Rows {
 public:
  // 48 rows of 500 RGB pixels are 72 kB: they stay in the second-level cache.
  Rows(JpegReader& reader, std::int64_t taps, std::vector<std::uint8_t>& memory)
      : reader_(reader),
        stride_(reader.width() * reader.channels()),
        capacity_(taps + 48),
        memory_(memory) {
    memory_.resize(static_cast<std::size_t>(capacity_ * stride_));
  }
  std::int64_t stride() const { return stride_; }

  /// Rows [first, first + count); `first` never goes back.
  StatusOr<const std::uint8_t*> get(std::int64_t first, std::int64_t count) {
    while (first + count > end_) {
      if (end_ - begin_ == capacity_) {
        const std::int64_t kept = std::max<std::int64_t>(end_ - first, 0);
        std::memmove(memory_.data(), row(end_ - kept),
                     static_cast<std::size_t>(kept * stride_));
        begin_ = end_ - kept;
      }
      // Up to what is wanted, then to the end of libjpeg's own rows.
      const std::int64_t wanted =
          std::min({std::max<std::int64_t>(first + count - end_, 8),
                    capacity_ - (end_ - begin_), reader_.height() - end_});
      PS_RETURN_IF_ERROR(reader_.read(row(end_), stride_, wanted));
      end_ += wanted;
    }
    return row(first);
  }

 private:
  std::uint8_t* row(std::int64_t y) {
    return memory_.data() + (y - begin_) * stride_;
  }

  JpegReader& reader_;
  std::int64_t stride_;
  std::int64_t capacity_;
  std::vector<std::uint8_t>& memory_;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
};

// Reused by this thread's next picture.
struct Scratch {
  std::vector<std::uint8_t> rows;
  std::vector<float> line;
};

void flip_row(std::uint8_t* row, std::int64_t width, std::int64_t channels) {
  for (std::int64_t a = 0, b = width - 1; a < b; ++a, --b) {
    std::swap_ranges(row + a * channels, row + (a + 1) * channels,
                     row + b * channels);
  }
}

// Without a resize: rows go straight to the result.
StatusOr<Tensor> copied(JpegReader& reader, const TransformOptions& options,
                        const Scaling& scaling, Scratch& scratch) {
  const std::int64_t width = reader.width();
  const std::int64_t channels = reader.channels();
  const std::int64_t values = width * channels;
  const bool scaled = !scaling.mean.empty();
  const bool floats = scaled || options.finish;
  PS_ASSIGN_OR_RETURN(
      Tensor result, Tensor::allocate(floats ? DType::kFloat32 : DType::kUInt8,
                                      Shape{reader.height(), width, channels}));
  if (!floats) {
    std::uint8_t* out = result.mutable_as<std::uint8_t>().data();
    PS_RETURN_IF_ERROR(reader.read(out, values, reader.height()));
    for (std::int64_t y = 0; options.flip_left_right && y < reader.height();
         ++y) {
      flip_row(out + y * values, width, channels);
    }
    return result;
  }
  Rows rows(reader, 1, scratch.rows);
  float* out = result.mutable_as<float>().data();
  std::vector<std::uint8_t> line(static_cast<std::size_t>(values));
  for (std::int64_t y = 0; y < reader.height(); ++y, out += values) {
    PS_ASSIGN_OR_RETURN(const std::uint8_t* row, rows.get(y, 1));
    if (options.flip_left_right) {
      std::memcpy(line.data(), row, line.size());
      flip_row(line.data(), width, channels);
      row = line.data();
    }
    if (scaled) {
      subtract_and_scale(row, DType::kUInt8, values, scaling.mean.data(),
                         scaling.factor.data(), channels, out);
    } else {
      widen(row, values, 1, out);
    }
    if (options.finish) {
      options.finish({out, static_cast<std::size_t>(values)});
    }
  }
  return result;
}

// A length of the stored picture in one that is decoded at n/8.
struct Axis {
  std::int64_t first = 0;  // of the rows or columns to decode
  std::int64_t count = 0;
  double offset = 0;  // where the window begins, counted from `first`
  double extent = 0;
};

Axis scaled_axis(std::int64_t begin, std::int64_t length, std::int64_t whole,
                 int eighths) {
  const double scale = eighths / 8.0;
  const std::int64_t decoded = (whole * eighths + 7) / 8;
  const double from = static_cast<double>(begin) * scale;
  const double to = static_cast<double>(begin + length) * scale;
  Axis axis;
  axis.first = std::min(static_cast<std::int64_t>(from), decoded - 1);
  const auto last = std::min(static_cast<std::int64_t>(std::ceil(to)), decoded);
  axis.count = std::max<std::int64_t>(last - axis.first, 1);
  axis.offset = from - static_cast<double>(axis.first);
  axis.extent = to - from;
  return axis;
}

int fewest_eighths(const Window& window, Size size) {
  int eighths = 8;
  // Powers of two only: libjpeg-turbo has SIMD code for those.
  while (eighths > 1 && window.height * eighths / 16 >= size.height &&
         window.width * eighths / 16 >= size.width) {
    eighths /= 2;
  }
  return eighths;
}

Status check_window(const Window& w, Size whole) {
  if (w.y >= 0 && w.x >= 0 && w.height >= 1 && w.width >= 1 &&
      w.height <= whole.height && w.width <= whole.width &&
      w.y <= whole.height - w.height && w.x <= whole.width - w.width) {
    return absl::OkStatus();
  }
  return invalid_argument("decode_and_transform: crop: the window y=", w.y,
                          " x=", w.x, " height=", w.height, " width=", w.width,
                          " is not inside the picture of ", whole.height, " x ",
                          whole.width);
}

StatusOr<Tensor> transform_jpeg(JpegReader& reader,
                                const TransformOptions& options) {
  thread_local Scratch scratch;
  const Size whole{reader.shape().height, reader.shape().width};
  Window window{0, 0, whole.height, whole.width};
  if (options.crop) {
    PS_ASSIGN_OR_RETURN(window, options.crop(whole));
    PS_RETURN_IF_ERROR(check_window(window, whole));
  }
  const int channels = reader.channels();
  Scaling scaling;
  if (options.normalize) {
    PS_ASSIGN_OR_RETURN(scaling, scaling_of(*options.normalize, channels));
  }
  if (!options.size) {
    PS_RETURN_IF_ERROR(reader.start(8, window));
    return copied(reader, options, scaling, scratch);
  }
  Size size = *options.size;
  if (options.resize.preserve_aspect_ratio) {
    size = fitted_size({window.height, window.width}, size);
  }
  const ResizeMethod method = options.resize.method;
  const bool antialias = options.resize.antialias;
  const int eighths =
      options.allow_scaled_decoding ? fewest_eighths(window, size) : 8;
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate<float>(Shape{
                                         size.height, size.width, channels}));
  AxisWeights rows_axis;
  AxisWeights columns;
  if (eighths == 8) {
    rows_axis = axis_weights(window.height, size.height, method, antialias);
    columns = axis_weights(window.width, size.width, method, antialias);
  } else {
    const Axis y = scaled_axis(window.y, window.height, whole.height, eighths);
    const Axis x = scaled_axis(window.x, window.width, whole.width, eighths);
    window = {y.first, x.first, y.count, x.count};
    rows_axis = part_weights(y.count, size.height, method, antialias, y.offset,
                             y.extent);
    columns = part_weights(x.count, size.width, method, antialias, x.offset,
                           x.extent);
  }
  if (options.flip_left_right) mirror(columns);
  PS_RETURN_IF_ERROR(reader.start(eighths, window));
  Rows rows(reader, rows_axis.taps, scratch.rows);
  const std::int64_t values = rows.stride();
  scratch.line.resize(static_cast<std::size_t>(values + kRowPadding));
  float* out = result.mutable_as<float>().data();
  const std::int64_t out_values = size.width * channels;
  for (std::int64_t y = 0; y < size.height; ++y, out += out_values) {
    PS_ASSIGN_OR_RETURN(
        const std::uint8_t* in,
        rows.get(rows_axis.first[static_cast<std::size_t>(y)], rows_axis.taps));
    vertical_sum(in, DType::kUInt8, values,
                 rows_axis.weights.data() + y * rows_axis.taps, rows_axis.taps,
                 values, scratch.line.data());
    horizontal_sum(scratch.line.data(), columns, channels, out);
    if (!scaling.mean.empty()) {
      subtract_and_scale(out, DType::kFloat32, out_values, scaling.mean.data(),
                         scaling.factor.data(), channels, out);
    }
    if (options.finish) {
      options.finish({out, static_cast<std::size_t>(out_values)});
    }
  }
  return result;
}

}  // namespace

StatusOr<Tensor> decode_and_transform(std::string_view contents,
                                      const TransformOptions& options) {
  if (options.decode.ratio != 1) {
    return invalid_argument(
        "decode_and_transform: decode.ratio must be 1, "
        "got ",
        options.decode.ratio);
  }
  if (options.size) PS_RETURN_IF_ERROR(check_size(*options.size, kName));
  if (detect_format(contents) != Format::kJpeg) {
    PS_ASSIGN_OR_RETURN(
        Tensor image,
        decode_image(contents,
                     {.channels = options.decode.channels,
                      .expand_animations = false,
                      .max_image_pixels = options.decode.max_image_pixels}));
    return transform(std::move(image), options);
  }
  if (options.decode.exif_orientation ||
      (options.size && options.resize.method == ResizeMethod::kNearest)) {
    PS_ASSIGN_OR_RETURN(Tensor image, decode_jpeg(contents, options.decode));
    return transform(std::move(image), options);
  }
  JpegReader& reader = JpegReader::local();
  const ClosesReader closing{reader};
  PS_RETURN_IF_ERROR(reader.open(contents, options.decode, kName));
  // What is wrong below the crop shows only where the whole is decoded.
  if (options.whole_file && options.crop &&
      (options.decode.strict || !reader.has_end())) {
    PS_ASSIGN_OR_RETURN(Tensor image, decode_jpeg(contents, options.decode));
    return transform(std::move(image), options);
  }
  const JpegShape shape = reader.shape();
  work_counters().decoded_pixels += shape.height * shape.width;
  if (options.size) {
    work_counters().resized_pixels +=
        options.size->height * options.size->width;
  }
  return transform_jpeg(reader, options);
}

}  // namespace penstock::image
