#include "penstock/ops/files/byte_stream.h"

#include <algorithm>

#include "penstock/base/work_counters.h"

namespace penstock::ops {
namespace {

constexpr std::size_t kCompressedRead = std::size_t{1} << 20;
constexpr std::size_t kSniffed = 512;
// The kernel is told this much ahead, a half at a time: its own read-ahead is
// 128 KiB.
constexpr std::int64_t kAhead = std::int64_t{8} << 20;

}  // namespace

StatusOr<std::unique_ptr<ByteStream>> ByteStream::open(
    FileSystem& fs, const std::string& path, Compression compression,
    bool (*plain)(std::string_view)) {
  std::unique_ptr<ByteStream> stream(new ByteStream);
  PS_ASSIGN_OR_RETURN(stream->file_, fs.open(path));
  PS_ASSIGN_OR_RETURN(stream->size_, stream->file_->size());
  if (compression == Compression::kAuto) {
    char first[kSniffed];
    PS_ASSIGN_OR_RETURN(const std::size_t n,
                        stream->read_file(first, kSniffed));
    stream->file_offset_ = 0;
    const std::string_view bytes(first, n);
    if (plain != nullptr && plain(bytes)) {
      compression = Compression::kNone;
    } else {
      compression = sniff_compression(
          bytes, plain != nullptr || looks_like_zlib(bytes, n < kSniffed));
    }
  }
  stream->fs_ = &fs;
  stream->path_ = path;
  stream->compression_ = compression;
  if (compression != Compression::kNone) {
    stream->decompressor_ = Decompressor::make(compression);
    stream->in_ = Buffer::allocate(kCompressedRead);
    if (!stream->in_) {
      return absl::ResourceExhaustedError("no memory for a read buffer");
    }
  }
  return stream;
}

StatusOr<std::size_t> ByteStream::read_file(char* out, std::size_t size) {
  if (size > kSniffed && !file_->remote() &&
      file_offset_ + static_cast<std::int64_t>(size) > advised_ - kAhead / 2 &&
      advised_ < size_) {
    const std::int64_t from = std::max(advised_, file_offset_);
    advised_ = file_offset_ + static_cast<std::int64_t>(size) + kAhead;
    file_->will_need(from, advised_ - from);
  }
  std::size_t done = 0;
  while (done < size) {
    PS_ASSIGN_OR_RETURN(
        const std::size_t n,
        file_->read_at(file_offset_, {reinterpret_cast<std::byte*>(out) + done,
                                      size - done}));
    if (n == 0) break;
    done += n;
    file_offset_ += static_cast<std::int64_t>(n);
  }
  return done;
}

StatusOr<std::size_t> ByteStream::read(char* out, std::size_t size) {
  if (!decompressor_) {
    PS_ASSIGN_OR_RETURN(const std::size_t n, read_file(out, size));
    offset_ += static_cast<std::int64_t>(n);
    return n;
  }
  std::size_t done = 0;
  char* const in = reinterpret_cast<char*>(in_->data());
  while (done < size) {
    const auto progress = [&] {
      const TimeInto timer(work_counters().inflate_ns);
      return decompressor_->run({in + in_begin_, in_end_ - in_begin_},
                                out + done, size - done);
    }();
    if (!progress.ok()) {
      if (done > 0) break;  // what came before it first
      return annotate(progress.status(),
                      absl::StrCat("before byte ", file_offset_, ": "));
    }
    in_begin_ += progress->read;
    done += progress->written;
    if (progress->written > 0 || progress->read > 0) continue;
    if (in_begin_ < in_end_) {
      return internal_error("a decompressor stands still");
    }
    PS_ASSIGN_OR_RETURN(in_end_, read_file(in, kCompressedRead));
    in_begin_ = 0;
    if (in_end_ > 0) continue;
    if (done == 0 && !decompressor_->complete()) {
      return absl::DataLossError(absl::StrCat(
          "the compressed stream is truncated: the file ends at byte ",
          file_offset_));
    }
    break;
  }
  offset_ += static_cast<std::int64_t>(done);
  return done;
}

Status ByteStream::skip_to(std::int64_t offset) {
  if (!decompressor_) {
    if (offset > size_) {
      return absl::OutOfRangeError(
          absl::StrCat("the file has ", size_, " bytes"));
    }
    offset_ = file_offset_ = offset;
    return absl::OkStatus();
  }
  const Ref<Buffer> dropped = Buffer::allocate(kCompressedRead);
  if (!dropped) return absl::ResourceExhaustedError("no memory to skip with");
  while (offset_ < offset) {
    const auto want = static_cast<std::size_t>(std::min<std::int64_t>(
        offset - offset_, static_cast<std::int64_t>(kCompressedRead)));
    PS_ASSIGN_OR_RETURN(const std::size_t n,
                        read(reinterpret_cast<char*>(dropped->data()), want));
    if (n == 0) {
      return absl::OutOfRangeError(
          absl::StrCat("the stream has ", offset_, " bytes"));
    }
  }
  return absl::OkStatus();
}

StatusOr<bool> ByteStream::jump(std::int64_t offset, std::int64_t back) {
  Status status = skip_to(offset);
  if (status.ok()) return true;
  if (status.code() != StatusCode::kOutOfRange) return status;
  if (decompressor_) {
    PS_ASSIGN_OR_RETURN(const auto again, open(*fs_, path_, compression_));
    *this = std::move(*again);
  }
  PS_RETURN_IF_ERROR(skip_to(back));
  return false;
}

}  // namespace penstock::ops
