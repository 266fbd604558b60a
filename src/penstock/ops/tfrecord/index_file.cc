// Indexes of TFRecord files: built, kept and found again.
//
// Looked for beside the file, where TFRecordWriter puts it, and in a cache
// folder (PENSTOCK_CACHE_DIR, else XDG_CACHE_HOME/penstock, else
// ~/.cache/penstock), where one that had to be built is kept. It counts only
// for a file of the same size and time.
#include <cstdlib>
#include <filesystem>

#include "penstock/base/codec.h"
#include "penstock/formats/tfrecord.h"
#include "penstock/memory/buffer.h"
#include "penstock/ops/tfrecord/tfrecord.h"

namespace penstock::ops {
namespace {

constexpr std::int64_t kReadBytes = std::int64_t{1} << 20;
// Headers that lie further apart are read one by one.
constexpr std::int64_t kFarBytes = 64 * 1024;
// Below, building an index costs less than keeping it.
constexpr std::int64_t kKeptFrom = std::int64_t{1} << 20;

std::string cache_directory() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? "" : value;
  };
  if (std::string own = variable("PENSTOCK_CACHE_DIR"); !own.empty()) {
    return own;
  }
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) {
    return xdg + "/penstock";
  }
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/penstock";
}

std::string cached_path(const std::string& path) {
  const std::string directory = cache_directory();
  if (directory.empty()) return "";
  std::error_code error;
  std::string absolute = std::filesystem::absolute(path, error).string();
  if (error) return "";
  Fingerprint fp;
  fp.add(absolute);
  return absl::StrCat(directory, "/", fp.hex(), ".tfrecord_index");
}

StatusOr<std::string> read_whole(FileSystem& fs, const std::string& path) {
  PS_ASSIGN_OR_RETURN(const auto file, fs.open(path));
  PS_ASSIGN_OR_RETURN(const std::int64_t size, file->size());
  std::string bytes(static_cast<std::size_t>(size), '\0');
  PS_RETURN_IF_ERROR(read_fully(
      *file, 0, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()}));
  return bytes;
}

StatusOr<tfrecord::Index::Subject> subject_of(FileSystem& fs,
                                              const std::string& path) {
  PS_ASSIGN_OR_RETURN(const FileInfo info, fs.info(path));
  return tfrecord::Index::Subject{info.size, info.modified_ns};
}

}  // namespace

std::string index_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  return absl::StrCat(path.substr(0, name), ".", path.substr(name), ".index");
}

Status save_index(FileSystem& fs, const std::string& path,
                  const tfrecord::Index& index, const std::string& to) {
  PS_ASSIGN_OR_RETURN(const auto subject, subject_of(fs, path));
  PS_ASSIGN_OR_RETURN(const auto file, AtomicFile::create(fs, to));
  PS_RETURN_IF_ERROR(file->append(index.encode(subject)));
  return file->commit();
}

namespace {

/// Whether a record seems to begin in bytes [at, size) of the file.
StatusOr<bool> has_record(const ReadableFile& file, std::int64_t at,
                          std::int64_t size, Buffer& buffer,
                          std::int64_t max_record_bytes) {
  while (size - at >= static_cast<std::int64_t>(tfrecord::kFrameBytes)) {
    const std::int64_t want = std::min(kReadBytes, size - at);
    PS_RETURN_IF_ERROR(
        read_fully(file, at, {buffer.data(), static_cast<std::size_t>(want)}));
    const std::string_view bytes(reinterpret_cast<const char*>(buffer.data()),
                                 static_cast<std::size_t>(want));
    if (tfrecord::find_record(bytes, 0, max_record_bytes) !=
        std::string_view::npos) {
      return true;
    }
    at += want - static_cast<std::int64_t>(tfrecord::kHeaderBytes - 1);
  }
  return false;
}

}  // namespace

StatusOr<tfrecord::Index> build_index(FileSystem& fs, const std::string& path,
                                      std::int64_t max_record_bytes) {
  using tfrecord::kFrameBytes;
  using tfrecord::kHeaderBytes;
  PS_ASSIGN_OR_RETURN(const auto file, fs.open(path));
  PS_ASSIGN_OR_RETURN(const std::int64_t size, file->size());
  const Ref<Buffer> buffer = Buffer::allocate(kReadBytes);
  if (!buffer) return absl::ResourceExhaustedError("no memory for an index");
  const char* const bytes = reinterpret_cast<const char*>(buffer->data());
  tfrecord::Index index;
  std::int64_t at = 0;     // of the next header
  std::int64_t begin = 0;  // of what is in the buffer
  std::int64_t end = 0;
  std::int64_t last = 0;  // bytes of the record before
  while (at < size) {
    const auto fail = [&](const Status& status) {
      index.set_tail(annotate(status, record_place(index.size(), at)));
    };
    if (size - at < static_cast<std::int64_t>(kFrameBytes)) {
      fail(tfrecord::truncated(kFrameBytes,
                               static_cast<std::uint64_t>(size - at)));
      break;
    }
    if (at < begin || at + static_cast<std::int64_t>(kHeaderBytes) > end) {
      const std::int64_t want =
          std::min(last > kFarBytes ? 4096 : kReadBytes, size - at);
      PS_RETURN_IF_ERROR(read_fully(
          *file, at, {buffer->data(), static_cast<std::size_t>(want)}));
      begin = at;
      end = at + want;
    }
    const std::string_view header(bytes + (at - begin), kHeaderBytes);
    const auto length = tfrecord::read_length(header);
    if (!length.ok()) {
      fail(at > 0
               ? length.status()
               : make_error(length.status().code(), length.status().message(),
                            tfrecord::first_record_hint(header)));
      index.set_cut_short();
      break;
    }
    const auto left = static_cast<std::uint64_t>(size - at) - kFrameBytes;
    if (*length > static_cast<std::uint64_t>(max_record_bytes)) {
      fail(record_too_large(static_cast<std::int64_t>(
                                std::min<std::uint64_t>(*length, INT64_MAX)),
                            max_record_bytes));
      index.set_cut_short();
      break;
    }
    if (*length > left) {
      fail(tfrecord::truncated(*length + kFrameBytes, left + kFrameBytes));
      PS_ASSIGN_OR_RETURN(
          const bool more,
          has_record(*file, at + 1, size, *buffer, max_record_bytes));
      if (more) index.set_cut_short();
      break;
    }
    if (!index.add(*length)) {
      fail(record_too_large(static_cast<std::int64_t>(*length), UINT32_MAX));
      index.set_cut_short();
      break;
    }
    last = static_cast<std::int64_t>(*length + kFrameBytes);
    at += last;
  }
  return index;
}

StatusOr<tfrecord::Index> load_index(FileSystem& fs, const std::string& path,
                                     std::int64_t max_record_bytes) {
  PS_ASSIGN_OR_RETURN(const auto subject, subject_of(fs, path));
  const std::string cached = cached_path(path);
  for (const std::string& place : {index_path(path), cached}) {
    if (place.empty()) continue;
    const auto bytes = read_whole(fs, place);
    if (!bytes.ok()) continue;
    auto index = tfrecord::Index::decode(*bytes, subject);
    if (!index.ok()) continue;
    // No record is longer than its file.
    if (subject.size <= max_record_bytes ||
        index->largest_payload() <= max_record_bytes) {
      return index;
    }
  }
  PS_ASSIGN_OR_RETURN(tfrecord::Index index,
                      build_index(fs, path, max_record_bytes));
  if (subject.size >= kKeptFrom && !cached.empty() && index.tail().ok()) {
    // Only a convenience: without it the next one builds it again.
    if (fs.make_directories(cached.substr(0, cached.rfind('/'))).ok()) {
      save_index(fs, path, index, cached).IgnoreError();
    }
  }
  return index;
}

}  // namespace penstock::ops
