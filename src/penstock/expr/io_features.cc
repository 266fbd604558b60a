#include "penstock/expr/io_features.h"

#include <array>

#include "absl/strings/numbers.h"

namespace penstock::expr {
namespace {

constexpr std::array<std::pair<std::string_view, Feature::Kind>, 4> kKinds = {{
    {"fixed_len", Feature::Kind::kFixedLen},
    {"var_len", Feature::Kind::kVarLen},
    {"fixed_len_sequence", Feature::Kind::kFixedLenSequence},
    {"ragged", Feature::Kind::kRagged},
}};

using Partition = Feature::Partition;
constexpr std::array<std::pair<std::string_view, Partition::Kind>, 6>
    kPartitions = {{
        {"row_splits", Partition::Kind::kRowSplits},
        {"row_lengths", Partition::Kind::kRowLengths},
        {"value_rowids", Partition::Kind::kValueRowIds},
        {"row_starts", Partition::Kind::kRowStarts},
        {"row_limits", Partition::Kind::kRowLimits},
        {"uniform_row_length", Partition::Kind::kUniformRowLength},
    }};

/// "row_splits=key", "uniform_row_length=3".
StatusOr<Partition> partition_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string kind = text.substr(0, equals);
  for (const auto& [name, known] : kPartitions) {
    if (kind != name || equals == std::string::npos) continue;
    Partition partition{known, text.substr(equals + 1)};
    if (known == Partition::Kind::kUniformRowLength) {
      if (!absl::SimpleAtoi(partition.key, &partition.length)) break;
      partition.key.clear();
    }
    return partition;
  }
  return invalid_argument("there is no partition ", text);
}

}  // namespace

DType dtype_from_name(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != DType::kInvalid && dtype_name(dtype) == name) return dtype;
  }
  return DType::kInvalid;
}

StatusOr<std::vector<Feature>> features_of(const Attributes& attributes,
                                           const std::string& prefix) {
  PS_ASSIGN_OR_RETURN(const auto names, attributes.texts(prefix + "names"));
  PS_ASSIGN_OR_RETURN(const auto keys, attributes.texts(prefix + "keys"));
  PS_ASSIGN_OR_RETURN(const auto kinds, attributes.texts(prefix + "kinds"));
  PS_ASSIGN_OR_RETURN(const auto dtypes, attributes.texts(prefix + "dtypes"));
  if (keys.size() != names.size() || kinds.size() != names.size() ||
      dtypes.size() != names.size()) {
    return invalid_argument("features must have a name, key, kind and dtype");
  }
  std::vector<Feature> features;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Feature feature;
    feature.name = names[i];
    feature.key = keys[i] == names[i] ? "" : keys[i];
    feature.dtype = dtype_from_name(dtypes[i]);
    bool known = false;
    for (const auto& [name, kind] : kKinds) {
      if (kinds[i] == name) {
        feature.kind = kind;
        known = true;
      }
    }
    if (!known) {
      return invalid_argument("feature '", names[i], "': there is no kind ",
                              kinds[i]);
    }
    const auto named = [&](const char* part) {
      return absl::StrCat(prefix, part, ".", i);
    };
    PS_ASSIGN_OR_RETURN(const auto dims, attributes.integers(named("shape")));
    for (const std::int64_t d : dims) {
      if (d < 0) {
        return invalid_argument("feature '", names[i],
                                "': shape must be known, got ", d);
      }
    }
    feature.shape = Shape(std::span<const std::int64_t>(dims));
    PS_ASSIGN_OR_RETURN(feature.allow_missing,
                        attributes.boolean(named("allow_missing"), true));
    if (const Attribute* value = attributes.find(named("default"))) {
      const Tensor* tensor = std::get_if<Tensor>(value);
      if (tensor != nullptr) feature.default_value = *tensor;
    }
    PS_ASSIGN_OR_RETURN(const auto partitions,
                        attributes.texts(named("partitions")));
    for (const std::string& text : partitions) {
      PS_ASSIGN_OR_RETURN(Partition partition, partition_of(text));
      feature.partitions.push_back(std::move(partition));
    }
    features.push_back(std::move(feature));
  }
  return features;
}

}  // namespace penstock::expr
