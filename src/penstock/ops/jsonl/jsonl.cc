// jsonl: JSON objects, one per line, as dicts of tensors.
//
// Cutting into lines is in order, one file after the other (ops/files); parsing
// is a transform, in parallel, a block at a time. A line that is not one whole
// object, or lacks what is asked for, is an error in its place.
#include "penstock/ops/jsonl/jsonl.h"

#include "penstock/formats/lines.h"
#include "penstock/ops/files/parse_records.h"
#include "penstock/ops/files/record_file.h"

namespace penstock::ops {

StatusOr<std::shared_ptr<const Operator>> make_jsonl(
    const JsonlOptions& options, FileSystem& fs) {
  auto made = JsonParser::make(options.fields);
  if (!made.ok()) return annotate(made.status(), "jsonl: ");
  const std::shared_ptr<const JsonParser> parser = *std::move(made);
  auto format = std::make_shared<RecordFormat>();
  format->op = "jsonl";
  format->splitter = std::make_shared<LineSplitter>(0, /*skip_blank=*/true);
  format->compression = options.compression;
  format->max_record_bytes = options.max_record_bytes;
  format->with_offsets = true;
  format->fs = &fs;
  for (const JsonField& f : options.fields) {
    absl::StrAppend(
        &format->identity, f.name, "\n", f.key, "\n",
        to_absl(dtype_name(f.dtype)), f.list,
        f.default_value.defined() ? f.default_value.to_string() : "", "\n");
  }
  absl::StrAppend(&format->identity,
                  to_absl(compression_name(options.compression)), ",",
                  options.max_record_bytes);
  RecordParts parts;
  parts.spec = parser->spec();
  parts.arguments =
      absl::StrCat("(files, ", parser->fields().size(), " fields)");
  parts.transform = make_parse_records(
      parts.spec.structure(),
      [parser](std::span<const std::string_view> records,
               std::span<const std::int64_t> skip, Block::Columns& out,
               std::vector<std::pair<std::int64_t, Status>>& failed) {
        std::vector<JsonParser::Values> parsed;
        PS_RETURN_IF_ERROR(parser->parse(records, skip, parsed, failed));
        for (JsonParser::Values& v : parsed) {
          out.push_back(v.splits.empty() ? Column(std::move(v.values))
                                         : split_column(v.values, v.splits));
        }
        return absl::OkStatus();
      });
  return make_record_files(std::move(format), std::move(parts),
                           options.max_parallel);
}

}  // namespace penstock::ops
