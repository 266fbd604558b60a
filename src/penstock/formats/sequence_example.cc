#include "penstock/formats/example.h"
#include "penstock/formats/example_schema.h"
#include "penstock/formats/example_wire.h"

namespace penstock {
namespace {

using namespace wire;  // NOLINT(google-build-using-namespace)
using protozero::pbf_reader;
using protozero::pbf_wire_type;
using Kind = Feature::Kind;

}  // namespace

StatusOr<std::shared_ptr<const SequenceExampleParser>>
SequenceExampleParser::make(std::vector<Feature> context,
                            std::vector<Feature> sequences) {
  std::shared_ptr<SequenceExampleParser> parser(new SequenceExampleParser);
  if (context.empty() && sequences.empty()) {
    return invalid_argument("features must be given, got none");
  }
  for (const auto* features : {&context, &sequences}) {
    for (const Feature& feature : *features) {
      if (feature.partitions.empty()) continue;
      return invalid_argument("feature '", feature.name,
                              "': partitions are read from Examples, not from "
                              "SequenceExamples");
    }
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
  if (!sequences.empty()) {
    PS_ASSIGN_OR_RETURN(parser->sequences_,
                        ExampleParser::make(std::move(sequences)));
  }
  return parser;
}

Spec SequenceExampleParser::spec() const {
  std::vector<std::pair<std::string, Spec>> items;
  if (sequences_) {
    for (const Feature& f : sequences_->features()) {
      if (f.kind == Kind::kFixedLenSequence) {
        items.emplace_back(f.name,
                           Spec::tensor(f.dtype, partial({-1}, f.shape)));
      } else {
        items.emplace_back(
            f.name, Spec(Structure::ragged(1),
                         {LeafSpec{f.dtype, PartialShape{kUnknownDim}},
                          LeafSpec{DType::kInt64, PartialShape{kUnknownDim}}}));
      }
    }
  }
  return Spec::tuple(
      {context_ ? context_->spec() : Spec::dict({}), Spec::dict(items)});
}

StatusOr<Element> SequenceExampleParser::parse(std::string_view record) const {
  Element context = Element::dict({});
  if (context_) {
    // A SequenceExample begins as an Example: field 1 holds the context.
    std::vector<FeatureColumn> columns;
    std::vector<std::pair<std::int64_t, Status>> failed;
    PS_RETURN_IF_ERROR(context_->parse({&record, 1}, {}, columns, failed));
    if (!failed.empty()) return annotate(failed[0].second, "context: ");
    context = context_->row(columns, 0);
  }
  std::vector<std::pair<std::string, Element>> items;
  if (!sequences_) {
    return Element::tuple({std::move(context), Element::dict({})});
  }
  const auto& features = sequences_->features();
  const ExampleParser::Lookup lookup(features);
  std::vector<std::optional<std::string_view>> found(features.size());
  try {
    std::vector<std::size_t> guess;
    std::size_t place = 0;
    pbf_reader example(pbf(record));
    while (example.next()) {
      if (example.tag() == 2 &&
          example.wire_type() == pbf_wire_type::length_delimited) {
        collect_entries(view_of(example.get_view()), lookup, found, guess,
                        place);
      } else {
        example.skip();
      }
    }
    for (std::size_t f = 0; f < features.size(); ++f) {
      const Feature& feature = features[f];
      if (!found[f] && !feature.allow_missing) return missing(feature);
      const List list = list_of(feature.dtype);
      const auto count =
          static_cast<std::size_t>(feature.shape.num_elements());
      const bool fixed = feature.kind == Kind::kFixedLenSequence;
      Values values;
      std::vector<std::int64_t> splits{0};
      if (found[f]) {
        pbf_reader steps(pbf(*found[f]));
        while (steps.next()) {
          if (steps.tag() != 1 ||
              steps.wire_type() != pbf_wire_type::length_delimited) {
            steps.skip();
            continue;
          }
          const auto [kind, bytes] = find_list(view_of(steps.get_view()));
          const std::size_t before = values.size(list);
          if (kind != kNone && kind != list) return wrong_list(feature, kind);
          if (kind == list) append_list(list, bytes, values);
          const std::size_t got = values.size(list) - before;
          if (fixed && got != count) {
            return invalid_argument("feature '", feature.name, "' step ",
                                    splits.size() - 1, " must have ", count,
                                    " values, the record has ", got);
          }
          splits.push_back(static_cast<std::int64_t>(values.size(list)));
        }
      }
      const auto steps = static_cast<std::int64_t>(splits.size()) - 1;
      const Shape shape = fixed ? feature.shape.prepended(steps)
                                : Shape{splits.back()};
      PS_ASSIGN_OR_RETURN(Tensor tensor, to_tensor(list, values, shape));
      if (fixed) {
        items.emplace_back(feature.name, std::move(tensor));
      } else {
        items.emplace_back(feature.name,
                           Element::ragged(std::move(tensor),
                                           {Tensor::from(splits)}));
      }
    }
  } catch (const protozero::exception& e) {
    return absl::DataLossError(
        absl::StrCat("not a tf.train.SequenceExample: ", e.what()));
  }
  return Element::tuple({std::move(context), Element::dict(std::move(items))});
}

}  // namespace penstock
