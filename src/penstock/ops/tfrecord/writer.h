// Writing TFRecord files. A writer belongs to one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "penstock/formats/compression.h"
#include "penstock/formats/tfrecord_index.h"
#include "penstock/io/file.h"

namespace penstock::ops {

struct RecordWriterOptions {
  Compression compression = Compression::kNone;
  int level = -1;
  /// An index is written beside a plain file.
  bool index = true;
};

/// The file appears under its name when finish() succeeds; without that
/// nothing is left.
class RecordWriter {
 public:
  static StatusOr<std::unique_ptr<RecordWriter>> create(
      FileSystem& fs, const std::string& path,
      const RecordWriterOptions& options);
  Status write(std::string_view payload);
  /// Bytes that are framed already, and compressed as a stream of their own if
  /// the file is (gzip, zstd): `sizes` are those of the payloads in them.
  Status write_framed(std::string_view bytes,
                      std::span<const std::uint32_t> sizes);
  /// seal() and publish().
  Status finish();
  /// Writes what is left. Of several files that belong together all are sealed
  /// before the first gets its name.
  Status seal();
  Status publish();
  std::int64_t records() const { return records_; }
  /// Bytes in the file so far.
  std::int64_t bytes() const;

 private:
  RecordWriter() = default;
  Status flush(std::size_t above);

  FileSystem* fs_ = nullptr;
  std::string path_;
  RecordWriterOptions options_;
  std::unique_ptr<AtomicFile> file_;
  std::unique_ptr<Compressor> compressor_;
  std::string frame_;
  std::string out_;
  std::int64_t records_ = 0;
  bool indexed_ = false;
  tfrecord::Index index_;
};

/// Frames payload after payload and compresses the whole: what write_framed()
/// takes. Any thread.
StatusOr<std::string> frame_records(std::span<const std::string_view> payloads,
                                    const RecordWriterOptions& options);

/// Whether streams of `compression` may follow each other in one file.
bool joinable(Compression compression);

}  // namespace penstock::ops
