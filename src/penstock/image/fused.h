// decode -> crop -> resize -> flip -> normalise -> finish in one pass over a
// JPEG.
//
// Only the rows down to the end of the crop and the columns around it are
// decoded, a few rows at a time while they are in the cache, and each output
// row is written once, in its final form. The result has the bits of the
// single operations in this order; scaled decoding, which must be allowed,
// excepted. Other formats take the single operations.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "penstock/base/status.h"
#include "penstock/image/decode.h"
#include "penstock/image/resize.h"
#include "penstock/memory/tensor.h"

namespace penstock::image {

struct Normalization {
  std::vector<float> mean;  // one for all channels or one for each
  std::vector<float> std;
};

struct TransformOptions {
  /// ratio must be 1; other formats use channels and max_image_pixels only.
  JpegOptions decode = {};
  /// The window for a picture of this size; empty: all of it. Asked once the
  /// header is read, so that a random crop costs no second look at the file.
  std::function<StatusOr<Window>(Size)> crop = {};
  std::optional<Size> size = {};  // resize to it
  ResizeOptions resize = {};
  bool flip_left_right = false;
  std::optional<Normalization> normalize = {};  // float32 (x - mean) / std
  /// Last, on whole pixels, row by row while they are in the cache. The result
  /// is float32 then.
  std::function<void(std::span<float> values)> finish = {};
  /// Decodes at 1/2, 1/4 or 1/8 where that still has the pixels of `size`.
  /// Faster, and smoother than sampling the full picture: values differ by a
  /// few steps of 255 on average (about 2 on photographs).
  bool allow_scaled_decoding = false;
  /// Refuses a file that is cut below the crop too, as decoding all of it does.
  bool whole_file = false;
};

/// uint8, or float32 after resize (but nearest), normalize or finish.
StatusOr<Tensor> decode_and_transform(std::string_view contents,
                                      const TransformOptions& options);

}  // namespace penstock::image
