// fixed_length_records: records of one size, between a header and a footer.
//
// Plain files: an indexed source, the places follow from the size. Compressed
// ones: one after the other, opened ahead in parallel (ops/files).
#include "penstock/ops/fixed_length_records/fixed_length_records.h"

#include "penstock/formats/lines.h"
#include "penstock/ops/files/indexed_records.h"
#include "penstock/ops/files/record_file.h"

namespace penstock::ops {
namespace {

Status check_fixed_length(const FixedLengthOptions& options) {
  if (options.record_bytes < 1) {
    return invalid_argument(
        "fixed_length_records: record_bytes must be >= 1, got ",
        options.record_bytes);
  }
  if (options.header_bytes < 0) {
    return invalid_argument(
        "fixed_length_records: header_bytes must be >= 0, got ",
        options.header_bytes);
  }
  if (options.footer_bytes < 0) {
    return invalid_argument(
        "fixed_length_records: footer_bytes must be >= 0, got ",
        options.footer_bytes);
  }
  return absl::OkStatus();
}

std::string fixed_length_identity(const FixedLengthOptions& options) {
  return absl::StrCat(options.record_bytes, ",", options.header_bytes, ",",
                      options.footer_bytes, ",",
                      to_absl(compression_name(options.compression)));
}

class FixedLengthLayout final : public RecordLayout {
 public:
  FixedLengthLayout(const FixedLengthOptions& options, std::int64_t size)
      : record_(options.record_bytes), header_(options.header_bytes) {
    const std::int64_t body = size - header_ - options.footer_bytes;
    if (body < 0) {
      failure_ = absl::DataLossError(absl::StrCat(
          "truncated: header and footer have ", header_ + options.footer_bytes,
          " bytes, the file ", size));
      return;
    }
    records_ = body / record_;
    if (body % record_ != 0) {
      failure_ =
          annotate(absl::DataLossError(absl::StrCat(
                       "truncated: needs ", record_ + options.footer_bytes,
                       " bytes, the file has ",
                       body % record_ + options.footer_bytes, " more")),
                   record_place(records_, header_ + records_ * record_));
    }
  }
  std::int64_t size() const override {
    return records_ + (failure_.ok() ? 0 : 1);
  }
  std::int64_t offset(std::int64_t i) const override {
    return header_ + i * record_;
  }
  std::int64_t records() const override { return records_; }
  const Status& failure() const override { return failure_; }
  std::int64_t head_bytes() const override { return 0; }
  std::int64_t frame_bytes() const override { return 0; }
  void place(std::int64_t, std::int64_t count,
             std::int64_t* offsets) const override {
    for (std::int64_t k = 0; k < count; ++k) {
      offsets[k + 1] = offsets[k] + record_;
    }
  }
  void check(std::int64_t, std::int64_t, const std::int64_t*, const char*,
             const Damaged&) const override {}
  Status check_apart(std::int64_t, std::string_view, std::string_view,
                     std::string_view) const override {
    return absl::OkStatus();
  }

 private:
  const std::int64_t record_;
  const std::int64_t header_;
  std::int64_t records_ = 0;
  Status failure_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_fixed_length_records(
    const FixedLengthOptions& options, FileSystem& fs) {
  PS_RETURN_IF_ERROR(check_fixed_length(options));
  auto format = std::make_shared<RecordFormat>();
  format->op = "fixed_length_records";
  format->splitter = std::make_shared<FixedSplitter>(
      options.record_bytes, options.header_bytes, options.footer_bytes);
  format->compression = options.compression;
  format->fs = &fs;
  format->identity = fixed_length_identity(options);
  RecordParts parts;
  parts.arguments = absl::StrCat("(files, ", options.record_bytes, ")");
  return make_record_files(std::move(format), std::move(parts),
                           options.max_parallel);
}

StatusOr<std::shared_ptr<const Operator>> make_indexed_fixed_length_records(
    const std::vector<std::string>& files, const FixedLengthOptions& options,
    FileSystem& fs) {
  PS_RETURN_IF_ERROR(check_fixed_length(options));
  std::vector<IndexedFile> indexed;
  for (const std::string& path : files) {
    const auto info = fs.info(path);
    if (!info.ok()) return annotate(info.status(), "fixed_length_records: ");
    if (info->size == 0) {  // a pipe's, too: opening tells
      const Status opened = fs.open(path).status();
      if (!opened.ok()) return annotate(opened, "fixed_length_records: ");
    }
    indexed.push_back(
        {path, std::make_shared<FixedLengthLayout>(options, info->size)});
  }
  return make_indexed_records(
      std::move(indexed),
      {"fixed_length_records",
       absl::StrCat("fixed_length_records(", files.size(), " files, ",
                    options.record_bytes, "), by index"),
       fixed_length_identity(options) + ",index", &fs});
}

}  // namespace penstock::ops
