// Reads one JPEG picture row by row: the core of decode_jpeg and of the fused
// path.
//
// libjpeg reports errors by longjmp. Only functions without C++ objects lie
// between the jump and its landing (jpeg_reader.cc), and a reader that failed
// can be opened again. Not thread-safe; reused per thread, see local().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "penstock/base/status.h"
#include "penstock/image/decode.h"

namespace penstock::image {

class JpegReader {
 public:
  JpegReader();
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  /// The reader of this thread, so that libjpeg's tables are made once.
  static JpegReader& local();

  /// Reads the header. `contents` must stay until close(). `operation` begins
  /// every message.
  Status open(std::string_view contents, const JpegOptions& options,
              std::string_view operation);
  /// Sizes as stored, before scaling and turning.
  const JpegShape& shape() const { return shape_; }
  /// Channels that read() will give.
  int channels() const { return channels_; }
  /// Whether the file has its end marker. Before start().
  bool has_end() const;

  /// Starts at `eighths`/8 of the stored size (1..8); with `window` only that
  /// part of the scaled picture is read.
  Status start(int eighths, const std::optional<Window>& window);
  /// Rows and columns that read() will give in all.
  std::int64_t height() const { return window_.height; }
  std::int64_t width() const { return window_.width; }
  /// The size of the whole scaled picture.
  std::int64_t scaled_height() const { return scaled_height_; }
  std::int64_t scaled_width() const { return scaled_width_; }

  /// The next `count` rows, `stride` bytes apart. Rows that are missing are
  /// black, if the options accept that, and an error otherwise.
  Status read(std::uint8_t* rows, std::ptrdiff_t stride, std::int64_t count);
  /// Call it after the last row that is wanted.
  void close();

 private:
  struct Core;
  void create();
  bool read_header();
  void set_parameters();
  Status begin(bool own_entropy);
  Status begin_again();
  bool gave_up() const;
  Status failure(std::string_view what) const;
  Status truncated() const;

  std::unique_ptr<Core> core_;
  JpegOptions options_;
  std::string operation_;
  JpegShape shape_;
  Window window_;
  std::int64_t scaled_height_ = 0;
  std::int64_t scaled_width_ = 0;
  std::int64_t rows_read_ = 0;  // of the window
  bool ended_ = false;          // the data ended early
  int channels_ = 0;
  int row_channels_ = 0;     // of what libjpeg gives
  std::int64_t column_ = 0;  // of the window in a row of libjpeg
  std::int64_t skip_ = 0;    // rows of libjpeg above the window
  int eighths_ = 8;
  bool multiple_scans_ = false;
  bool own_entropy_ = false;  // of jpeg_entropy.h
  bool direct_ = false;       // rows need no rework
  std::vector<std::uint8_t> row_;
};

struct ClosesReader {
  JpegReader& reader;
  ~ClosesReader() { reader.close(); }
};

}  // namespace penstock::image
