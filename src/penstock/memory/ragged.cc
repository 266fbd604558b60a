#include "penstock/memory/ragged.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "penstock/memory/placement.h"

namespace penstock {
namespace {

using Kind = Structure::Kind;

void collect(const Structure* s, std::size_t first,
             std::vector<RaggedComponent>& out) {
  switch (s->kind()) {
    case Kind::kLeaf:
      out.push_back({first, 0});
      return;
    case Kind::kRagged:
      out.push_back({first, s->ragged_rank()});
      return;
    case Kind::kAbsent:
      return;
    case Kind::kTuple:
    case Kind::kDict:
      for (std::size_t i = 0; i < s->children().size(); ++i) {
        collect(s->children()[i], first + s->leaf_offset(i), out);
      }
  }
}

const Structure* rebuild(const Structure* s, std::span<const int> ranks,
                         std::size_t& at) {
  switch (s->kind()) {
    case Kind::kAbsent:
      return s;
    case Kind::kLeaf:
    case Kind::kRagged: {
      const int rank = ranks[at++];
      return rank == 0 ? Structure::leaf() : Structure::ragged(rank);
    }
    case Kind::kTuple: {
      std::vector<const Structure*> children;
      for (const Structure* child : s->children()) {
        children.push_back(rebuild(child, ranks, at));
      }
      return Structure::tuple(std::move(children), s->tag());
    }
    case Kind::kDict: {
      std::vector<std::pair<std::string, const Structure*>> items;
      for (std::size_t i = 0; i < s->children().size(); ++i) {
        items.emplace_back(s->keys()[i], rebuild(s->children()[i], ranks, at));
      }
      return Structure::dict(std::move(items), s->tag());
    }
  }
  return s;
}

StatusOr<Tensor> splits_tensor(std::size_t rows) {
  PlacementScope none(nullptr);
  return Tensor::allocate<std::int64_t>(
      Shape{static_cast<std::int64_t>(rows) + 1});
}

}  // namespace

std::vector<RaggedComponent> ragged_components(const Structure* s) {
  std::vector<RaggedComponent> out;
  collect(s, 0, out);
  return out;
}

const Structure* with_ragged_ranks(const Structure* s,
                                   std::span<const int> ranks) {
  std::size_t at = 0;
  return rebuild(s, ranks, at);
}

Status check_ragged(std::span<const Tensor> value) {
  const Tensor& values = value[0];
  if (values.rank() == 0) {
    return invalid_argument("ragged: values must have a first dimension");
  }
  // From the innermost level outwards: what a level's splits must end at.
  std::int64_t below = values.shape()[0];
  for (std::size_t level = value.size(); level-- > 1;) {
    const Tensor& splits = value[level];
    if (splits.dtype() != DType::kInt64 || splits.rank() != 1 ||
        splits.shape()[0] < 1) {
      return invalid_argument(
          "ragged: row_splits ", level - 1,
          " must be int64 of rank 1 with at least one value, got ",
          LeafSpec{splits.dtype(), splits.shape()}.to_string());
    }
    const std::span<const std::int64_t> s = splits.as<std::int64_t>();
    bool rising = s.front() == 0 && s.back() == below;
    for (std::size_t i = 1; i < s.size(); ++i) rising &= s[i - 1] <= s[i];
    if (!rising) {
      return invalid_argument("ragged: row_splits ", level - 1,
                              " must rise from 0 to ", below, ", got ",
                              splits.to_string());
    }
    below = splits.shape()[0] - 1;
  }
  return absl::OkStatus();
}

std::int64_t ragged_rows(std::span<const Tensor> value) {
  return value.size() == 1 ? value[0].shape()[0] : value[1].shape()[0] - 1;
}

StatusOr<Element::Leaves> ragged_row(std::span<const Tensor> value,
                                     std::int64_t i) {
  auto outer = value[1].as<std::int64_t>();
  auto begin = outer[static_cast<std::size_t>(i)];
  auto end = outer[static_cast<std::size_t>(i) + 1];
  Element::Leaves out(1);
  for (std::size_t level = 2; level < value.size(); ++level) {
    const Tensor& splits = value[level];
    const auto s = splits.as<std::int64_t>().subspan(
        static_cast<std::size_t>(begin),
        static_cast<std::size_t>(end - begin) + 1);
    if (s.front() == 0) {
      out.push_back(splits.rows(begin, end + 1));
    } else {
      PS_ASSIGN_OR_RETURN(Tensor counted, splits_tensor(s.size() - 1));
      auto to = counted.mutable_as<std::int64_t>();
      for (std::size_t k = 0; k < s.size(); ++k) to[k] = s[k] - s.front();
      out.push_back(std::move(counted));
    }
    begin = s.front();
    end = s.back();
  }
  out[0] = value[0].rows(begin, end);
  return out;
}

StatusOr<Element::Leaves> ragged_from_dense(const Tensor& dense, int rank) {
  const auto k = static_cast<std::size_t>(rank);
  if (dense.rank() < k + 1) {
    return invalid_argument("ragged: a tensor of shape ",
                            dense.shape().to_string(),
                            " has too few dimensions for ragged rank ", rank);
  }
  Element::Leaves out(1);
  std::int64_t rows = dense.shape()[0];
  for (std::size_t level = 0; level < k; ++level) {
    const std::int64_t width = dense.shape()[level + 1];
    PS_ASSIGN_OR_RETURN(Tensor splits,
                        splits_tensor(static_cast<std::size_t>(rows)));
    auto s = splits.mutable_as<std::int64_t>();
    for (std::size_t i = 0; i < s.size(); ++i) {
      s[i] = static_cast<std::int64_t>(i) * width;
    }
    out.push_back(std::move(splits));
    rows *= width;
  }
  Shape shape(dense.shape().dims().subspan(k));
  shape[0] = rows;
  out[0] = dense.reshaped(shape);
  return out;
}

StatusOr<Tensor> concat_rows(std::span<const Tensor> parts) {
  if (parts.size() == 1) return parts.front();
  Shape shape = parts.front().shape();
  shape[0] = 0;
  for (const Tensor& t : parts) shape[0] += t.shape()[0];
  if (parts.front().dtype() == DType::kString) {
    std::vector<std::string_view> values;
    for (const Tensor& t : parts) {
      const std::vector<std::string_view> more = t.strs();
      values.insert(values.end(), more.begin(), more.end());
    }
    return Tensor::strings(values, shape);
  }
  PlacementScope none(nullptr);
  PS_ASSIGN_OR_RETURN(Tensor out,
                      Tensor::allocate(parts.front().dtype(), shape));
  std::byte* to = out.mutable_data();
  for (const Tensor& t : parts) {
    const auto bytes = static_cast<std::size_t>(t.byte_size());
    if (bytes > 0) std::memcpy(to, t.data(), bytes);
    to += bytes;
  }
  return out;
}

StatusOr<Element::Leaves> concat_ragged(
    std::span<const Element::Leaves> parts) {
  Element::Leaves out;
  std::vector<Tensor> values;
  for (const Element::Leaves& v : parts) values.push_back(v[0]);
  PS_ASSIGN_OR_RETURN(Tensor all, concat_rows(values));
  out.push_back(std::move(all));
  for (std::size_t level = 1; level < parts.front().size(); ++level) {
    std::size_t rows = 0;
    for (const Element::Leaves& v : parts) {
      rows += static_cast<std::size_t>(v[level].shape()[0]) - 1;
    }
    PS_ASSIGN_OR_RETURN(Tensor joined, splits_tensor(rows));
    auto to = joined.mutable_as<std::int64_t>();
    std::size_t at = 0;
    std::int64_t base = 0;
    to[0] = 0;
    for (const Element::Leaves& v : parts) {
      const auto s = v[level].as<std::int64_t>();
      for (std::size_t k = 1; k < s.size(); ++k) to[++at] = base + s[k];
      base += s.back();
    }
    out.push_back(std::move(joined));
  }
  return out;
}

StatusOr<Element::Leaves> stack_ragged(
    std::span<const Element::Leaves> values) {
  const std::size_t leaves = values.front().size();
  PS_ASSIGN_OR_RETURN(Tensor outer, splits_tensor(values.size()));
  auto o = outer.mutable_as<std::int64_t>();
  o[0] = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    o[i + 1] = o[i] + ragged_rows({values[i].data(), leaves});
  }
  PS_ASSIGN_OR_RETURN(Element::Leaves out, concat_ragged(values));
  out.insert(out.begin() + 1, std::move(outer));
  return out;
}

Spec row_spec(const Spec& spec) {
  std::vector<int> ranks;
  std::vector<LeafSpec> leaves;
  for (const RaggedComponent& c : ragged_components(spec.structure())) {
    LeafSpec values = spec.leaves()[c.first_leaf];
    ranks.push_back(std::max(c.ragged_rank - 1, 0));
    if (c.ragged_rank == 0) {
      values.shape = values.shape.without_first();
    } else if (values.shape.has_rank() && values.shape.rank() > 0) {
      values.shape.set(0, kUnknownDim);
    }
    leaves.push_back(std::move(values));
    for (int k = 1; k < c.ragged_rank; ++k) {
      leaves.push_back({DType::kInt64, PartialShape{kUnknownDim}});
    }
  }
  return Spec(with_ragged_ranks(spec.structure(), ranks), std::move(leaves));
}

StatusOr<Spec> batched_spec(const Spec& spec, std::int64_t batch_size,
                            std::span<const int> ragged_ranks) {
  if (!spec.known()) return spec;
  const auto components = ragged_components(spec.structure());
  std::vector<int> ranks;
  std::vector<LeafSpec> leaves;
  for (std::size_t i = 0; i < components.size(); ++i) {
    const RaggedComponent& c = components[i];
    LeafSpec values = spec.leaves()[c.first_leaf];
    if (values.dtype == DType::kObject) {
      return invalid_argument("nested datasets cannot be batched");
    }
    int rank = c.ragged_rank > 0         ? c.ragged_rank + 1
               : i < ragged_ranks.size() ? ragged_ranks[i]
                                         : 0;
    ranks.push_back(rank);
    if (rank == 0) {
      values.shape = values.shape.prepended(batch_size);
      leaves.push_back(std::move(values));
      continue;
    }
    // The dimensions that become ragged are one: the innermost rows.
    for (int k = c.ragged_rank + 1; k < rank; ++k) {
      values.shape = values.shape.without_first();
    }
    if (values.shape.has_rank() && values.shape.rank() > 0) {
      values.shape.set(0, kUnknownDim);
    }
    leaves.push_back(std::move(values));
    for (int k = 0; k < rank; ++k) {
      const bool outermost = k == 0 && batch_size != kUnknownDim;
      leaves.push_back({DType::kInt64, PartialShape{outermost ? batch_size + 1
                                                              : kUnknownDim}});
    }
  }
  return Spec(with_ragged_ranks(spec.structure(), ranks), std::move(leaves));
}

}  // namespace penstock
