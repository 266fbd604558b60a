// padded_batch: consecutive elements padded to one shape, then stacked.
//
// Two parts, as batch: a sequencer that cuts whole groups, a transform that
// pads and stacks them in parallel, each value written once. A leaf whose rows
// already have the padded shape is stacked as batch does it (a view where they
// lie side by side). State: rows that went through.
//
// An element larger than the padded shape is DataLoss; None and ragged
// components are refused, when the graph is built if the spec tells.
#include "penstock/ops/padded_batch/padded_batch.h"

#include <algorithm>
#include <cstring>

#include "penstock/memory/literal.h"
#include "penstock/memory/placement.h"
#include "penstock/ops/batch/batch.h"
#include "penstock/ops/leaf_label.h"

namespace penstock::ops {
namespace {

using Kind = Structure::Kind;

// Why elements of this structure cannot be padded, or OK.
Status check_structure(const Structure* s) {
  if (s->kind() == Kind::kAbsent) {
    return invalid_argument("None components cannot be padded");
  }
  if (s->kind() == Kind::kRagged) {
    return invalid_argument(
        "ragged components cannot be padded; use batch for them");
  }
  for (const Structure* child : s->children()) {
    PS_RETURN_IF_ERROR(check_structure(child));
  }
  return absl::OkStatus();
}

// Which of the values that are given as `given` is for each leaf of `actual`;
// one in place of a component is for all of it.
bool spread(const Structure* given, std::size_t first, const Structure* actual,
            std::vector<std::size_t>& values) {
  if (given->is_leaf()) {
    values.insert(values.end(), actual->num_leaves(), first);
    return true;
  }
  const std::size_t n = given->children().size();
  if (given->kind() != actual->kind() || actual->children().size() != n) {
    return false;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at =
        actual->kind() == Kind::kDict ? given->find(actual->keys()[i]) : i;
    if (at == n ||
        !spread(given->children()[at], first + given->leaf_offset(at),
                actual->children()[i], values)) {
      return false;
    }
  }
  return true;
}

template <class T>
Status spread_values(const char* what, const Structure*& given,
                     const Structure* actual, std::vector<T>& values) {
  if (given == nullptr) return absl::OkStatus();
  std::vector<std::size_t> from;
  if (!spread(given, 0, actual, from)) {
    return invalid_argument(what, " must nest like the elements, ",
                            actual->to_string(), ", got ", given->to_string());
  }
  std::vector<T> out;
  for (const std::size_t i : from) out.push_back(values[i]);
  values = std::move(out);
  given = nullptr;
  return absl::OkStatus();
}

// The value to pad with, `width` bytes of it, many times over.
void fill(std::byte* out, const std::byte* value, std::size_t width,
          std::int64_t count) {
  const bool uniform = std::all_of(value, value + width,
                                   [&](std::byte b) { return b == value[0]; });
  const auto bytes = static_cast<std::size_t>(count) * width;
  if (uniform) {
    std::memset(out, std::to_integer<int>(value[0]), bytes);
    return;
  }
  if (count == 0) return;
  std::memcpy(out, value, width);
  // Doubling: each copy is as large as what is there already.
  for (std::size_t done = width; done < bytes;) {
    const std::size_t n = std::min(done, bytes - done);
    std::memcpy(out + done, out, n);
    done += n;
  }
}

// Strides in values: how much one step in dimension d skips.
std::vector<std::int64_t> strides_of(std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t n = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    strides[d] = n;
    n *= dims[d];
  }
  return strides;
}

// Pads rows of one source shape into slots of one target shape.
class Padder {
 public:
  Padder(const Shape& from, const Shape& to)
      : from_(from),
        to_(to),
        from_strides_(strides_of(from.dims())),
        to_strides_(strides_of(to.dims())) {
    // Dimensions behind this one are equal: one copy does them all.
    last_ = from.rank();
    while (last_ > 0 && from[last_ - 1] == to[last_ - 1]) --last_;
  }

  // copy(to_offset, from_offset, count) and pad(to_offset, count), both in
  // values and in rising order of to_offset, cover the slot exactly once.
  template <class Copy, class Pad>
  void run(const Copy& copy, const Pad& pad) const {
    if (last_ == 0) {
      copy(0, 0, to_.num_elements());
    } else {
      walk(0, 0, 0, copy, pad);
    }
  }

 private:
  template <class Copy, class Pad>
  void walk(std::size_t d, std::int64_t to, std::int64_t from, const Copy& copy,
            const Pad& pad) const {
    if (d + 1 == last_) {
      copy(to, from, from_[d] * from_strides_[d]);
    } else {
      for (std::int64_t i = 0; i < from_[d]; ++i) {
        walk(d + 1, to + i * to_strides_[d], from + i * from_strides_[d], copy,
             pad);
      }
    }
    pad(to + from_[d] * to_strides_[d], (to_[d] - from_[d]) * to_strides_[d]);
  }

  const Shape& from_;
  const Shape& to_;
  std::vector<std::int64_t> from_strides_;
  std::vector<std::int64_t> to_strides_;
  std::size_t last_ = 0;
};

StatusOr<Tensor> pad_strings(std::span<const Tensor> rows, const Shape& to,
                             const Tensor& value) {
  const std::string_view filler = value.defined() ? value.str() : "";
  std::vector<std::string_view> values;
  values.reserve(rows.size() * static_cast<std::size_t>(to.num_elements()));
  for (const Tensor& row : rows) {
    Padder(row.shape(), to)
        .run(
            [&](std::int64_t, std::int64_t from, std::int64_t count) {
              for (std::int64_t i = 0; i < count; ++i) {
                values.push_back(row.str(from + i));
              }
            },
            [&](std::int64_t, std::int64_t count) {
              values.insert(values.end(), static_cast<std::size_t>(count),
                            filler);
            });
  }
  return Tensor::strings(values,
                         to.prepended(static_cast<std::int64_t>(rows.size())));
}

StatusOr<Tensor> pad_dense(std::span<const Tensor> rows, const Shape& to,
                           const Tensor& value) {
  const DType dtype = rows.front().dtype();
  PlacementScope none(nullptr);
  PS_ASSIGN_OR_RETURN(
      Tensor out,
      Tensor::allocate(dtype,
                       to.prepended(static_cast<std::int64_t>(rows.size()))));
  const std::size_t width = dtype_size(dtype);
  const std::byte zero[8] = {};
  const std::byte* filler = value.defined() ? value.data() : zero;
  std::byte* slot = out.mutable_data();
  const auto slot_bytes = static_cast<std::size_t>(to.num_elements()) * width;
  for (const Tensor& row : rows) {
    Padder(row.shape(), to)
        .run(
            [&](std::int64_t at, std::int64_t from, std::int64_t count) {
              std::memcpy(slot + static_cast<std::size_t>(at) * width,
                          row.data() + static_cast<std::size_t>(from) * width,
                          static_cast<std::size_t>(count) * width);
            },
            [&](std::int64_t at, std::int64_t count) {
              fill(slot + static_cast<std::size_t>(at) * width, filler, width,
                   count);
            });
    slot += slot_bytes;
  }
  return out;
}

class PaddedBatch final : public GroupingOp {
 public:
  PaddedBatch(std::int64_t size, PaddedBatchOptions options)
      : GroupingOp(size, options.drop_remainder),
        options_(std::move(options)) {}

  std::string_view op() const override { return "padded_batch"; }
  std::string describe() const override {
    std::string text = absl::StrCat("padded_batch(", size_);
    if (!options_.padded_shapes.empty()) {
      absl::StrAppend(&text, ", padded_shapes=[");
      for (std::size_t i = 0; i < options_.padded_shapes.size(); ++i) {
        absl::StrAppend(&text, i > 0 ? ", " : "",
                        options_.padded_shapes[i].to_string());
      }
      text += "]";
    }
    if (drop_remainder_) text += ", drop_remainder=true";
    return text + ")";
  }

  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    Spec spec = inputs[0];
    if (!spec.known()) return spec;
    PS_RETURN_IF_ERROR(check_structure(spec.structure()));
    if (nested()) {
      PS_ASSIGN_OR_RETURN(const PaddedBatch flat, flat_for(spec.structure()));
      return flat.output_spec(inputs);
    }
    const std::size_t leaves = spec.leaves().size();
    PS_RETURN_IF_ERROR(check_counts(leaves));
    for (std::size_t i = 0; i < leaves; ++i) {
      LeafSpec& leaf = spec.leaves()[i];
      if (leaf.dtype == DType::kObject) {
        return invalid_argument("nested datasets cannot be batched");
      }
      const std::string which = leaf_label(i, leaves);
      PS_RETURN_IF_ERROR(check_value(i, leaves, leaf.dtype));
      PS_ASSIGN_OR_RETURN(PartialShape padded, static_shape(i, leaf, which));
      leaf.shape = padded.prepended(static_size());
    }
    return spec;
  }
  void add_to(Fingerprint& fp) const override {
    GroupingOp::add_to(fp);
    fp.add(options_.padded_shapes.size());
    for (const PartialShape& s : options_.padded_shapes) fp.add(s.to_string());
    for (const Structure* s :
         {options_.padded_shapes_as, options_.padding_values_as}) {
      if (s != nullptr) fp.add(s->to_string());
    }
    fp.add(options_.padding_values.size());
    for (const Tensor& t : options_.padding_values) {
      fp.add(static_cast<std::uint64_t>(t.dtype()));
      if (t.dtype() == DType::kString) {
        fp.add(t.str());
      } else {
        fp.add(
            {reinterpret_cast<const char*>(t.data()), dtype_size(t.dtype())});
      }
    }
  }
  Status apply(Block& block, CallContext& context) const override {
    return combine_groups(block, size_, context,
                          [&](const Block& rows) { return pad(rows); });
  }

 private:
  // --- values that were given before it was known how elements nest --------
  bool nested() const {
    return options_.padded_shapes_as != nullptr ||
           options_.padding_values_as != nullptr;
  }
  StatusOr<PaddedBatch> flat_for(const Structure* structure) const {
    PaddedBatchOptions flat = options_;
    PS_RETURN_IF_ERROR(spread_values("padded_shapes", flat.padded_shapes_as,
                                     structure, flat.padded_shapes));
    PS_RETURN_IF_ERROR(spread_values("padding_values", flat.padding_values_as,
                                     structure, flat.padding_values));
    return PaddedBatch(size_, std::move(flat));
  }

  // --- the static side ----------------------------------------------------
  Status check_counts(std::size_t leaves) const {
    const std::size_t shapes = options_.padded_shapes.size();
    const std::size_t values = options_.padding_values.size();
    if (shapes != 0 && shapes != leaves) {
      return invalid_argument("padded_shapes must have one shape per leaf (",
                              leaves, "), got ", shapes);
    }
    if (values > 1 && values != leaves) {
      return invalid_argument("padding_values must have one value per leaf (",
                              leaves, "), or one for all, got ", values);
    }
    return absl::OkStatus();
  }
  Status check_value(std::size_t leaf, std::size_t leaves, DType dtype) const {
    const Tensor* value = padding(leaf);
    if (value == nullptr || dtype == DType::kInvalid ||
        literal_as(*value, dtype).has_value()) {
      return absl::OkStatus();
    }
    return invalid_argument("padding_values", leaf_label(leaf, leaves),
                            " must be ", to_absl(dtype_name(dtype)),
                            " as the elements are, got ",
                            to_absl(dtype_name(value->dtype())));
  }
  // Shape of the padded leaf as far as it is known when the graph is built.
  StatusOr<PartialShape> static_shape(std::size_t i, const LeafSpec& leaf,
                                      const std::string& which) const {
    const PartialShape* wanted = padded_shape(i);
    if (wanted == nullptr) {
      // A leaf about which nothing is known is learnt from the data.
      if (!leaf.shape.has_rank() && leaf.dtype != DType::kInvalid) {
        return invalid_argument("the rank", which,
                                " is unknown: give padded_shapes for it");
      }
      return leaf.shape;
    }
    if (!leaf.shape.has_rank()) return *wanted;
    bool fits = wanted->rank() == leaf.shape.rank();
    PartialShape out = *wanted;
    for (std::size_t d = 0; fits && d < out.rank(); ++d) {
      const std::int64_t have = leaf.shape[d];
      if (out[d] == kUnknownDim) {
        out.set(d, have);
      } else if (have != kUnknownDim && have > out[d]) {
        fits = false;
      }
    }
    if (fits) return out;
    return invalid_argument("padded_shapes", which, " is ", wanted->to_string(),
                            ", into which elements of shape ",
                            leaf.shape.to_string(), " do not fit");
  }

  // --- at run time --------------------------------------------------------
  const PartialShape* padded_shape(std::size_t leaf) const {
    if (leaf >= options_.padded_shapes.size()) return nullptr;
    const PartialShape& shape = options_.padded_shapes[leaf];
    return shape.has_rank() ? &shape : nullptr;
  }
  const Tensor* padding(std::size_t leaf) const {
    const auto& values = options_.padding_values;
    if (values.empty()) return nullptr;
    const Tensor& value = values[values.size() == 1 ? 0 : leaf];
    return value.defined() ? &value : nullptr;
  }

  StatusOr<Element> pad(const Block& group) const {
    PS_ASSIGN_OR_RETURN(const Block rows, uniform_rows(group));
    PS_RETURN_IF_ERROR(check_structure(rows.structure()));
    if (nested()) {
      PS_ASSIGN_OR_RETURN(const PaddedBatch flat, flat_for(rows.structure()));
      return flat.pad(rows);
    }
    const std::size_t leaves = rows.columns().size();
    PS_RETURN_IF_ERROR(check_counts(leaves));
    Element out(rows.structure(), {});
    for (std::size_t i = 0; i < leaves; ++i) {
      PS_ASSIGN_OR_RETURN(Tensor padded, pad_leaf(rows, i, leaves));
      out.mutable_leaves().push_back(std::move(padded));
    }
    return out;
  }

  StatusOr<Tensor> pad_leaf(const Block& rows, std::size_t leaf,
                            std::size_t leaves) const {
    const Column& column = rows.column(leaf);
    const std::string which = leaf_label(leaf, leaves);
    std::vector<Tensor> tensors;
    if (column.packed()) {
      // Equal shapes: looking at one row tells all.
      const Tensor& packed = column.tensor();
      PS_RETURN_IF_ERROR(check_value(leaf, leaves, packed.dtype()));
      Shape to = packed.shape().without_first();
      PS_RETURN_IF_ERROR(widen(to, rows, 0, leaf, which));
      if (to == packed.shape().without_first()) return packed;
      for (std::int64_t r = 0; r < rows.size(); ++r) {
        tensors.push_back(packed.row(r));
      }
      return pad_tensors(tensors, to, leaf);
    }
    PS_RETURN_IF_ERROR(check_same_dtype(rows, leaf));
    tensors = column.rows();
    PS_RETURN_IF_ERROR(check_value(leaf, leaves, tensors.front().dtype()));
    Shape to = tensors.front().shape();
    bool equal = true;
    for (std::size_t r = 1; r < tensors.size(); ++r) {
      const Shape& shape = tensors[r].shape();
      equal = equal && shape == to;
      if (shape.rank() != to.rank()) {
        return invalid_argument(
            "elements differ in rank", which, ": element ",
            rows.origins().at(0).to_string(), " has ", to.to_string(),
            ", element ",
            rows.origins().at(static_cast<std::int64_t>(r)).to_string(),
            " has ", shape.to_string());
      }
      for (std::size_t d = 0; d < to.rank(); ++d) {
        to[d] = std::max(to[d], shape[d]);
      }
    }
    const Shape longest = to;
    if (const PartialShape* wanted = padded_shape(leaf)) {
      for (std::int64_t r = 0; r < rows.size(); ++r) {
        Shape each = tensors[static_cast<std::size_t>(r)].shape();
        PS_RETURN_IF_ERROR(widen(each, rows, r, leaf, which));
      }
      for (std::size_t d = 0; d < to.rank(); ++d) {
        if ((*wanted)[d] != kUnknownDim) to[d] = (*wanted)[d];
      }
    }
    if (equal && to == longest) return stack_tensors(tensors);
    return pad_tensors(tensors, to, leaf);
  }

  // `shape` of row `r`, made as large as padded_shapes says.
  Status widen(Shape& shape, const Block& rows, std::int64_t r,
               std::size_t leaf, const std::string& which) const {
    const PartialShape* wanted = padded_shape(leaf);
    if (wanted == nullptr) return absl::OkStatus();
    if (wanted->rank() != shape.rank()) {
      return invalid_argument("element ", rows.origins().at(r).to_string(),
                              " has shape ", shape.to_string(), which,
                              ", but padded_shapes is ", wanted->to_string(),
                              ", of another rank");
    }
    const Shape have = shape;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      if ((*wanted)[d] == kUnknownDim) continue;
      if (have[d] > (*wanted)[d]) {
        return absl::DataLossError(absl::StrCat(
            "element ", rows.origins().at(r).to_string(), " has shape ",
            have.to_string(), which, ", which is larger than padded_shapes ",
            wanted->to_string()));
      }
      shape[d] = (*wanted)[d];
    }
    return absl::OkStatus();
  }

  StatusOr<Tensor> pad_tensors(std::span<const Tensor> rows, const Shape& to,
                               std::size_t leaf) const {
    const Tensor* value = padding(leaf);
    const DType dtype = rows.front().dtype();
    const Tensor filler = value != nullptr
                              ? literal_as(*value, dtype).value_or(Tensor())
                              : Tensor();
    return dtype == DType::kString ? pad_strings(rows, to, filler)
                                   : pad_dense(rows, to, filler);
  }

  PaddedBatchOptions options_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_padded_batch(
    std::int64_t batch_size, PaddedBatchOptions options) {
  if (batch_size < 1) {
    return invalid_argument("padded_batch: batch_size must be >= 1, got ",
                            batch_size);
  }
  for (const PartialShape& shape : options.padded_shapes) {
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      if (shape[d] < kUnknownDim) {
        return invalid_argument(
            "padded_batch: padded_shapes must be >= 0, or -1 for the longest, "
            "got ",
            shape[d]);
      }
    }
  }
  for (const Tensor& value : options.padding_values) {
    if (value.rank() != 0 || value.dtype() == DType::kObject) {
      return invalid_argument(
          "padded_batch: padding_values must be of rank 0, got shape ",
          value.shape().to_string());
    }
  }
  return std::make_shared<PaddedBatch>(batch_size, std::move(options));
}

}  // namespace penstock::ops
