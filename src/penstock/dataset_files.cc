// The methods of Dataset that read files.
#include "penstock/dataset.h"
#include "penstock/io/glob.h"
#include "penstock/ops/list_files/list_files.h"
#include "penstock/ops/map/map.h"
#include "penstock/ops/tfrecord/tfrecord.h"

namespace penstock {
namespace {

using OpOr = StatusOr<std::shared_ptr<const Operator>>;

Dataset build(OpOr op, std::vector<NodeRef> inputs, std::string name) {
  if (!op.ok()) throw Error(op.status());
  return Dataset(detail::value_or_throw(
      Node::make(*std::move(op), std::move(inputs), std::move(name))));
}

std::vector<std::string> expand(std::string_view op, const FileNames& files) {
  if (files.names().empty()) {
    throw Error(invalid_argument(to_absl(op), ": files must be given, got none"));
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
        to_absl(op), ": compression must be '', GZIP, ZLIB, ZSTD or auto, got '",
        name, "'"));
  }
  return *known;
}

Dataset names_dataset(std::vector<std::string> names) {
  return build(OpOr(ops::make_file_names(std::move(names))), {}, "");
}

ops::TFRecordOptions lower_options(const TFRecordOptions& options) {
  ops::TFRecordOptions own;
  own.compression = compression_of("tfrecord", options.compression);
  own.verify = options.verify;
  own.index = options.index;
  own.max_record_bytes = options.max_record_bytes;
  own.max_parallel = detail::value_or_throw(
      ops::parallel_cap("tfrecord", options.num_parallel_reads));
  return own;
}

}  // namespace

Dataset Dataset::list_files(const FileNames& patterns,
                            ListFilesOptions options) {
  Dataset names = build(ops::make_list_files(patterns.names()), {},
                        std::move(options.name));
  if (!options.shuffle) return names;
  return names.shuffle({.buffer_size = kGlobal, .seed = options.seed});
}

Dataset Dataset::tfrecord(const FileNames& files, TFRecordOptions options) {
  const ops::TFRecordOptions own = lower_options(options);
  std::vector<std::string> names = expand("tfrecord", files);
  auto indexed = detail::value_or_throw(ops::make_indexed_tfrecord(names, own));
  if (indexed) return build(OpOr(std::move(indexed)), {}, std::move(options.name));
  return build(ops::make_tfrecord(own), {names_dataset(std::move(names)).node()},
               std::move(options.name));
}

Dataset Dataset::tfrecord(const Dataset& files, TFRecordOptions options) {
  return build(ops::make_tfrecord(lower_options(options)), {files.node()},
               std::move(options.name));
}

}  // namespace penstock
