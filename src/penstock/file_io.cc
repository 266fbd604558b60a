#include "penstock/file_io.h"

#include "absl/strings/str_format.h"
#include "penstock/io/read_file.h"
#include "penstock/ops/image_folder/image_folder.h"
#include "penstock/ops/tfrecord/writer.h"

namespace penstock::io {
namespace {

// Records that are framed, and compressed, together.
constexpr std::int64_t kGroupRecords = 256;

void throw_if(const Status& status) {
  if (!status.ok()) throw Error(status);
}

ops::RecordWriterOptions writer_options(const std::string& op,
                                        const std::string& compression,
                                        int level, bool index) {
  const auto known = compression_from_name(compression);
  if (!known || *known == Compression::kAuto) {
    throw Error(invalid_argument(
        op, ": compression must be '', GZIP, ZLIB or ZSTD, got '", compression,
        "'"));
  }
  return {*known, level, index};
}

/// A batch of strings as framed bytes, one string for each shard, and the
/// sizes of the records.
Element frame_batch(const Tensor& batch, std::int64_t shards,
                    const ops::RecordWriterOptions& options) {
  const std::int64_t n = batch.num_elements();
  std::vector<std::string> framed;
  std::vector<std::int64_t> sizes;
  for (std::int64_t s = 0; s < shards; ++s) {
    std::vector<std::string_view> payloads;
    for (std::int64_t i = s; i < n; i += shards)
      payloads.push_back(batch.str(i));
    framed.push_back(
        detail::value_or_throw(ops::frame_records(payloads, options)));
  }
  for (std::int64_t i = 0; i < n; ++i) {
    sizes.push_back(static_cast<std::int64_t>(batch.str(i).size()));
  }
  const std::vector<std::string_view> views(framed.begin(), framed.end());
  return Element::tuple(
      {Element(detail::value_or_throw(Tensor::strings(views, Shape{shards}))),
       Element(Tensor::from(sizes))});
}

}  // namespace

StatusOr<Tensor> read_file(std::string_view path) {
  return read_whole_file(path);
}

std::vector<std::string> class_names(const std::string& root) {
  return detail::value_or_throw(ops::image_classes(FileSystem::local(), root));
}

namespace {

StatusOr<std::vector<FeatureColumn>> parse_all(
    const ExampleParser& parser, std::span<const std::string_view> records) {
  std::vector<FeatureColumn> columns;
  std::vector<std::pair<std::int64_t, Status>> failed;
  PS_RETURN_IF_ERROR(parser.parse(records, {}, columns, failed));
  if (failed.empty()) return columns;
  if (records.size() == 1) return failed[0].second;
  return annotate(failed[0].second,
                  absl::StrCat("record ", failed[0].first, ": "));
}

}  // namespace

StatusOr<Element> parse_single_example(std::string_view serialized,
                                       std::vector<Feature> features) {
  PS_ASSIGN_OR_RETURN(const auto parser,
                      ExampleParser::make(std::move(features)));
  PS_ASSIGN_OR_RETURN(const auto columns, parse_all(*parser, {&serialized, 1}));
  return parser->row(columns, 0);
}

StatusOr<Element> parse_example(const Tensor& serialized,
                                std::vector<Feature> features) {
  if (serialized.dtype() != DType::kString || serialized.rank() != 1) {
    return invalid_argument(
        "parse_example: serialized must be a batch of strings, got ",
        Spec::of(serialized).to_string());
  }
  PS_ASSIGN_OR_RETURN(const auto parser,
                      ExampleParser::make(std::move(features)));
  PS_ASSIGN_OR_RETURN(auto columns, parse_all(*parser, serialized.strs()));
  return parser->batch(std::move(columns));
}

StatusOr<Element> parse_single_sequence_example(
    std::string_view serialized, std::vector<Feature> context_features,
    std::vector<Feature> sequence_features) {
  PS_ASSIGN_OR_RETURN(const auto parser, SequenceExampleParser::make(
                                             std::move(context_features),
                                             std::move(sequence_features)));
  return parser->parse(serialized);
}

TFRecordWriter::TFRecordWriter(const std::string& path,
                               TFRecordWriterOptions options)
    : writer_(detail::value_or_throw(ops::RecordWriter::create(
          FileSystem::local(), path,
          writer_options("TFRecordWriter", options.compression,
                         options.compression_level, options.index)))) {}
TFRecordWriter::TFRecordWriter(TFRecordWriter&&) noexcept = default;
TFRecordWriter& TFRecordWriter::operator=(TFRecordWriter&&) noexcept = default;
TFRecordWriter::~TFRecordWriter() = default;

void TFRecordWriter::write(std::string_view record) {
  if (!writer_) {
    throw Error(absl::FailedPreconditionError(
        "TFRecordWriter: write() behind close()"));
  }
  throw_if(writer_->write(record));
}

void TFRecordWriter::close() {
  if (!writer_) return;
  const std::unique_ptr<ops::RecordWriter> writer = std::move(writer_);
  throw_if(writer->finish());
}

std::vector<std::string> write_tfrecord(const Dataset& dataset,
                                        const std::string& path,
                                        std::int64_t shards,
                                        WriteTFRecordOptions options) {
  if (shards < 1 || shards > 99'999) {
    throw Error(invalid_argument(
        "write_tfrecord: shards must be 1 to 99999, got ", shards));
  }
  const Spec wanted = Spec::tensor(DType::kString, PartialShape(Shape{}));
  if (dataset.element_spec().known() &&
      !Spec::unify(dataset.element_spec(), wanted).ok()) {
    throw Error(
        invalid_argument("write_tfrecord: elements must be strings, got ",
                         dataset.element_spec().to_string()));
  }
  const ops::RecordWriterOptions own =
      writer_options("write_tfrecord", options.compression,
                     options.compression_level, options.index);
  std::vector<std::string> names;
  std::vector<std::unique_ptr<ops::RecordWriter>> writers;
  for (std::int64_t s = 0; s < shards; ++s) {
    names.push_back(shards == 1
                        ? path
                        : absl::StrFormat("%s-%05d-of-%05d", path, s, shards));
    writers.push_back(detail::value_or_throw(
        ops::RecordWriter::create(FileSystem::local(), names.back(), own)));
  }
  // A stream of zlib cannot be put together from pieces: the writers compress.
  const bool joined = ops::joinable(own.compression);
  ops::RecordWriterOptions framing = own;
  if (!joined) framing.compression = Compression::kNone;
  const std::int64_t group = (kGroupRecords + shards - 1) / shards * shards;
  const Dataset framed = dataset.batch(group).map(
      [shards, framing, joined](const Tensor& batch) -> StatusOr<Element> {
        if (batch.dtype() != DType::kString || batch.rank() != 1) {
          return invalid_argument(
              "write_tfrecord: elements must be strings, got ",
              Spec::of(batch).to_string());
        }
        if (!joined) return Element(batch);
        return frame_batch(batch, shards, framing);
      });
  WriteProgress progress;
  Iterator it = framed.iterator();
  std::vector<std::uint32_t> sizes;
  while (const std::optional<Element> element = it.next()) {
    const Tensor& bytes = (*element)[0];
    const std::int64_t n =
        joined ? (*element)[1].num_elements() : bytes.num_elements();
    for (std::int64_t s = 0; s < shards; ++s) {
      ops::RecordWriter& writer = *writers[static_cast<std::size_t>(s)];
      if (!joined) {
        for (std::int64_t i = s; i < n; i += shards) {
          throw_if(writer.write(bytes.str(i)));
        }
        continue;
      }
      const auto all = (*element)[1].as<std::int64_t>();
      sizes.clear();
      for (std::int64_t i = s; i < n; i += shards) {
        sizes.push_back(
            static_cast<std::uint32_t>(all[static_cast<std::size_t>(i)]));
      }
      throw_if(writer.write_framed(bytes.str(s), sizes));
    }
    progress.records += n;
    progress.bytes = 0;
    for (const auto& writer : writers) progress.bytes += writer->bytes();
    if (options.progress) options.progress(progress);
  }
  // A part of the shards would pass for all of them.
  for (const auto& writer : writers) throw_if(writer->seal());
  for (const auto& writer : writers) throw_if(writer->publish());
  return names;
}

}  // namespace penstock::io
