// csv: records of CSV files as dicts of typed scalars.
//
// Cutting into records is in order, one file after the other (ops/files);
// parsing them is a transform, in parallel, a block at a time, into one packed
// column per field. A record that cannot be parsed is an error in its place.
#include "penstock/ops/csv/csv.h"

#include <limits>

#include "penstock/io/http.h"
#include "penstock/ops/files/byte_stream.h"
#include "penstock/ops/files/parse_records.h"
#include "penstock/ops/files/record_file.h"

namespace penstock::ops {
namespace {

constexpr std::size_t kInferenceBytes = 64 * 1024;

std::string csv_identity(const CsvOptions& options) {
  std::string text =
      absl::StrCat(options.header, options.format.quotes,
                   std::string(1, options.format.delimiter),
                   options.format.na_value, ",", options.max_record_bytes, ",",
                   to_absl(compression_name(options.compression)), "\n");
  for (const CsvColumn& c : options.columns) {
    absl::StrAppend(
        &text, c.name, ":", to_absl(dtype_name(c.dtype)), ":",
        c.default_value.defined() ? c.default_value.to_string() : "", ":",
        c.index, "\n");
  }
  for (const std::string& name : options.select_columns) {
    absl::StrAppend(&text, name, "\n");
  }
  return text;
}

StatusOr<std::vector<CsvColumn>> selected(const CsvOptions& options) {
  std::vector<CsvColumn> all = options.columns;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].index < 0) all[i].index = static_cast<std::int64_t>(i);
  }
  if (options.select_columns.empty()) return all;
  std::vector<CsvColumn> out;
  for (const std::string& name : options.select_columns) {
    const auto found =
        std::find_if(all.begin(), all.end(),
                     [&](const CsvColumn& c) { return c.name == name; });
    if (found == all.end()) {
      return invalid_argument("csv: select_columns must name columns, got '",
                              name, "'");
    }
    out.push_back(*found);
  }
  return out;
}

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_csv(const CsvOptions& options,
                                                   FileSystem& fs) {
  const char d = options.format.delimiter;
  if (d == '"' || d == '\n' || d == '\r') {
    return invalid_argument(
        "csv: delimiter must not be a quote or a line end, got ",
        static_cast<int>(d));
  }
  PS_ASSIGN_OR_RETURN(std::vector<CsvColumn> columns, selected(options));
  // With places given, records may have further fields.
  auto fields = static_cast<std::int64_t>(options.columns.size());
  for (const CsvColumn& c : options.columns) {
    if (c.index >= 0) fields = -1;
  }
  auto made = CsvParser::make(std::move(columns), fields, options.format);
  if (!made.ok()) return annotate(made.status(), "csv: ");
  const std::shared_ptr<const CsvParser> parser = *std::move(made);
  auto format = std::make_shared<RecordFormat>();
  format->op = "csv";
  std::vector<std::string> names = options.header_names;
  auto meaning = CsvSplitter::Names::kTheHeader;
  if (names.empty() && fields >= 0) {
    // Columns may be renamed, but fields are found by place.
    for (const CsvColumn& c : options.columns) names.push_back(c.name);
    meaning = CsvSplitter::Names::kNotReordered;
  }
  format->splitter = std::make_shared<CsvSplitter>(
      options.format, options.header, std::move(names), meaning);
  format->compression = options.compression;
  format->max_record_bytes = options.max_record_bytes;
  format->with_offsets = true;
  format->fs = &fs;
  format->identity = csv_identity(options);
  RecordParts parts;
  parts.spec = parser->spec();
  parts.arguments =
      absl::StrCat("(files, ", parser->columns().size(), " columns)");
  parts.transform = make_parse_records(
      parts.spec.structure(),
      [parser](std::span<const std::string_view> records,
               std::span<const std::int64_t> skip, Block::Columns& out,
               std::vector<std::pair<std::int64_t, Status>>& failed) {
        std::vector<Tensor> parsed;
        PS_RETURN_IF_ERROR(parser->parse(records, skip, parsed, failed));
        for (Tensor& column : parsed) out.emplace_back(std::move(column));
        return absl::OkStatus();
      });
  return make_record_files(std::move(format), std::move(parts),
                           options.max_parallel);
}

StatusOr<std::vector<CsvColumn>> infer_columns(FileSystem& fs,
                                               const std::string& path,
                                               const CsvOptions& options) {
  const auto stream = ByteStream::open(fs, path, options.compression);
  if (!stream.ok()) return annotate(stream.status(), "csv: ");
  std::string bytes;
  SplitInput in;
  in.max_rows = 101;
  in.max_payload = std::numeric_limits<std::int64_t>::max();
  in.max_record_bytes = options.max_record_bytes;
  SplitOutput cut;
  const std::size_t enough = options.header ? 2 : 1;
  for (std::size_t more = kInferenceBytes;; more = bytes.size()) {
    const std::size_t held = bytes.size();
    bytes.resize(held + more);
    const auto read = (*stream)->read(bytes.data() + held, more);
    bytes.resize(held + read.value_or(0));
    Status failed = read.status();
    if (read.ok() && *read < more) {
      // The end, or a damaged stream: only another read tells.
      char probe = 0;
      const auto rest = (*stream)->read(&probe, 1);
      failed = rest.status();
      in.at_end = rest.ok() && *rest == 0;
      if (rest.value_or(0) == 1) bytes.push_back(probe);
    }
    in.bytes = bytes;
    cut = {};
    CsvSplitter(options.format, false).split(in, cut);
    if (cut.rows.size() >= enough || in.at_end || cut.passing.active) break;
    if (static_cast<std::int64_t>(held / 2) > options.max_record_bytes) break;
    if (!failed.ok()) {
      return annotate(failed, absl::StrCat("csv: ", quoted_name(path), ": "));
    }
  }
  const std::string packed = text_compression_hint(bytes, in.at_end);
  if (!packed.empty()) {
    return invalid_argument("csv: ", quoted_name(path), ": it is no text",
                            packed);
  }
  if (cut.rows.empty()) {
    return invalid_argument(
        "csv: columns must be given where the first file "
        "has no record to tell them by, got ",
        quoted_name(path));
  }
  std::vector<std::vector<std::string>> values;
  std::vector<std::string> names;
  for (std::size_t r = 0; r < cut.rows.size(); ++r) {
    std::vector<std::string_view> fields;
    std::string scratch;
    const Status status =
        split_fields(in.bytes.substr(cut.rows[r].begin, cut.rows[r].size),
                     options.format, fields, scratch);
    if (!status.ok() || (r > 0 && fields.size() != names.size())) continue;
    if (r == 0) {
      const std::string_view line =
          in.bytes.substr(cut.rows[r].begin, cut.rows[r].size);
      if (options.header && line.find('\r') != std::string_view::npos &&
          line.find('"') == std::string_view::npos) {
        // Of a file without line feeds all records would pass for the header.
        return invalid_argument("csv: ", quoted_name(path),
                                ": the header has a carriage return, and no "
                                "quotes; lines must end with a line feed");
      }
      values.resize(fields.size());
      for (std::size_t i = 0; i < fields.size(); ++i) {
        names.push_back(options.header ? std::string(fields[i])
                                       : absl::StrCat("column_", i));
      }
      if (options.header) continue;
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i] != options.format.na_value) {
        values[i].emplace_back(fields[i]);
      }
    }
  }
  std::vector<CsvColumn> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    CsvColumn column;
    column.name = names[i];
    column.dtype = infer_dtype(values[i]);
    // As tf.data.experimental.make_csv_dataset: 0 or "" for what is missing.
    if (column.dtype == DType::kInt64) {
      column.default_value = Tensor::scalar(std::int64_t{0});
    } else if (column.dtype == DType::kFloat32) {
      column.default_value = Tensor::scalar(0.0f);
    } else if (column.dtype == DType::kFloat64) {
      column.default_value = Tensor::scalar(0.0);
    } else {
      column.default_value = Tensor::string("");
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace penstock::ops
