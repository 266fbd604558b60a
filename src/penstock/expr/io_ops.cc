// Files and records by name: "io.read_file", "io.parse_single_example", ...
//
// Single records are parsed a whole block at a time, straight into columns, so
// they cost what batches of records cost. Only read_file waits.
#include "penstock/expr/image_specs.h"
#include "penstock/expr/io_features.h"
#include "penstock/formats/csv.h"
#include "penstock/formats/tensor_bytes.h"
#include "penstock/io/read_file.h"

namespace penstock::expr {
namespace {

using Prepared = StatusOr<std::shared_ptr<const void>>;
using Errors = std::vector<std::pair<std::int64_t, Status>>;

Status check_string(SpecArgs args, const char* name, std::size_t rank) {
  if (args.size() != 1) {
    return invalid_argument("takes 1 argument, got ", args.size());
  }
  const bool fits = args[0].dtype == DType::kString &&
                    (!args[0].shape.has_rank() || args[0].shape.rank() == rank);
  if (fits) return absl::OkStatus();
  return invalid_argument(name, " must be ",
                          rank == 0 ? "a string" : "a batch of strings",
                          ", got ", args[0].to_string());
}

/// The records of a block: one for each row.
std::vector<std::string_view> records_of(const BlockCall& call) {
  if (call.batched[0]) return call.args[0].strs();
  return std::vector<std::string_view>(static_cast<std::size_t>(call.rows),
                                       call.args[0].str());
}

std::vector<std::int64_t> skipped(const BlockCall& call) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < call.skip.size(); ++i) {
    if (call.skip[i]) rows.push_back(static_cast<std::int64_t>(i));
  }
  return rows;
}

// --- files ------------------------------------------------------------------

LeafSpecs one_string(SpecArgs args, const Attributes&) {
  PS_RETURN_IF_ERROR(check_string(args, "filename", 0));
  return std::vector<LeafSpec>{{DType::kString, PartialShape(Shape{})}};
}

StatusOr<Tensor> read_file(const RowCall& call) {
  return read_whole_file(call.args[0].str());
}

// --- Example ----------------------------------------------------------------

StatusOr<std::shared_ptr<const ExampleParser>> parser_of(
    const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto features, features_of(attributes, ""));
  return ExampleParser::make(std::move(features));
}

Prepared prepare_example(const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto parser, parser_of(attributes));
  return std::shared_ptr<const void>(std::move(parser));
}

LeafSpecs single_example(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_string(args, "serialized", 0));
  PS_ASSIGN_OR_RETURN(const auto parser, parser_of(attributes));
  return parser->spec().leaves();
}

LeafSpecs batch_of_examples(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_string(args, "serialized", 1));
  PS_ASSIGN_OR_RETURN(const auto parser, parser_of(attributes));
  const std::int64_t n =
      args[0].shape.has_rank() ? args[0].shape[0] : kUnknownDim;
  return parser->batch_spec(n).leaves();
}

Status parse_singles(const BlockCall& call, std::vector<Column>& out) {
  const auto& parser = *static_cast<const ExampleParser*>(call.prepared);
  std::vector<FeatureColumn> parsed;
  PS_RETURN_IF_ERROR(
      parser.parse(records_of(call), skipped(call), parsed, *call.errors));
  PS_ASSIGN_OR_RETURN(Block::Columns columns,
                      parser.block_columns(std::move(parsed)));
  for (Column& column : columns) out.push_back(std::move(column));
  return absl::OkStatus();
}

Status parse_batch(const RowCall& call, std::vector<Tensor>& out) {
  const auto& parser = *static_cast<const ExampleParser*>(call.prepared);
  std::vector<FeatureColumn> parsed;
  Errors failed;
  PS_RETURN_IF_ERROR(parser.parse(call.args[0].strs(), {}, parsed, failed));
  if (!failed.empty()) {
    return annotate(failed[0].second, absl::StrCat("record ", failed[0].first,
                                                   " of the batch: "));
  }
  PS_ASSIGN_OR_RETURN(const Element batch, parser.batch(std::move(parsed)));
  out.assign(batch.leaves().begin(), batch.leaves().end());
  return absl::OkStatus();
}

// --- SequenceExample --------------------------------------------------------

StatusOr<std::shared_ptr<const SequenceExampleParser>> sequence_parser_of(
    const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto context, features_of(attributes, "context."));
  PS_ASSIGN_OR_RETURN(auto sequences, features_of(attributes, "sequence."));
  return SequenceExampleParser::make(std::move(context), std::move(sequences));
}

Prepared prepare_sequence(const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto parser, sequence_parser_of(attributes));
  return std::shared_ptr<const void>(std::move(parser));
}

LeafSpecs sequence_example(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_string(args, "serialized", 0));
  PS_ASSIGN_OR_RETURN(const auto parser, sequence_parser_of(attributes));
  return parser->spec().leaves();
}

Status parse_sequence(const RowCall& call, std::vector<Tensor>& out) {
  const auto& parser =
      *static_cast<const SequenceExampleParser*>(call.prepared);
  PS_ASSIGN_OR_RETURN(const Element element, parser.parse(call.args[0].str()));
  out.assign(element.leaves().begin(), element.leaves().end());
  return absl::OkStatus();
}

LeafSpecs serialized(SpecArgs args, const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(const auto names, attributes.texts("names"));
  if (names.size() != args.size()) {
    return invalid_argument("features must have a name each");
  }
  return std::vector<LeafSpec>{{DType::kString, PartialShape(Shape{})}};
}

StatusOr<Tensor> serialize(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto names, call.attributes.texts("names"));
  std::vector<std::pair<std::string, Element>> items;
  for (std::size_t i = 0; i < names.size(); ++i) {
    items.emplace_back(names[i], Element(call.args[i]));
  }
  PS_ASSIGN_OR_RETURN(const std::string bytes,
                      serialize_example(Element::dict(std::move(items))));
  return Tensor::string(bytes);
}

// --- tensors as bytes -------------------------------------------------------

LeafSpecs raw_values(SpecArgs args, const Attributes& attributes) {
  if (args.size() != 1 || args[0].dtype != DType::kString) {
    return invalid_argument("bytes must be strings, got ",
                            args.empty() ? "nothing" : args[0].to_string());
  }
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      attributes.dtype("dtype", DType::kUInt8));
  if (!dtype_is_dense(dtype)) {
    return invalid_argument("out_type must be a number's, got ",
                            to_absl(dtype_name(dtype)));
  }
  PS_ASSIGN_OR_RETURN(const auto length, attributes.integer("fixed_length", 0));
  const auto width = static_cast<std::int64_t>(dtype_size(dtype));
  if (length < 0 || length % width != 0) {
    return invalid_argument("fixed_length must be a multiple of ", width,
                            ", got ", length);
  }
  if (!args[0].shape.has_rank()) {
    return std::vector<LeafSpec>{{dtype, PartialShape()}};
  }
  Shape dims;
  for (std::size_t i = 0; i < args[0].shape.rank(); ++i) {
    dims.push_back(args[0].shape[i]);
  }
  dims.push_back(length > 0 ? length / width : kUnknownDim);
  return std::vector<LeafSpec>{{dtype, PartialShape(dims)}};
}

StatusOr<Tensor> decode_raw_values(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      call.attributes.dtype("dtype", DType::kUInt8));
  PS_ASSIGN_OR_RETURN(const bool little,
                      call.attributes.boolean("little_endian", true));
  PS_ASSIGN_OR_RETURN(const auto length,
                      call.attributes.integer("fixed_length", 0));
  std::optional<std::int64_t> fixed;
  if (length > 0) fixed = length;
  const Tensor& in = call.args[0];
  if (in.rank() == 0) return decode_raw(in.str(), dtype, little, fixed);
  std::vector<Tensor> parts;
  for (const std::string_view bytes : in.strs()) {
    PS_ASSIGN_OR_RETURN(Tensor part, decode_raw(bytes, dtype, little, fixed));
    if (!parts.empty() && part.shape() != parts[0].shape()) {
      return invalid_argument("bytes must have one length, got ",
                              parts[0].num_elements(), " and ",
                              part.num_elements(), " values");
    }
    parts.push_back(std::move(part));
  }
  Shape shape = in.shape();
  const std::int64_t count = parts.empty() ? 0 : parts[0].num_elements();
  shape.push_back(count);
  PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(dtype, shape));
  std::byte* to = out.mutable_data();
  const auto bytes = static_cast<std::size_t>(count) * dtype_size(dtype);
  for (const Tensor& part : parts) {
    if (bytes > 0) std::memcpy(to, part.data(), bytes);
    to += bytes;
  }
  return out;
}

LeafSpecs parsed_tensor(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_string(args, "serialized", 0));
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      attributes.dtype("dtype", DType::kInvalid));
  PS_ASSIGN_OR_RETURN(const bool strings, attributes.boolean("string", false));
  return std::vector<LeafSpec>{
      {strings ? DType::kString : dtype, PartialShape()}};
}

StatusOr<Tensor> parse(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      call.attributes.dtype("dtype", DType::kInvalid));
  PS_ASSIGN_OR_RETURN(const bool strings,
                      call.attributes.boolean("string", false));
  return parse_tensor(call.args[0].str(), strings ? DType::kString : dtype);
}

LeafSpecs any_to_string(SpecArgs args, const Attributes&) {
  if (args.size() != 1) return invalid_argument("takes 1 argument");
  return std::vector<LeafSpec>{{DType::kString, PartialShape(Shape{})}};
}

StatusOr<Tensor> to_proto(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const std::string bytes, serialize_tensor(call.args[0]));
  return Tensor::string(bytes);
}

// --- CSV --------------------------------------------------------------------

StatusOr<std::shared_ptr<const CsvParser>> csv_of(
    const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(const auto dtypes, attributes.texts("dtypes"));
  PS_ASSIGN_OR_RETURN(const auto select, attributes.integers("select_cols"));
  CsvFormat format;
  PS_ASSIGN_OR_RETURN(const std::string delimiter,
                      attributes.text("field_delim", ","));
  if (delimiter.size() != 1) {
    return invalid_argument("field_delim must be one character, got '",
                            delimiter, "'");
  }
  format.delimiter = delimiter[0];
  PS_ASSIGN_OR_RETURN(format.quotes,
                      attributes.boolean("use_quote_delim", true));
  PS_ASSIGN_OR_RETURN(format.na_value, attributes.text("na_value", ""));
  if (!select.empty() && select.size() != dtypes.size()) {
    return invalid_argument("select_cols must name as many columns as ",
                            "record_defaults, got ", select.size(), " and ",
                            dtypes.size());
  }
  std::vector<CsvColumn> columns;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    CsvColumn column;
    column.name = absl::StrCat(i);
    column.dtype = dtype_from_name(dtypes[i]);
    if (!select.empty()) column.index = select[i];
    if (const Attribute* value = attributes.find(absl::StrCat("default.", i))) {
      if (const Tensor* t = std::get_if<Tensor>(value)) {
        column.default_value = *t;
      }
    }
    columns.push_back(std::move(column));
  }
  // How many fields there are is only known when all are taken.
  const auto fields = select.empty() ? static_cast<std::int64_t>(dtypes.size())
                                     : std::int64_t{-1};
  return CsvParser::make(std::move(columns), fields, format);
}

Prepared prepare_csv(const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(auto parser, csv_of(attributes));
  return std::shared_ptr<const void>(std::move(parser));
}

LeafSpecs csv_fields(SpecArgs args, const Attributes& attributes,
                     std::size_t rank) {
  PS_RETURN_IF_ERROR(check_string(args, "records", rank));
  PS_ASSIGN_OR_RETURN(const auto parser, csv_of(attributes));
  std::vector<LeafSpec> specs;
  for (const CsvColumn& column : parser->columns()) {
    specs.push_back({column.dtype, args[0].shape});
  }
  return specs;
}

Status decode_csv_rows(const BlockCall& call, std::vector<Tensor>& out) {
  return static_cast<const CsvParser*>(call.prepared)
      ->parse(records_of(call), skipped(call), out, *call.errors);
}

Status decode_csv_batch(const RowCall& call, std::vector<Tensor>& out) {
  Errors failed;
  PS_RETURN_IF_ERROR(static_cast<const CsvParser*>(call.prepared)
                         ->parse(call.args[0].strs(), {}, out, failed));
  if (failed.empty()) return absl::OkStatus();
  return annotate(failed[0].second,
                  absl::StrCat("record ", failed[0].first, " of the batch: "));
}

}  // namespace

void add_io_ops(std::vector<NativeOp>& out) {
  NativeOp read = row_op("io.read_file", one_string, read_file);
  read.blocking = true;
  out.push_back(std::move(read));
  out.push_back({.name = "io.parse_single_example",
                 .infer = single_example,
                 .prepare = prepare_example,
                 .columns = parse_singles});
  out.push_back({.name = "io.parse_example",
                 .infer = batch_of_examples,
                 .prepare = prepare_example,
                 .row = parse_batch});
  out.push_back({.name = "io.parse_single_sequence_example",
                 .infer = sequence_example,
                 .prepare = prepare_sequence,
                 .row = parse_sequence});
  out.push_back(row_op("io.serialize_example", serialized, serialize));
  out.push_back(row_op("io.decode_raw", raw_values, decode_raw_values));
  out.push_back(row_op("io.parse_tensor", parsed_tensor, parse));
  out.push_back(row_op("io.serialize_tensor", any_to_string, to_proto));
  out.push_back({.name = "io.decode_csv",
                 .infer =
                     [](SpecArgs args, const Attributes& attributes) {
                       return csv_fields(args, attributes, 0);
                     },
                 .prepare = prepare_csv,
                 .block = decode_csv_rows});
  out.push_back({.name = "io.decode_csv_batch",
                 .infer =
                     [](SpecArgs args, const Attributes& attributes) {
                       return csv_fields(args, attributes, 1);
                     },
                 .prepare = prepare_csv,
                 .row = decode_csv_batch});
}

}  // namespace penstock::expr
