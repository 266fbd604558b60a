// Image encoders: a [height, width, channels] tensor in, bytes out.
#pragma once

#include <string>

#include "penstock/base/status.h"
#include "penstock/memory/tensor.h"

namespace penstock::image {

struct EncodeJpegOptions {
  int quality = 95;  // 0..100
  bool progressive = false;
  bool optimize_size = false;
  bool chroma_downsampling = true;  // 4:2:0, else 4:4:4
};
/// uint8 with 1 or 3 channels.
StatusOr<std::string> encode_jpeg(const Tensor& image,
                                  const EncodeJpegOptions& options = {});

struct EncodePngOptions {
  int compression = -1;  // 0..9, -1: zlib's default
};
/// uint8 or uint16 with 1 to 4 channels.
StatusOr<std::string> encode_png(const Tensor& image,
                                 const EncodePngOptions& options = {});

struct EncodeWebpOptions {
  float quality = 75;  // 0..100; the effort when lossless
  bool lossless = false;
};
/// uint8 with 3 or 4 channels. Lossless keeps the colours under alpha 0.
StatusOr<std::string> encode_webp(const Tensor& image,
                                  const EncodeWebpOptions& options = {});

}  // namespace penstock::image
