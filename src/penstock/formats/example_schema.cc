#include "penstock/formats/example_schema.h"

#include <algorithm>
#include <string_view>

namespace penstock {
namespace wire {
namespace {

using Kind = Feature::Kind;

Status check_feature(const Feature& feature) {
  const auto fail = [&](const auto&... why) {
    return invalid_argument("feature '", feature.name, "' ", why...);
  };
  if (feature.name.empty()) {
    return invalid_argument("a feature must have a name, got ''");
  }
  if (feature.dtype != DType::kFloat32 && feature.dtype != DType::kInt64 &&
      feature.dtype != DType::kString) {
    return fail("must be float32, int64 or string, got ",
                to_absl(dtype_name(feature.dtype)));
  }
  const auto count = feature.shape.checked_num_elements();
  if (!count || *count > (std::int64_t{1} << 40)) {
    return fail("must have a known shape, got ", feature.shape.to_string());
  }
  if (*count == 0 && feature.kind == Kind::kFixedLenSequence) {
    return fail("must have values in each step, got shape ",
                feature.shape.to_string());
  }
  if (!feature.partitions.empty() && feature.kind != Kind::kRagged) {
    return fail("must be ragged to have partitions");
  }
  for (const Feature::Partition& partition : feature.partitions) {
    const bool uniform =
        partition.kind == Feature::Partition::Kind::kUniformRowLength;
    if (uniform && partition.length < 1) {
      return fail("must have rows of a length >= 1, got ", partition.length);
    }
    if (!uniform && partition.key.empty()) {
      return fail("must have the key of each partition, got ''");
    }
  }
  const Tensor& value = feature.default_value;
  if (value.defined() &&
      (value.dtype() != feature.dtype ||
       (value.rank() != 0 && !(value.shape() == feature.shape &&
                               feature.kind == Kind::kFixedLen)))) {
    return fail(
        "must have a default_value that is a scalar or of its shape "
        "and dtype, got ",
        Spec::of(value).to_string());
  }
  return absl::OkStatus();
}

}  // namespace

Status check_features(const std::vector<Feature>& features) {
  std::vector<std::string_view> names;
  for (const Feature& feature : features) {
    PS_RETURN_IF_ERROR(check_feature(feature));
    names.push_back(feature.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return absl::OkStatus();
  return invalid_argument("feature '", to_absl(*twice), "' is given twice");
}

std::vector<Feature> with_partitions(const std::vector<Feature>& features) {
  std::vector<Feature> read = features;
  for (const Feature& feature : features) {
    for (const Feature::Partition& partition : feature.partitions) {
      if (partition.key.empty()) continue;
      read.push_back(var_len_feature(partition.key, DType::kInt64));
    }
  }
  return read;
}

PartialShape partial(std::initializer_list<std::int64_t> first,
                     const Shape& rest) {
  Shape all(first);
  for (const std::int64_t d : rest.dims()) all.push_back(d);
  return PartialShape(all);
}

namespace {

/// [None, trailing uniform lengths...]
PartialShape ragged_values(const Feature& feature) {
  Shape rest;
  for (auto i = static_cast<std::size_t>(feature.ragged_rank());
       i < feature.partitions.size(); ++i) {
    rest.push_back(feature.partitions[i].length);
  }
  return partial({kUnknownDim}, rest);
}

}  // namespace

Spec ragged_spec(const Feature& feature, int rank, std::int64_t outer) {
  if (rank == 0) return Spec::tensor(feature.dtype, ragged_values(feature));
  std::vector<LeafSpec> leaves{{feature.dtype, ragged_values(feature)}};
  for (int i = 0; i < rank; ++i) {
    leaves.push_back(
        {DType::kInt64, PartialShape{i == 0 ? outer : kUnknownDim}});
  }
  return Spec(Structure::ragged(rank), std::move(leaves));
}

}  // namespace wire

int Feature::ragged_rank() const {
  std::size_t n = partitions.size();
  while (n > 0 &&
         partitions[n - 1].kind == Partition::Kind::kUniformRowLength) {
    --n;
  }
  return static_cast<int>(n);
}

Spec ExampleParser::spec() const {
  std::vector<std::pair<std::string, Spec>> items;
  for (const Feature& f : features_) {
    PartialShape shape = f.shape;
    if (f.kind == Feature::Kind::kFixedLenSequence) {
      shape = wire::partial({-1}, f.shape);
    }
    if (f.kind == Feature::Kind::kVarLen || f.kind == Feature::Kind::kRagged) {
      items.emplace_back(f.name,
                         wire::ragged_spec(f, f.ragged_rank(), kUnknownDim));
      continue;
    }
    items.emplace_back(f.name, Spec::tensor(f.dtype, shape));
  }
  return Spec::dict(items);
}

Spec ExampleParser::batch_spec(std::int64_t n) const {
  std::vector<std::pair<std::string, Spec>> items;
  for (const Feature& f : features_) {
    switch (f.kind) {
      case Feature::Kind::kFixedLen:
        items.emplace_back(f.name,
                           Spec::tensor(f.dtype, wire::partial({n}, f.shape)));
        break;
      case Feature::Kind::kFixedLenSequence:
        items.emplace_back(
            f.name, Spec::tensor(f.dtype, wire::partial({n, -1}, f.shape)));
        break;
      default:
        items.emplace_back(f.name,
                           wire::ragged_spec(f, f.ragged_rank() + 1,
                                             n < 0 ? kUnknownDim : n + 1));
    }
  }
  return Spec::dict(items);
}

}  // namespace penstock
