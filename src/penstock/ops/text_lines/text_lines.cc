// text_lines: the lines of text files, as strings.
//
// One file after the other, opened ahead in parallel (ops/files). State: the
// offset and number of the next line.
#include "penstock/ops/text_lines/text_lines.h"

#include "penstock/formats/lines.h"
#include "penstock/ops/files/record_file.h"

namespace penstock::ops {

StatusOr<std::shared_ptr<const Operator>> make_text_lines(
    const TextLinesOptions& options, FileSystem& fs) {
  if (options.skip_lines < 0) {
    return invalid_argument("text_lines: skip_lines must be >= 0, got ",
                            options.skip_lines);
  }
  auto format = std::make_shared<RecordFormat>();
  format->op = "text_lines";
  format->splitter = std::make_shared<LineSplitter>(options.skip_lines);
  format->compression = options.compression;
  format->max_record_bytes = options.max_record_bytes;
  format->fs = &fs;
  format->identity =
      absl::StrCat(to_absl(compression_name(options.compression)), ",",
                   options.skip_lines, ",", options.max_record_bytes);
  return make_record_files(std::move(format), {}, options.max_parallel);
}

}  // namespace penstock::ops
