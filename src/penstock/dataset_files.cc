// The methods of Dataset that read files.
#include "penstock/build_dataset.h"
#include "penstock/dataset.h"
#include "penstock/io/glob.h"
#include "penstock/ops/csv/csv.h"
#include "penstock/ops/fixed_length_records/fixed_length_records.h"
#include "penstock/ops/image_folder/image_folder.h"
#include "penstock/ops/jsonl/jsonl.h"
#include "penstock/ops/list_files/list_files.h"
#include "penstock/ops/map/map.h"
#include "penstock/ops/npy/npy.h"
#include "penstock/ops/parse_example/parse_example.h"
#include "penstock/ops/tar/tar.h"
#include "penstock/ops/text_lines/text_lines.h"
#include "penstock/ops/tfrecord/tfrecord.h"

namespace penstock {
namespace {

using detail::build_dataset;
using detail::OpOr;

std::vector<std::string> expand(std::string_view op, const FileNames& files) {
  if (files.names().empty()) {
    throw Error(
        invalid_argument(to_absl(op), ": files must be given, got none"));
  }
  auto names = expand_names(FileSystem::local(), files.names());
  if (!names.ok()) {
    throw Error(annotate(names.status(), absl::StrCat(to_absl(op), ": ")));
  }
  return *std::move(names);
}

Compression compression_of(std::string_view op, const std::string& name) {
  const auto known = compression_from_name(name);
  if (!known) {
    throw Error(invalid_argument(
        to_absl(op),
        ": compression must be '', GZIP, ZLIB, ZSTD or auto, got '", name,
        "'"));
  }
  return *known;
}

/// Names of files below a stage that stands for both: they are no stage of the
/// user's, so that the other is number 0.
Dataset for_a_source(OpOr names) {
  auto node =
      std::make_shared<Node>(*build_dataset(std::move(names), {}, "").node());
  node->index = -1;
  return Dataset(std::move(node));
}

Dataset names_dataset(std::vector<std::string> names) {
  return for_a_source(ops::make_file_names(std::move(names)));
}

int reads_cap(std::string_view op, std::int64_t num_parallel_reads) {
  return detail::value_or_throw(
      ops::parallel_cap(op, num_parallel_reads, "num_parallel_reads"));
}

ops::TFRecordOptions lower_options(const TFRecordOptions& options) {
  ops::TFRecordOptions own;
  own.compression = compression_of("tfrecord", options.compression);
  own.verify = options.verify;
  own.index = options.index;
  own.max_record_bytes = options.max_record_bytes;
  own.max_parallel = reads_cap("tfrecord", options.num_parallel_reads);
  return own;
}

}  // namespace

Dataset Dataset::list_files(const FileNames& patterns,
                            ListFilesOptions options) {
  OpOr names = ops::make_list_files(patterns.names());
  if (!options.shuffle || !names.ok()) {
    return build_dataset(std::move(names), {}, std::move(options.name));
  }
  OpOr shuffled = ops::make_shuffled_files(**names, options.seed);
  return build_dataset(std::move(shuffled),
                       {for_a_source(std::move(names)).node()},
                       std::move(options.name));
}

Dataset Dataset::tfrecord(const FileNames& files, TFRecordOptions options) {
  const ops::TFRecordOptions own = lower_options(options);
  std::vector<std::string> names = expand("tfrecord", files);
  auto indexed = detail::value_or_throw(ops::make_indexed_tfrecord(names, own));
  if (indexed.op) {
    return build_dataset(OpOr(std::move(indexed.op)), {},
                         std::move(options.name));
  }
  return build_dataset(ops::make_tfrecord(own, std::move(indexed.in_order)),
                       {names_dataset(std::move(names)).node()},
                       std::move(options.name));
}

Dataset Dataset::tfrecord(const Dataset& files, TFRecordOptions options) {
  return build_dataset(ops::make_tfrecord(lower_options(options),
                                          "its files come from a dataset"),
                       {files.node()}, std::move(options.name));
}

namespace {

OpOr lower_text_lines(const TextLinesOptions& options) {
  ops::TextLinesOptions own;
  own.compression = compression_of("text_lines", options.compression);
  own.skip_lines = options.skip_lines;
  own.max_record_bytes = options.max_record_bytes;
  own.max_parallel = reads_cap("text_lines", options.num_parallel_reads);
  return ops::make_text_lines(own);
}

ops::FixedLengthOptions lower_options(std::int64_t record_bytes,
                                      const FixedLengthOptions& options) {
  ops::FixedLengthOptions own;
  own.record_bytes = record_bytes;
  own.header_bytes = options.header_bytes;
  own.footer_bytes = options.footer_bytes;
  own.compression = compression_of("fixed_length_records", options.compression);
  own.max_parallel =
      reads_cap("fixed_length_records", options.num_parallel_reads);
  return own;
}

ops::CsvOptions lower_options(const CsvOptions& options) {
  ops::CsvOptions own;
  own.columns = options.columns;
  own.select_columns = options.select_columns;
  own.header = options.header;
  own.format = {options.delimiter, options.use_quote_delim, options.na_value};
  own.compression = compression_of("csv", options.compression);
  own.max_record_bytes = options.max_record_bytes;
  own.max_parallel = reads_cap("csv", options.num_parallel_reads);
  return own;
}

OpOr lower_jsonl(std::vector<JsonField> fields, const JsonlOptions& options) {
  ops::JsonlOptions own;
  own.fields = std::move(fields);
  own.compression = compression_of("jsonl", options.compression);
  own.max_record_bytes = options.max_record_bytes;
  own.max_parallel = reads_cap("jsonl", options.num_parallel_reads);
  return ops::make_jsonl(own);
}

OpOr lower_tar(const TarOptions& options) {
  ops::TarOptions own;
  own.fields = options.fields;
  own.compression = compression_of("tar", options.compression);
  own.max_record_bytes = options.max_record_bytes;
  own.max_parallel = reads_cap("tar", options.num_parallel_reads);
  return ops::make_tar(own);
}

}  // namespace

Dataset Dataset::text_lines(const FileNames& files, TextLinesOptions options) {
  return text_lines(names_dataset(expand("text_lines", files)),
                    std::move(options));
}

Dataset Dataset::text_lines(const Dataset& files, TextLinesOptions options) {
  return build_dataset(lower_text_lines(options), {files.node()},
                       std::move(options.name));
}

Dataset Dataset::fixed_length_records(const FileNames& files,
                                      std::int64_t record_bytes,
                                      FixedLengthOptions options) {
  const ops::FixedLengthOptions own = lower_options(record_bytes, options);
  std::vector<std::string> names = expand("fixed_length_records", files);
  if (options.index == UseIndex::kAlways &&
      own.compression != Compression::kNone) {
    throw Error(invalid_argument(
        "fixed_length_records: index needs plain files, got compression ",
        options.compression));
  }
  if (own.compression == Compression::kNone &&
      options.index != UseIndex::kNever) {
    return build_dataset(ops::make_indexed_fixed_length_records(names, own), {},
                         std::move(options.name));
  }
  return fixed_length_records(names_dataset(std::move(names)), record_bytes,
                              std::move(options));
}

Dataset Dataset::fixed_length_records(const Dataset& files,
                                      std::int64_t record_bytes,
                                      FixedLengthOptions options) {
  return build_dataset(
      ops::make_fixed_length_records(lower_options(record_bytes, options)),
      {files.node()}, std::move(options.name));
}

Dataset Dataset::csv(const FileNames& files, CsvOptions options) {
  ops::CsvOptions own = lower_options(options);
  std::vector<std::string> names = expand("csv", files);
  if (own.columns.empty()) {
    own.columns = detail::value_or_throw(
        ops::infer_columns(FileSystem::local(), names[0], own));
    // Columns are found by place: other files must have the same ones there.
    for (const CsvColumn& c : own.columns) {
      if (own.header) own.header_names.push_back(c.name);
    }
  }
  return build_dataset(ops::make_csv(own),
                       {names_dataset(std::move(names)).node()},
                       std::move(options.name));
}

Dataset Dataset::csv(const Dataset& files, CsvOptions options) {
  return build_dataset(ops::make_csv(lower_options(options)), {files.node()},
                       std::move(options.name));
}

Dataset Dataset::jsonl(const FileNames& files, std::vector<JsonField> fields,
                       JsonlOptions options) {
  return jsonl(names_dataset(expand("jsonl", files)), std::move(fields),
               std::move(options));
}

Dataset Dataset::jsonl(const Dataset& files, std::vector<JsonField> fields,
                       JsonlOptions options) {
  return build_dataset(lower_jsonl(std::move(fields), options), {files.node()},
                       std::move(options.name));
}

Dataset Dataset::tar(const FileNames& files, TarOptions options) {
  return tar(names_dataset(expand("tar", files)), std::move(options));
}

Dataset Dataset::tar(const Dataset& files, TarOptions options) {
  return build_dataset(lower_tar(options), {files.node()},
                       std::move(options.name));
}

Dataset Dataset::image_folder(const std::string& root,
                              ImageFolderOptions options) {
  return build_dataset(ops::make_image_folder(root, options.extensions), {},
                       std::move(options.name));
}

Dataset Dataset::npy(const FileNames& files, std::string name) {
  return build_dataset(ops::make_npy(expand("npy", files)), {},
                       std::move(name));
}

Dataset Dataset::parse_example(std::vector<Feature> features,
                               std::string name) const {
  return build_dataset(ops::make_parse_example(std::move(features)), {node_},
                       std::move(name));
}

Dataset Dataset::parse_sequence_example(std::vector<Feature> context_features,
                                        std::vector<Feature> sequence_features,
                                        std::string name) const {
  return build_dataset(
      ops::make_parse_sequence_example(std::move(context_features),
                                       std::move(sequence_features)),
      {node_}, std::move(name));
}

}  // namespace penstock
