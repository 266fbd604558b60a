// What is made of the columns of parsed records: rows, batches, columns of
// blocks, and the rows of ragged features.
#include "penstock/formats/example_columns.h"

#include <algorithm>

#include "penstock/formats/example_wire.h"
#include "penstock/formats/row_partition.h"
#include "penstock/memory/ragged.h"

namespace penstock {
namespace {

using Kind = Feature::Kind;
using wire::List;
using wire::Values;

StatusOr<Tensor> splits_of(std::span<const std::int64_t> lengths) {
  PS_ASSIGN_OR_RETURN(
      Tensor splits, Tensor::allocate<std::int64_t>(
                         Shape{static_cast<std::int64_t>(lengths.size()) + 1}));
  auto to = splits.mutable_as<std::int64_t>();
  to[0] = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    to[i + 1] = to[i] + lengths[i];
  }
  return splits;
}

/// Rows [records[i], records[i + 1]) of a level.
std::span<const std::int64_t> lengths_of(const FeatureColumn::Level& level,
                                         std::size_t i) {
  return std::span(level.lengths)
      .subspan(
          static_cast<std::size_t>(level.records[i]),
          static_cast<std::size_t>(level.records[i + 1] - level.records[i]));
}

/// Cuts the values of a feature by its partitions, which were read into the
/// columns from `first` on.
Status cut(const Feature& feature, std::size_t first,
           const std::vector<FeatureColumn>& columns, FeatureColumn& values,
           std::vector<std::pair<std::int64_t, Status>>& failed) {
  const std::size_t n = values.splits.size() - 1;
  std::vector<FeatureColumn::Level> levels(feature.partitions.size());
  for (auto& level : levels) level.records.push_back(0);
  // The columns of the partitions, in the order they were added.
  std::vector<const FeatureColumn*> given(levels.size(), nullptr);
  for (std::size_t l = 0; l < levels.size(); ++l) {
    if (!feature.partitions[l].key.empty()) given[l] = &columns[first++];
  }
  std::vector<std::vector<std::int64_t>> own(levels.size());
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t count = values.splits[i + 1] - values.splits[i];
    Status status;
    for (std::size_t l = levels.size(); l-- > 0 && status.ok();) {
      std::span<const std::int64_t> integers;
      if (given[l] != nullptr) {
        const auto begin = static_cast<std::size_t>(given[l]->splits[i]);
        const auto end = static_cast<std::size_t>(given[l]->splits[i + 1]);
        integers =
            given[l]->values.as<std::int64_t>().subspan(begin, end - begin);
      }
      own[l].clear();
      status = row_lengths(feature.partitions[l], integers, count, own[l]);
      count = static_cast<std::int64_t>(own[l].size());
    }
    if (!status.ok()) {
      failed.emplace_back(
          static_cast<std::int64_t>(i),
          annotate(status, absl::StrCat("feature '", feature.name, "': ")));
      for (auto& lengths : own) lengths.clear();
    }
    for (std::size_t l = 0; l < levels.size(); ++l) {
      levels[l].lengths.insert(levels[l].lengths.end(), own[l].begin(),
                               own[l].end());
      levels[l].records.push_back(
          static_cast<std::int64_t>(levels[l].lengths.size()));
    }
  }
  // Uniform rows at the end are dimensions.
  const auto rank = static_cast<std::size_t>(feature.ragged_rank());
  Shape shape{0};
  std::int64_t each = 1;
  for (std::size_t l = rank; l < levels.size(); ++l) {
    shape.push_back(feature.partitions[l].length);
    each *= feature.partitions[l].length;
  }
  if (each > 1) {
    // A failed record may hold what is no multiple: leave it out.
    std::vector<Tensor> parts;
    std::vector<std::int64_t> splits{0};
    bool whole = true;
    for (std::size_t i = 0; i < n; ++i) {
      std::int64_t begin = values.splits[i];
      std::int64_t end = values.splits[i + 1];
      if ((end - begin) % each != 0) {
        whole = false;
        end = begin;
      }
      parts.push_back(values.values.rows(begin, end));
      splits.push_back(splits.back() + (end - begin) / each);
    }
    if (!whole) {
      PS_ASSIGN_OR_RETURN(values.values, concat_rows(parts));
    }
    values.splits = std::move(splits);
  }
  shape[0] = values.splits.back();
  values.values = values.values.reshaped(shape);
  levels.resize(rank);
  values.levels = std::move(levels);
  return absl::OkStatus();
}

}  // namespace

namespace wire {

Status cut_features(const std::vector<Feature>& features,
                    std::vector<FeatureColumn>& columns,
                    std::vector<std::pair<std::int64_t, Status>>& failed) {
  std::size_t first = features.size();
  for (std::size_t f = 0; f < features.size(); ++f) {
    const Feature& feature = features[f];
    if (feature.partitions.empty()) continue;
    PS_RETURN_IF_ERROR(cut(feature, first, columns, columns[f], failed));
    for (const Feature::Partition& p : feature.partitions) {
      if (!p.key.empty()) ++first;
    }
  }
  columns.resize(features.size());
  return absl::OkStatus();
}

StatusOr<Element> ragged_of(FeatureColumn column) {
  std::vector<Tensor> splits{Tensor::from(
      column.levels.empty() ? column.splits : column.levels[0].records)};
  for (const FeatureColumn::Level& level : column.levels) {
    PS_ASSIGN_OR_RETURN(Tensor inner, splits_of(level.lengths));
    splits.push_back(std::move(inner));
  }
  return Element::ragged(std::move(column.values), std::move(splits));
}

}  // namespace wire

Element ExampleParser::row(const std::vector<FeatureColumn>& columns,
                           std::int64_t row) const {
  std::vector<std::pair<std::string, Element>> items;
  const auto at = static_cast<std::size_t>(row);
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const FeatureColumn& c = columns[f];
    Tensor values = c.splits.empty()
                        ? c.values.row(row)
                        : c.values.rows(c.splits[at], c.splits[at + 1]);
    if (c.levels.empty()) {
      items.emplace_back(features_[f].name, std::move(values));
      continue;
    }
    std::vector<Tensor> splits;
    for (const FeatureColumn::Level& level : c.levels) {
      splits.push_back(splits_of(lengths_of(level, at)).value());
    }
    items.emplace_back(features_[f].name,
                       Element::ragged(std::move(values), std::move(splits)));
  }
  return Element::dict(std::move(items));
}

StatusOr<Element> ExampleParser::batch(
    std::vector<FeatureColumn> columns) const {
  std::vector<std::pair<std::string, Element>> items;
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const Feature& feature = features_[f];
    FeatureColumn& c = columns[f];
    if (feature.kind == Kind::kFixedLen) {
      items.emplace_back(feature.name, std::move(c.values));
      continue;
    }
    if (feature.kind != Kind::kFixedLenSequence) {
      PS_ASSIGN_OR_RETURN(Element ragged, wire::ragged_of(std::move(c)));
      items.emplace_back(feature.name, std::move(ragged));
      continue;
    }
    // Padded to the longest.
    const std::size_t n = c.splits.size() - 1;
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      longest = std::max(longest, c.splits[i + 1] - c.splits[i]);
    }
    const std::int64_t count = feature.shape.num_elements();
    Values values;
    const List list = wire::list_of(feature.dtype);
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t begin = c.splits[i] * count;
      const std::int64_t end = c.splits[i + 1] * count;
      for (std::int64_t k = begin; k < end; ++k) {
        const auto at = static_cast<std::size_t>(k);
        if (list == wire::kFloat) {
          values.floats.push_back(c.values.as<float>()[at]);
        }
        if (list == wire::kInt64) {
          values.ints.push_back(c.values.as<std::int64_t>()[at]);
        }
        if (list == wire::kBytes) values.strings.push_back(c.values.str(k));
      }
      wire::append_default(
          feature, list,
          static_cast<std::size_t>(longest * count - (end - begin)), values);
    }
    Shape shape{static_cast<std::int64_t>(n), longest};
    for (const std::int64_t d : feature.shape.dims()) shape.push_back(d);
    PS_ASSIGN_OR_RETURN(Tensor padded, wire::to_tensor(list, values, shape));
    items.emplace_back(feature.name, std::move(padded));
  }
  return Element::dict(std::move(items));
}

StatusOr<Block::Columns> ExampleParser::block_columns(
    std::vector<FeatureColumn> columns) const {
  Block::Columns out;
  for (FeatureColumn& from : columns) {
    if (from.splits.empty()) {
      out.emplace_back(std::move(from.values));
      continue;
    }
    std::vector<Tensor> rows;
    rows.reserve(from.splits.size());
    for (std::size_t i = 0; i + 1 < from.splits.size(); ++i) {
      rows.push_back(from.values.rows(from.splits[i], from.splits[i + 1]));
    }
    out.emplace_back(std::move(rows));
    for (const FeatureColumn::Level& level : from.levels) {
      std::vector<Tensor> splits;
      splits.reserve(level.records.size());
      for (std::size_t i = 0; i + 1 < level.records.size(); ++i) {
        PS_ASSIGN_OR_RETURN(Tensor own, splits_of(lengths_of(level, i)));
        splits.push_back(std::move(own));
      }
      out.emplace_back(std::move(splits));
    }
  }
  return out;
}

}  // namespace penstock
