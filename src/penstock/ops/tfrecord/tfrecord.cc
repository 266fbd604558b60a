// tfrecord: the records of TFRecord files, as strings.
//
// Plain files on this machine: an indexed source. The lengths are read when the
// graph is built (or taken from an index that was kept); records are read in
// any order from all workers. Other files: one after the other, opened ahead in
// parallel, each from its start on (ops/files/record_file.cc). Both give the
// same elements with the same origins.
//
// A damaged payload is an error in its place. So is a damaged length; the next
// whole record is looked for behind it, which only reading in order does: with
// `index` always it ends its file.
#include "penstock/ops/tfrecord/tfrecord.h"

#include "penstock/formats/tfrecord.h"
#include "penstock/io/http.h"
#include "penstock/ops/files/indexed_records.h"
#include "penstock/ops/files/record_file.h"

namespace penstock::ops {
namespace {

class TFRecordLayout final : public RecordLayout {
 public:
  TFRecordLayout(tfrecord::Index index, bool verify)
      : index_(std::move(index)), verify_(verify) {}

  std::int64_t size() const override {
    return index_.size() + (index_.tail().ok() ? 0 : 1);
  }
  std::int64_t records() const override { return index_.size(); }
  std::int64_t offset(std::int64_t i) const override {
    return index_.offset(i);
  }
  const Status& failure() const override { return index_.tail(); }
  std::int64_t head_bytes() const override { return tfrecord::kHeaderBytes; }
  std::int64_t frame_bytes() const override { return tfrecord::kFrameBytes; }
  void place(std::int64_t first, std::int64_t count,
             std::int64_t* offsets) const override {
    for (std::int64_t k = 0; k < count; ++k) {
      offsets[k + 1] = offsets[k] + index_.payload_bytes(first + k) +
                       static_cast<std::int64_t>(tfrecord::kFrameBytes);
    }
  }
  void check(std::int64_t first, std::int64_t count,
             const std::int64_t* offsets, const char* bytes,
             const Damaged& damaged) const override {
    const auto n = static_cast<std::size_t>(count);
    for (std::size_t k = 0;
         (k = tfrecord::first_damaged(bytes, offsets, k, n, verify_)) < n;
         ++k) {
      const std::int64_t i = first + static_cast<std::int64_t>(k);
      const std::string_view framed(
          bytes + offsets[k],
          static_cast<std::size_t>(offsets[k + 1] - offsets[k]));
      const std::size_t payload = framed.size() - tfrecord::kFrameBytes;
      damaged(static_cast<std::int64_t>(k),
              check_apart(i, framed.substr(0, tfrecord::kHeaderBytes),
                          framed.substr(tfrecord::kHeaderBytes, payload),
                          framed.substr(tfrecord::kHeaderBytes + payload)));
    }
  }
  Status check_apart(std::int64_t i, std::string_view head,
                     std::string_view payload,
                     std::string_view tail) const override {
    return annotate(what_is_wrong(head, payload, tail),
                    record_place(i, index_.offset(i)));
  }

 private:
  Status what_is_wrong(std::string_view head, std::string_view payload,
                       std::string_view tail) const {
    const auto length = tfrecord::read_length(head);
    if (!length.ok()) return length.status();
    if (*length != payload.size()) {
      return absl::DataLossError(
          "the file has changed since its index was made");
    }
    return verify_ ? tfrecord::check_payload(payload, tail) : absl::OkStatus();
  }

  const tfrecord::Index index_;
  const bool verify_;
};

Status check_tfrecord(const TFRecordOptions& options) {
  if (options.max_record_bytes < 1) {
    return invalid_argument("tfrecord: max_record_bytes must be >= 1, got ",
                            options.max_record_bytes);
  }
  if (options.index == UseIndex::kAlways &&
      options.compression != Compression::kNone &&
      options.compression != Compression::kAuto) {
    return invalid_argument(
        "tfrecord: index needs plain files, got compression ",
        to_absl(compression_name(options.compression)));
  }
  return absl::OkStatus();
}

/// Whether kAuto finds `path` compressed.
StatusOr<bool> is_compressed(FileSystem& fs, const std::string& path) {
  PS_ASSIGN_OR_RETURN(const auto file, fs.open(path));
  char first[16];
  PS_ASSIGN_OR_RETURN(
      const std::size_t n,
      file->read_at(0, {reinterpret_cast<std::byte*>(first), sizeof(first)}));
  const std::string_view bytes(first, n);
  return !tfrecord::begins_with_record(bytes) &&
         sniff_compression(bytes, /*zlib=*/true) != Compression::kNone;
}

std::string tfrecord_identity(const TFRecordOptions& options) {
  return absl::StrCat(to_absl(compression_name(options.compression)), ",",
                      options.verify, ",", options.max_record_bytes);
}

}  // namespace

StatusOr<TFRecordByIndex> make_indexed_tfrecord(
    const std::vector<std::string>& files, const TFRecordOptions& options,
    FileSystem& fs) {
  PS_RETURN_IF_ERROR(check_tfrecord(options));
  const auto none = [](std::string_view what, std::string_view why) {
    return TFRecordByIndex{nullptr,
                           absl::StrCat(to_absl(what), " ", to_absl(why))};
  };
  const bool always = options.index == UseIndex::kAlways;
  if (options.index == UseIndex::kNever) return none("index", "is off");
  if (!always && options.compression != Compression::kNone &&
      options.compression != Compression::kAuto) {
    return none("its files", "are compressed");
  }
  for (const std::string& path : files) {
    if (!always && path.find("://") != std::string::npos) {
      return none(quoted_name(path), "is not on this machine");
    }
    if (options.compression != Compression::kAuto) continue;
    const auto compressed = is_compressed(fs, path);
    if (!compressed.ok()) return annotate(compressed.status(), "tfrecord: ");
    if (!*compressed) continue;
    if (!always) return none(quoted_name(path), "is compressed");
    return invalid_argument("tfrecord: index needs plain files, but '", path,
                            "' is compressed");
  }
  std::vector<IndexedFile> indexed;
  for (const std::string& path : files) {
    auto index = load_index(fs, path, options.max_record_bytes);
    if (!index.ok()) return annotate(index.status(), "tfrecord: ");
    if (index->cut_short() && !always) {
      return none(quoted_name(path) + ":", to_std(index->tail().message()));
    }
    indexed.push_back({path, std::make_shared<TFRecordLayout>(*std::move(index),
                                                              options.verify)});
  }
  const std::string describe =
      absl::StrCat("tfrecord(",
                   files.size() == 1 ? quoted_name(files[0])
                                     : absl::StrCat(files.size(), " files"),
                   "), by index");
  return TFRecordByIndex{
      make_indexed_records(
          std::move(indexed),
          {"tfrecord", describe, tfrecord_identity(options) + ",index", &fs}),
      {}};
}

StatusOr<std::shared_ptr<const Operator>> make_tfrecord(
    const TFRecordOptions& options, std::string in_order, FileSystem& fs) {
  PS_RETURN_IF_ERROR(check_tfrecord(options));
  if (options.index == UseIndex::kAlways) {
    return invalid_argument(
        "tfrecord: index needs names of files when the graph is built, got a "
        "dataset");
  }
  auto format = std::make_shared<RecordFormat>();
  format->op = "tfrecord";
  format->splitter = std::make_shared<tfrecord::RecordSplitter>(options.verify);
  format->compression = options.compression;
  format->plain = tfrecord::begins_with_record;
  format->max_record_bytes = options.max_record_bytes;
  format->fs = &fs;
  format->identity = tfrecord_identity(options);
  RecordParts parts;
  parts.in_order = std::move(in_order);
  if (options.compression != Compression::kNone) {
    parts.arguments = absl::StrCat(
        "(files, ", to_absl(compression_name(options.compression)), ")");
  }
  return make_record_files(std::move(format), std::move(parts),
                           options.max_parallel);
}

}  // namespace penstock::ops
