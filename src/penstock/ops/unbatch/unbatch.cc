// unbatch: every row of an element's first dimension becomes an element.
//
// A transform that multiplies elements. Packed batches are seen under another
// shape, without a copy; where a block holds several loose batches, small rows
// are joined and large ones stay views. A ragged leaf gives up its outermost
// level. A batch that is an error stays one error. An element's origin is its
// batch's, with the row's number behind it.
#include "penstock/ops/unbatch/unbatch.h"

#include "penstock/memory/ragged.h"

namespace penstock::ops {
namespace {

// Rows up to this size are copied together: a handle for each costs more.
constexpr std::int64_t kJoinRowBytes = 1024;

PathRef inside(const Origin& origin) {
  return OriginPath::extend(origin.path, OriginPath::Kind::kInner,
                            origin.ordinal);
}

/// What a structure becomes when the first dimension goes.
const Structure* row_structure(const Structure* s) {
  switch (s->kind()) {
    case Structure::Kind::kTuple: {
      std::vector<const Structure*> children;
      for (const Structure* child : s->children()) {
        children.push_back(row_structure(child));
      }
      return Structure::tuple(std::move(children), s->tag());
    }
    case Structure::Kind::kDict: {
      std::vector<std::pair<std::string, const Structure*>> items;
      for (std::size_t i = 0; i < s->children().size(); ++i) {
        items.emplace_back(s->keys()[i], row_structure(s->children()[i]));
      }
      return Structure::dict(std::move(items), s->tag());
    }
    case Structure::Kind::kRagged:
      return s->ragged_rank() == 1 ? Structure::leaf()
                                   : Structure::ragged(s->ragged_rank() - 1);
    case Structure::Kind::kLeaf:
    case Structure::Kind::kAbsent:
      break;
  }
  return s;
}

Status rank_zero(std::size_t leaf) {
  return invalid_argument("leaf ", leaf,
                          " is a scalar: it has no first dimension");
}

/// Of a row, where some leaves are ragged. The values of one keep their inner
/// shape, and lose the splits of the outermost level.
std::vector<LeafSpec> ragged_row_leaves(const Spec& spec) {
  std::vector<LeafSpec> out;
  for (const RaggedComponent& c : ragged_components(spec.structure())) {
    LeafSpec values = spec.leaves()[c.first_leaf];
    if (values.shape.has_rank() && values.shape.rank() > 0) {
      values.shape = values.shape.without_first();
      if (c.ragged_rank > 0) {
        values.shape = values.shape.prepended(kUnknownDim);
      }
    }
    out.push_back(std::move(values));
    for (int level = 1; level < c.ragged_rank; ++level) {
      out.push_back({DType::kInt64, PartialShape(Shape{kUnknownDim})});
    }
  }
  return out;
}

Status differ(std::int64_t a, std::size_t leaf, std::int64_t b) {
  return invalid_argument("the leaves differ in their first dimension: ", a,
                          " in leaf 0, ", b, " in leaf ", leaf);
}

/// Dense leaves as columns, each leaf as it is.
StatusOr<Block> dense_rows(const Element& element, const PathRef& path) {
  std::int64_t rows = 0;
  Block::Columns columns;
  for (std::size_t i = 0; i < element.size(); ++i) {
    const Tensor& t = element[i];
    if (t.rank() == 0) return rank_zero(i);
    if (i == 0) rows = t.shape()[0];
    if (t.shape()[0] != rows) return differ(rows, i, t.shape()[0]);
    columns.emplace_back(t);
  }
  return Block(element.structure(), std::move(columns), rows, Origins(path, 0));
}

/// Number of rows of the element at `leaf` with structure `s`.
Status count_rows(const Element& element, const Structure* s, std::size_t leaf,
                  std::optional<std::int64_t>& rows) {
  std::int64_t own = 0;
  if (s->kind() == Structure::Kind::kRagged) {
    const auto levels = static_cast<std::size_t>(s->ragged_rank());
    for (std::size_t level = 1; level <= levels; ++level) {
      const Tensor& splits = element[leaf + level];
      if (splits.dtype() != DType::kInt64 || splits.rank() != 1 ||
          splits.num_elements() < 1) {
        return invalid_argument("leaf ", leaf, " has no flat int64 row_splits");
      }
    }
    own = element[leaf + 1].num_elements() - 1;
  } else if (s->is_leaf()) {
    if (element[leaf].rank() == 0) return rank_zero(leaf);
    own = element[leaf].shape()[0];
  } else {
    for (std::size_t i = 0; i < s->children().size(); ++i) {
      PS_RETURN_IF_ERROR(count_rows(element, s->children()[i],
                                    leaf + s->leaf_offset(i), rows));
    }
    return absl::OkStatus();
  }
  if (rows && *rows != own) return differ(*rows, leaf, own);
  rows = own;
  return absl::OkStatus();
}

/// Row `row` of a ragged value whose leaves begin at `leaf`.
Status ragged_row(const Element& element, const Structure* s, std::size_t leaf,
                  std::int64_t row, Element::Leaves& out) {
  const auto levels = static_cast<std::size_t>(s->ragged_rank());
  const auto bounds = element[leaf + 1].as<std::int64_t>();
  std::int64_t begin = bounds[static_cast<std::size_t>(row)];
  std::int64_t end = bounds[static_cast<std::size_t>(row) + 1];
  const std::size_t at = out.size();
  out.emplace_back();  // the values, when their range is known
  for (std::size_t level = 2; level <= levels + 1; ++level) {
    const bool values = level == levels + 1;
    const Tensor& t = element[values ? leaf : leaf + level];
    const std::int64_t limit =
        t.rank() == 0 ? -1 : t.shape()[0] - (values ? 0 : 1);
    if (begin < 0 || begin > end || end > limit) {
      return invalid_argument("leaf ", leaf,
                              " has row_splits outside its values");
    }
    if (values) {
      out[at] = t.rows(begin, end);
      break;
    }
    const auto splits = t.as<std::int64_t>();
    std::vector<std::int64_t> moved;
    for (std::int64_t i = begin; i <= end; ++i) {
      moved.push_back(splits[static_cast<std::size_t>(i)] -
                      splits[static_cast<std::size_t>(begin)]);
    }
    out.push_back(Tensor::from(moved));
    const std::int64_t first = splits[static_cast<std::size_t>(begin)];
    end = splits[static_cast<std::size_t>(end)];
    begin = first;
  }
  return absl::OkStatus();
}

Status append_row(const Element& element, const Structure* s, std::size_t leaf,
                  std::int64_t row, Element::Leaves& out) {
  if (s->kind() == Structure::Kind::kRagged) {
    return ragged_row(element, s, leaf, row, out);
  }
  if (s->is_leaf()) {
    out.push_back(element[leaf].row(row));
    return absl::OkStatus();
  }
  for (std::size_t i = 0; i < s->children().size(); ++i) {
    PS_RETURN_IF_ERROR(append_row(element, s->children()[i],
                                  leaf + s->leaf_offset(i), row, out));
  }
  return absl::OkStatus();
}

StatusOr<Block> ragged_rows(const Element& element, const PathRef& path) {
  std::optional<std::int64_t> rows;
  PS_RETURN_IF_ERROR(count_rows(element, element.structure(), 0, rows));
  const Structure* structure = row_structure(element.structure());
  BlockBuilder builder;
  for (std::int64_t i = 0; i < *rows; ++i) {
    Element::Leaves leaves;
    PS_RETURN_IF_ERROR(append_row(element, element.structure(), 0, i, leaves));
    builder.add(Element(structure, std::move(leaves)));
  }
  PS_ASSIGN_OR_RETURN(Block block, builder.finish());
  block.set_origins(Origins(path, 0));
  return block;
}

/// Several blocks as one: small rows are copied, large ones shared.
StatusOr<Block> join(std::vector<Block> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  for (Block& part : parts) {
    for (Column& column : part.columns()) {
      if (!column.packed() || part.empty() ||
          column.byte_size() <= kJoinRowBytes * part.size()) {
        continue;
      }
      std::vector<Tensor> rows;
      for (std::int64_t i = 0; i < part.size(); ++i) {
        rows.push_back(column.row(i));
      }
      column = Column(std::move(rows));
    }
  }
  return join_blocks(parts);
}

class Unbatch final : public TransformOp {
 public:
  explicit Unbatch(std::optional<std::int64_t> rows) : rows_(rows) {}

  std::string_view op() const override { return "unbatch"; }
  std::string describe() const override { return "unbatch()"; }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    std::optional<std::int64_t> rows;
    return row_spec(in[0], rows);
  }
  /// Counts that no batch fails: one that does is one error.
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    if (in[0] == Cardinality(0)) return in[0];
    if (!rows_ || in[0].is_unknown()) return Cardinality::unknown();
    if (*rows_ == 0) return in[0].finite() ? 0 : Cardinality::unknown();
    if (in[0].is_infinite()) return in[0];
    std::int64_t n = 0;
    return __builtin_mul_overflow(in[0].value(), *rows_, &n)
               ? Cardinality::infinite()
               : Cardinality(n);
  }
  void add_to(Fingerprint&) const override {}

  TransformTraits traits() const override { return {}; }
  Status apply(Block& block, CallContext& context) const override {
    if (Block whole; flatten(block, whole)) {
      block = std::move(whole);
      return absl::OkStatus();
    }
    std::vector<Block> parts;
    for (std::int64_t i = 0; i < block.size(); ++i) {
      const Origin origin = block.origins().at(i);
      ErrorRef error = block.error_ref(i);
      if (!error) {
        auto rows = rows_of(block.element(i), inside(origin));
        if (rows.ok()) {
          if (!rows->empty()) parts.push_back(*std::move(rows));
          continue;
        }
        error = context.error(rows.status(), origin);
      }
      Block failed(nullptr, {}, 1, Origins(origin.path, origin.ordinal));
      failed.errors().emplace_back(0, std::move(error));
      parts.push_back(std::move(failed));
    }
    if (parts.empty()) {
      block = Block();
      return absl::OkStatus();
    }
    PS_ASSIGN_OR_RETURN(block, join(std::move(parts)));
    return absl::OkStatus();
  }

 private:
  /// Packed [n, b, ...] columns are [n * b, ...] without a copy.
  static bool flatten(const Block& block, Block& out) {
    if (block.mixed() || !block.errors().empty() || block.empty() ||
        block.structure() == nullptr || block.columns().empty() ||
        block.structure()->has_ragged()) {
      return false;
    }
    std::int64_t rows = -1;
    Block::Columns columns;
    for (const Column& column : block.columns()) {
      if (!column.packed() || column.tensor().rank() < 2) return false;
      const Shape& shape = column.tensor().shape();
      if (rows >= 0 && shape[1] != rows) return false;
      rows = shape[1];
      columns.emplace_back(column.tensor().reshaped(
          shape.without_first().without_first().prepended(shape[0] * rows)));
    }
    OriginsBuilder origins;
    for (std::int64_t i = 0; i < block.size(); ++i) {
      origins.append(Origins(inside(block.origins().at(i)), 0), 0, rows);
    }
    out = Block(block.structure(), std::move(columns), block.size() * rows,
                origins.finish());
    return true;
  }

  std::optional<std::int64_t> rows_;
};

}  // namespace

StatusOr<Block> rows_of(const Element& element, const PathRef& path) {
  if (element.size() == 0) {
    return invalid_argument("the element ", element.structure()->to_string(),
                            " holds no tensor: it has no first dimension");
  }
  return element.structure()->has_ragged() ? ragged_rows(element, path)
                                           : dense_rows(element, path);
}

StatusOr<Spec> row_spec(const Spec& spec, std::optional<std::int64_t>& rows) {
  rows.reset();
  if (!spec.known()) return Spec();
  if (spec.leaves().empty()) {
    return invalid_argument("elements ", spec.to_string(),
                            " hold no tensor: they have no first dimension");
  }
  const Structure* structure = row_structure(spec.structure());
  if (spec.structure()->has_ragged()) {
    return Spec(structure, ragged_row_leaves(spec));
  }
  Spec out = spec;
  for (std::size_t i = 0; i < out.leaves().size(); ++i) {
    LeafSpec& leaf = out.leaves()[i];
    if (!leaf.shape.has_rank()) continue;
    if (leaf.shape.rank() == 0) return rank_zero(i);
    const std::int64_t own = leaf.shape[0];
    if (own != kUnknownDim) {
      if (rows && *rows != own) return differ(*rows, i, own);
      rows = own;
    }
    leaf.shape = leaf.shape.without_first();
  }
  return out;
}

StatusOr<std::shared_ptr<const Operator>> make_unbatch(const Spec& input) {
  std::optional<std::int64_t> rows;
  auto spec = row_spec(input, rows);
  if (!spec.ok()) return annotate(spec.status(), "unbatch: ");
  return std::make_shared<Unbatch>(rows);
}

}  // namespace penstock::ops
