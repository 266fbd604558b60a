// A file from its start on, decompressed on the way. Belongs to one thread.
#pragma once

#include <memory>
#include <string>

#include "penstock/formats/compression.h"
#include "penstock/io/file.h"
#include "penstock/memory/buffer.h"

namespace penstock::ops {

class ByteStream {
 public:
  /// `plain` tells kAuto that a stream that begins so is not compressed;
  /// without it zlib is seen by inflating what the stream begins with.
  static StatusOr<std::unique_ptr<ByteStream>> open(
      FileSystem& fs, const std::string& path, Compression compression,
      bool (*plain)(std::string_view first_bytes) = nullptr);

  /// Fills `out`; gives less only at the end of the stream.
  StatusOr<std::size_t> read(char* out, std::size_t size);
  /// Goes on at `offset` of the decompressed stream, which must not lie before
  /// what was read. OutOfRange if the stream ends before.
  Status skip_to(std::int64_t offset);
  /// Goes on at `offset`, which must not lie before what was read, and says
  /// true; where the stream ends before it, at `back` instead.
  StatusOr<bool> jump(std::int64_t offset, std::int64_t back);
  bool compressed() const { return decompressor_ != nullptr; }
  bool remote() const { return file_->remote(); }
  /// Bytes a plain file has left; -1 for a compressed one.
  std::int64_t left() const { return compressed() ? -1 : size_ - file_offset_; }

 private:
  ByteStream() = default;
  StatusOr<std::size_t> read_file(char* out, std::size_t size);

  FileSystem* fs_ = nullptr;
  std::string path_;
  Compression compression_ = Compression::kNone;
  std::unique_ptr<ReadableFile> file_;
  std::int64_t size_ = 0;
  std::int64_t file_offset_ = 0;
  std::int64_t advised_ = 0;
  std::unique_ptr<Decompressor> decompressor_;
  std::int64_t offset_ = 0;  // decompressed
  Ref<Buffer> in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
};

}  // namespace penstock::ops
