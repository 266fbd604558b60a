// parse_example: serialized Examples become dicts of tensors.
//
// A transform, one to one. Single records are parsed a whole block at a time,
// straight into columns, so they cost what batches of records cost. A record
// that cannot be parsed is an error in its place; a batch with one is an error.
#include "penstock/ops/parse_example/parse_example.h"

#include "penstock/ops/each_row.h"
#include "penstock/ops/on_error/on_error.h"
#include "penstock/ops/strings_of.h"

namespace penstock::ops {
namespace {

std::string features_identity(const std::vector<Feature>& features) {
  std::string text;
  for (const Feature& f : features) {
    absl::StrAppend(&text, f.name, "\n", f.key, "\n", static_cast<int>(f.kind),
                    to_absl(dtype_name(f.dtype)), f.shape.to_string(),
                    f.allow_missing);
    if (f.default_value.defined()) {
      absl::StrAppend(&text, f.default_value.to_string(1 << 20));
    }
    for (const Feature::Partition& p : f.partitions) {
      absl::StrAppend(&text, "\n", static_cast<int>(p.kind), p.key, ",",
                      p.length);
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string names_of(const std::vector<Feature>& features) {
  std::string text;
  for (const Feature& f : features) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", f.name);
  }
  return text;
}

Block error_block(const Block& in, const ErrorRef& error) {
  Block out(nullptr, {}, in.size(), in.origins());
  out.errors() = in.errors();
  Block::Errors all;
  for (std::int64_t i = 0; i < in.size(); ++i) {
    const ErrorRef own = in.error_ref(i);
    all.emplace_back(i, own ? own : error);
  }
  out.errors() = std::move(all);
  return out;
}

/// Errors of `block` and of `failed`, by row.
Block::Errors merged(const Block& block,
                     const std::vector<std::pair<std::int64_t, Status>>& failed,
                     const CallContext& context) {
  Block::Errors out = block.errors();
  for (const auto& [row, status] : failed) {
    out.emplace_back(row, context.error(status, block.origins().at(row)));
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

class ParseExample final : public TransformOp, public FailsOnElements {
 public:
  explicit ParseExample(std::shared_ptr<const ExampleParser> parser)
      : parser_(std::move(parser)), spec_(parser_->spec()) {}

  std::string_view op() const override { return "parse_example"; }
  std::string describe() const override {
    return absl::StrCat("parse_example(", names_of(parser_->features()), ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    const Spec& in = inputs[0];
    if (!in.known()) return Spec();
    if (in.structure()->is_leaf() &&
        (in.leaves()[0].dtype == DType::kString ||
         in.leaves()[0].dtype == DType::kInvalid)) {
      const PartialShape& shape = in.leaves()[0].shape;
      if (!shape.has_rank()) return Spec();
      if (shape.rank() == 0) return spec_;
      if (shape.rank() == 1) return parser_->batch_spec(shape[0]);
    }
    return invalid_argument(
        "elements must be strings or batches of strings, got ", in.to_string());
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0];
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(features_identity(parser_->features()));
  }
  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    if (block.structure() == Structure::leaf() && !block.mixed()) {
      for (std::int64_t i = 0; i < block.size(); ++i) {
        if (block.error_at(i) != nullptr) continue;
        const Column& column = block.column(0);
        const std::size_t rank =
            column.packed() ? column.tensor().rank() - 1 : column.row(i).rank();
        if (rank == 1) return apply_batches(block, context);
        break;
      }
    }
    return apply_singles(block, context);
  }

 private:
  Status apply_singles(Block& block, CallContext& context) const {
    auto records = strings_of(block);
    if (!records.ok()) {
      block = error_block(
          block, context.error(records.status(), block.origins().at(0)));
      return absl::OkStatus();
    }
    std::vector<FeatureColumn> parsed;
    std::vector<std::pair<std::int64_t, Status>> failed;
    PS_RETURN_IF_ERROR(
        parser_->parse(*records, error_rows(block), parsed, failed));
    PS_ASSIGN_OR_RETURN(Block::Columns columns,
                        parser_->block_columns(std::move(parsed)));
    Block::Errors errors = merged(block, failed, context);
    block = Block(spec_.structure(), std::move(columns), block.size(),
                  block.origins());
    block.errors() = std::move(errors);
    return absl::OkStatus();
  }

  Status apply_batches(Block& block, CallContext& context) const {
    return replace_each_row(block, context, [&](std::int64_t row) {
      return parse_batch(block.element(row)[0]);
    });
  }

  StatusOr<Element> parse_batch(const Tensor& batch) const {
    if (batch.dtype() != DType::kString || batch.rank() != 1) {
      return invalid_argument("elements must be batches of strings, got ",
                              Spec::of(batch).to_string());
    }
    const std::vector<std::string_view> records = batch.strs();
    std::vector<FeatureColumn> parsed;
    std::vector<std::pair<std::int64_t, Status>> failed;
    PS_RETURN_IF_ERROR(parser_->parse(records, {}, parsed, failed));
    if (!failed.empty()) {
      return annotate(failed[0].second, absl::StrCat("record ", failed[0].first,
                                                     " of the batch: "));
    }
    return parser_->batch(std::move(parsed));
  }

  const std::shared_ptr<const ExampleParser> parser_;
  const Spec spec_;
};

class ParseSequenceExample final : public TransformOp, public FailsOnElements {
 public:
  ParseSequenceExample(std::shared_ptr<const SequenceExampleParser> parser,
                       std::string names, std::string identity)
      : parser_(std::move(parser)),
        names_(std::move(names)),
        identity_(std::move(identity)) {}

  std::string_view op() const override { return "parse_sequence_example"; }
  std::string describe() const override {
    return absl::StrCat("parse_sequence_example(", names_, ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    PS_RETURN_IF_ERROR(check_strings_spec(inputs[0]));
    return parser_->spec();
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0];
  }
  void add_to(Fingerprint& fp) const override { fp.add(identity_); }
  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    auto records = strings_of(block);
    if (!records.ok()) {
      block = error_block(
          block, context.error(records.status(), block.origins().at(0)));
      return absl::OkStatus();
    }
    return replace_each_row(block, context, [&](std::int64_t row) {
      return parser_->parse((*records)[static_cast<std::size_t>(row)]);
    });
  }

 private:
  const std::shared_ptr<const SequenceExampleParser> parser_;
  const std::string names_;
  const std::string identity_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_parse_example(
    std::vector<Feature> features) {
  auto parser = ExampleParser::make(std::move(features));
  if (!parser.ok()) return annotate(parser.status(), "parse_example: ");
  return std::make_shared<ParseExample>(*std::move(parser));
}

StatusOr<std::shared_ptr<const Operator>> make_parse_sequence_example(
    std::vector<Feature> context, std::vector<Feature> sequences) {
  std::string names =
      absl::StrCat(names_of(context), "; ", names_of(sequences));
  std::string identity = absl::StrCat(features_identity(context), ";",
                                      features_identity(sequences));
  auto parser =
      SequenceExampleParser::make(std::move(context), std::move(sequences));
  if (!parser.ok()) {
    return annotate(parser.status(), "parse_sequence_example: ");
  }
  return std::make_shared<ParseSequenceExample>(
      *std::move(parser), std::move(names), std::move(identity));
}

}  // namespace penstock::ops
