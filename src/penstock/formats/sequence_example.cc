// SequenceExample: its context is read as an Example, its lists step by step.
#include "penstock/formats/example.h"
#include "penstock/formats/example_columns.h"
#include "penstock/formats/example_schema.h"
#include "penstock/formats/example_wire.h"
#include "penstock/formats/message_reader_private.h"

namespace penstock {
namespace {

using namespace wire;  // NOLINT(google-build-using-namespace)
using protozero::pbf_wire_type;
using Kind = Feature::Kind;
using Found = std::optional<std::string_view>;

/// The bytes of each wanted FeatureList.
std::vector<Found> find_lists(std::string_view record,
                              const ExampleParser::Lookup& lookup,
                              std::size_t features) {
  std::vector<Found> found(features);
  std::vector<std::size_t> guess;
  std::size_t place = 0;
  MessageReader example(record);
  while (example.next()) {
    if (example.tag() == 2 &&
        example.wire_type() == pbf_wire_type::length_delimited) {
      collect_entries(example.get_bytes_view(), lookup, found, guess, place);
    } else {
      example.skip();
    }
  }
  return found;
}

/// The values of all steps of a FeatureList, and where each step ends.
StatusOr<FeatureColumn> read_steps(const Feature& feature, const Found& bytes) {
  if (!bytes && !feature.allow_missing) return missing(feature);
  const List list = list_of(feature.dtype);
  const auto count = static_cast<std::size_t>(feature.shape.num_elements());
  const bool fixed = feature.kind == Kind::kFixedLenSequence;
  Values values;
  FeatureColumn out;
  out.splits.push_back(0);
  const std::string_view given = bytes.value_or(std::string_view());
  MessageReader steps(given);
  while (steps.next()) {
    if (steps.tag() != 1 ||
        steps.wire_type() != pbf_wire_type::length_delimited) {
      steps.skip();
      continue;
    }
    const auto [kind, packed] = find_list(steps.get_bytes_view());
    const std::size_t before = values.size(list);
    if (kind != kNone && kind != list) return wrong_list(feature, kind);
    if (kind == list) append_list(list, packed, values);
    const std::size_t got = values.size(list) - before;
    if (fixed && got != count) {
      return invalid_argument("feature '", feature.name, "' step ",
                              out.splits.size() - 1, " must have ", count,
                              " values, the record has ", got);
    }
    out.splits.push_back(static_cast<std::int64_t>(values.size(list)));
  }
  const auto n = static_cast<std::int64_t>(out.splits.size()) - 1;
  const Shape shape =
      fixed ? feature.shape.prepended(n) : Shape{out.splits.back()};
  PS_ASSIGN_OR_RETURN(out.values, to_tensor(list, values, shape));
  return out;
}

/// Partitions have the steps of the values that they cut.
Status check_steps(const std::vector<Feature>& features,
                   const std::vector<FeatureColumn>& columns) {
  std::size_t next = features.size();
  for (std::size_t f = 0; f < features.size(); ++f) {
    for (const Feature::Partition& partition : features[f].partitions) {
      if (partition.key.empty()) continue;
      const std::size_t given = columns[next++].splits.size() - 1;
      const std::size_t steps = columns[f].splits.size() - 1;
      if (given != steps) {
        return invalid_argument("feature '", features[f].name, "': partition '",
                                partition.key, "' has ", given,
                                " steps, the values have ", steps);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::shared_ptr<const SequenceExampleParser>>
SequenceExampleParser::make(std::vector<Feature> context,
                            std::vector<Feature> sequences) {
  std::shared_ptr<SequenceExampleParser> parser(new SequenceExampleParser);
  if (context.empty() && sequences.empty()) {
    return invalid_argument("features must be given, got none");
  }
  for (const Feature& feature : sequences) {
    if (feature.kind == Kind::kFixedLen) {
      return invalid_argument("feature '", feature.name,
                              "' of a sequence must be FixedLenSequence, "
                              "VarLen or Ragged, got FixedLen");
    }
  }
  if (!context.empty()) {
    PS_ASSIGN_OR_RETURN(parser->context_,
                        ExampleParser::make(std::move(context)));
  }
  PS_RETURN_IF_ERROR(check_features(sequences));
  parser->sequences_ = std::move(sequences);
  parser->read_ = with_partitions(parser->sequences_);
  parser->lookup_ = std::make_shared<ExampleParser::Lookup>(parser->read_);
  return parser;
}

Spec SequenceExampleParser::spec() const {
  std::vector<std::pair<std::string, Spec>> items;
  for (const Feature& f : sequences_) {
    if (f.kind == Kind::kFixedLenSequence) {
      items.emplace_back(f.name, Spec::tensor(f.dtype, partial({-1}, f.shape)));
    } else {
      items.emplace_back(f.name,
                         ragged_spec(f, f.ragged_rank() + 1, kUnknownDim));
    }
  }
  return Spec::tuple(
      {context_ ? context_->spec() : Spec::dict({}), Spec::dict(items)});
}

StatusOr<Element> SequenceExampleParser::parse(std::string_view record) const {
  Element context = Element::dict({});
  std::vector<std::pair<std::int64_t, Status>> failed;
  if (context_) {
    // A SequenceExample begins as an Example: field 1 holds the context.
    std::vector<FeatureColumn> columns;
    PS_RETURN_IF_ERROR(context_->parse({&record, 1}, {}, columns, failed));
    if (!failed.empty()) return annotate(failed[0].second, "context: ");
    context = context_->row(columns, 0);
  }
  std::vector<FeatureColumn> columns;
  if (!sequences_.empty()) {
    try {
      const std::vector<Found> found =
          find_lists(record, *lookup_, read_.size());
      for (std::size_t f = 0; f < read_.size(); ++f) {
        PS_ASSIGN_OR_RETURN(FeatureColumn column,
                            read_steps(read_[f], found[f]));
        columns.push_back(std::move(column));
      }
    } catch (const protozero::exception& e) {
      return absl::DataLossError(
          absl::StrCat("not a tf.train.SequenceExample: ", e.what()));
    }
    PS_RETURN_IF_ERROR(check_steps(sequences_, columns));
    PS_RETURN_IF_ERROR(cut_features(sequences_, columns, failed));
    if (!failed.empty()) {
      return annotate(failed[0].second,
                      absl::StrCat("step ", failed[0].first, ": "));
    }
  }
  std::vector<std::pair<std::string, Element>> items;
  for (std::size_t f = 0; f < sequences_.size(); ++f) {
    const Feature& feature = sequences_[f];
    if (feature.kind == Kind::kFixedLenSequence) {
      items.emplace_back(feature.name, std::move(columns[f].values));
      continue;
    }
    PS_ASSIGN_OR_RETURN(Element ragged, ragged_of(std::move(columns[f])));
    items.emplace_back(feature.name, std::move(ragged));
  }
  return Element::tuple({std::move(context), Element::dict(std::move(items))});
}

}  // namespace penstock
