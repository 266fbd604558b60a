#include "penstock/ops/tfrecord/writer.h"

#include <limits>

#include "penstock/formats/tfrecord.h"
#include "penstock/ops/tfrecord/tfrecord.h"

namespace penstock::ops {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

}  // namespace

bool joinable(Compression compression) {
  return compression != Compression::kZlib;
}

StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::create(
    FileSystem& fs, const std::string& path,
    const RecordWriterOptions& options) {
  if (path.empty()) {
    return invalid_argument("tfrecord writer: path must not be empty, got ''");
  }
  std::unique_ptr<RecordWriter> writer(new RecordWriter);
  writer->fs_ = &fs;
  writer->path_ = path;
  writer->options_ = options;
  writer->indexed_ = options.index && options.compression == Compression::kNone;
  auto compressor = Compressor::make(options.compression, options.level);
  if (!compressor.ok()) {
    return annotate(compressor.status(), "tfrecord writer: ");
  }
  writer->compressor_ = *std::move(compressor);
  PS_ASSIGN_OR_RETURN(writer->file_, AtomicFile::create(fs, path));
  return writer;
}

Status RecordWriter::write(std::string_view payload) {
  if (payload.size() > std::numeric_limits<std::int32_t>::max()) {
    return invalid_argument(
        "tfrecord writer: a record must be under 2 GiB, "
        "got ",
        payload.size(), " bytes");
  }
  frame_.clear();
  tfrecord::append_record(payload, frame_);
  PS_RETURN_IF_ERROR(compressor_->add(frame_, out_));
  ++records_;
  if (indexed_) index_.add(payload.size());
  return flush(kFlushBytes);
}

Status RecordWriter::write_framed(std::string_view bytes,
                                  std::span<const std::uint32_t> sizes) {
  out_.append(bytes);
  records_ += static_cast<std::int64_t>(sizes.size());
  if (indexed_) {
    for (const std::uint32_t size : sizes) index_.add(size);
  }
  return flush(kFlushBytes);
}

Status RecordWriter::flush(std::size_t above) {
  if (out_.size() <= above) return absl::OkStatus();
  Status status = file_->append(out_);
  out_.clear();
  return status;
}

std::int64_t RecordWriter::bytes() const {
  return file_->size() + static_cast<std::int64_t>(out_.size());
}

Status RecordWriter::finish() {
  PS_RETURN_IF_ERROR(seal());
  return publish();
}

Status RecordWriter::seal() {
  // A stream of its own ends what write() began; behind joined streams there
  // is nothing to end.
  const bool joined = records_ > 0 && frame_.empty();
  if (!joined) PS_RETURN_IF_ERROR(compressor_->finish(out_));
  PS_RETURN_IF_ERROR(flush(0));
  return file_->seal();
}

Status RecordWriter::publish() {
  // An index of the file that is replaced must not outlive it.
  fs_->remove(index_path(path_)).IgnoreError();
  PS_RETURN_IF_ERROR(file_->commit());
  if (!indexed_) return absl::OkStatus();
  // The file is whole without it: readers make one.
  save_index(*fs_, path_, index_, index_path(path_)).IgnoreError();
  return absl::OkStatus();
}

StatusOr<std::string> frame_records(std::span<const std::string_view> payloads,
                                    const RecordWriterOptions& options) {
  std::string framed;
  std::size_t bytes = 0;
  for (const std::string_view payload : payloads) {
    if (payload.size() > std::numeric_limits<std::int32_t>::max()) {
      return invalid_argument("a record must be under 2 GiB, got ",
                              payload.size(), " bytes");
    }
    bytes += payload.size() + tfrecord::kFrameBytes;
  }
  framed.reserve(bytes);
  for (const std::string_view payload : payloads) {
    tfrecord::append_record(payload, framed);
  }
  if (options.compression == Compression::kNone || payloads.empty()) {
    return framed;
  }
  PS_ASSIGN_OR_RETURN(const auto compressor,
                      Compressor::make(options.compression, options.level));
  std::string out;
  PS_RETURN_IF_ERROR(compressor->add(framed, out));
  PS_RETURN_IF_ERROR(compressor->finish(out));
  return out;
}

}  // namespace penstock::ops
