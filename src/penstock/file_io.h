// Files outside of a pipeline: whole files, and writing TFRecord.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "penstock/dataset.h"
#include "penstock/formats/tensor_bytes.h"

namespace penstock::ops {
class RecordWriter;
}  // namespace penstock::ops

namespace penstock::io {

/// The bytes of a file, as a string. For functions of map: a failure is a
/// status, which takes the element's place.
StatusOr<Tensor> read_file(std::string_view path);

/// Classes of Dataset::image_folder(root), in the order of their numbers.
std::vector<std::string> class_names(const std::string& root);

/// A serialized Example as a dict of `features`, and a batch of them. For many
/// records Dataset::parse_example() is the fast way.
StatusOr<Element> parse_single_example(std::string_view serialized,
                                       std::vector<Feature> features);
StatusOr<Element> parse_example(const Tensor& serialized,
                                std::vector<Feature> features);
StatusOr<Element> parse_single_sequence_example(
    std::string_view serialized, std::vector<Feature> context_features,
    std::vector<Feature> sequence_features);
using penstock::decode_raw;
using penstock::parse_tensor;
using penstock::serialize_example;
using penstock::serialize_tensor;

struct TFRecordWriterOptions {
  /// "", "GZIP", "ZLIB" or "ZSTD".
  std::string compression = "";
  /// -1: the usual one of the compression.
  int compression_level = -1;
  /// Writes an index beside a plain file (hidden), so that it is read in
  /// parallel without a pass over it.
  bool index = true;
};

/// Writes one file. It appears under its name, complete, when close() returns;
/// an object destroyed before leaves nothing. Belongs to one thread; throws
/// Error.
class TFRecordWriter {
 public:
  explicit TFRecordWriter(const std::string& path,
                          TFRecordWriterOptions options = {});
  TFRecordWriter(TFRecordWriter&&) noexcept;
  TFRecordWriter& operator=(TFRecordWriter&&) noexcept;
  ~TFRecordWriter();

  void write(std::string_view record);
  void close();

 private:
  std::unique_ptr<ops::RecordWriter> writer_;
};

struct WriteProgress {
  std::int64_t records = 0;
  std::int64_t bytes = 0;  // as written
};

struct WriteTFRecordOptions {
  std::string compression = "";
  int compression_level = -1;
  bool index = true;
  /// Called from the caller's thread, at most a few times per MiB.
  std::function<void(const WriteProgress&)> progress = nullptr;
};

/// Writes the elements of `dataset`, which must be strings, to `path`; with
/// several shards element i to shard i % shards, named
/// `path`-00000-of-00004. Framing and compressing run in parallel. Returns the
/// names. All files appear when everything is written, or none; throws Error.
std::vector<std::string> write_tfrecord(const Dataset& dataset,
                                        const std::string& path,
                                        std::int64_t shards = 1,
                                        WriteTFRecordOptions options = {});

}  // namespace penstock::io
