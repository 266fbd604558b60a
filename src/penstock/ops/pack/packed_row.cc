#include "penstock/ops/pack/packed_row.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "penstock/memory/literal.h"
#include "penstock/ops/leaf_label.h"

namespace penstock::ops {
namespace {

constexpr std::string_view kSegmentIds = "_segment_ids";
constexpr std::string_view kPositions = "_positions";

}  // namespace

StatusOr<const Structure*> packed_structure(const Structure* element) {
  using Kind = Structure::Kind;
  const auto children = element->children();
  switch (element->kind()) {
    case Kind::kLeaf:
      return Structure::leaves(3);
    case Kind::kAbsent:
      return element;
    case Kind::kRagged:
      return invalid_argument(
          "elements must be made of tensors of rank 1, got a ragged value");
    case Kind::kTuple: {
      std::vector<const Structure*> out;
      for (const Structure* child : children) {
        PS_ASSIGN_OR_RETURN(const Structure* packed, packed_structure(child));
        out.push_back(packed);
      }
      return Structure::tuple(std::move(out), element->tag());
    }
    case Kind::kDict:
      break;
  }
  std::vector<std::pair<std::string, const Structure*>> items;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::string& key = element->keys()[i];
    if (!children[i]->is_leaf()) {
      PS_ASSIGN_OR_RETURN(const Structure* packed,
                          packed_structure(children[i]));
      items.emplace_back(key, packed);
      continue;
    }
    items.emplace_back(key, Structure::leaf());
    for (const std::string_view suffix : {kSegmentIds, kPositions}) {
      std::string added = key + std::string(suffix);
      if (element->find(added) != children.size()) {
        return invalid_argument("the key '", added,
                                "' is made by pack, but elements have it");
      }
      items.emplace_back(std::move(added), Structure::leaf());
    }
  }
  return Structure::dict(std::move(items), element->tag());
}

Status PackLayout::check_leaves(std::size_t leaves) const {
  if (options_.lengths.size() != 1 && options_.lengths.size() != leaves) {
    return invalid_argument("lengths must have one for each leaf (", leaves,
                            "), or one for all, got ", options_.lengths.size());
  }
  const std::size_t values = options_.padding_values.size();
  if (values > 1 && values != leaves) {
    return invalid_argument("padding_values must have one value per leaf (",
                            leaves, "), or one for all, got ", values);
  }
  return absl::OkStatus();
}

const Tensor* PackLayout::padding(std::size_t leaf) const {
  const auto& values = options_.padding_values;
  if (values.empty()) return nullptr;
  const Tensor& value = values[values.size() == 1 ? 0 : leaf];
  return value.defined() ? &value : nullptr;
}

StatusOr<Spec> PackLayout::output_spec(const Spec& input) const {
  if (!input.known()) return Spec();
  const std::size_t leaves = input.leaves().size();
  if (leaves == 0) {
    return invalid_argument("elements must hold a sequence, got ",
                            input.to_string());
  }
  PS_RETURN_IF_ERROR(check_leaves(leaves));
  PS_ASSIGN_OR_RETURN(const Structure* structure,
                      packed_structure(input.structure()));
  std::vector<LeafSpec> out;
  for (std::size_t i = 0; i < leaves; ++i) {
    const LeafSpec& leaf = input.leaves()[i];
    const std::string which = leaf_label(i, leaves);
    if ((leaf.shape.has_rank() && leaf.shape.rank() != 1) ||
        leaf.dtype == DType::kObject) {
      return invalid_argument("elements must be made of tensors of rank 1, ",
                              "the spec", which, " is ", input.to_string());
    }
    const std::int64_t size = leaf.shape.has_rank() ? leaf.shape[0] : 0;
    if (size > length(i) && !options_.split_long) {
      return invalid_argument("length must be >= ", size, ", as the sequences",
                              which, " are, got ", length(i),
                              "; or use split_long");
    }
    const Tensor* value = padding(i);
    if (value != nullptr && leaf.dtype != DType::kInvalid &&
        !literal_as(*value, leaf.dtype)) {
      return invalid_argument("padding_values", which, " must be ",
                              to_absl(dtype_name(leaf.dtype)), ", got ",
                              to_absl(dtype_name(value->dtype())));
    }
    const PartialShape row{length(i)};
    LeafSpec values = leaf;
    values.shape = row;
    out.push_back(std::move(values));
    LeafSpec numbers;
    numbers.dtype = DType::kInt32;
    numbers.shape = row;
    out.push_back(numbers);
    out.push_back(numbers);
  }
  return Spec(structure, std::move(out));
}

Status PackLayout::measure(
    const Element& element,
    absl::InlinedVector<std::int64_t, 4>& lengths) const {
  const std::size_t leaves = element.size();
  if (leaves == 0) {
    return invalid_argument("the element holds no sequence");
  }
  PS_RETURN_IF_ERROR(check_leaves(leaves));
  lengths.clear();
  for (std::size_t i = 0; i < leaves; ++i) {
    const Tensor& tensor = element[i];
    if (tensor.rank() != 1 || tensor.dtype() == DType::kObject) {
      return invalid_argument(
          "the element must be made of tensors of rank 1, "
          "but",
          leaf_label(i, leaves), " it is ", Spec::of(element).to_string());
    }
    const std::int64_t size = tensor.shape()[0];
    if (size > length(i) && !options_.split_long) {
      return invalid_argument("the sequence", leaf_label(i, leaves), " has ",
                              size, " values, but a row has length ", length(i),
                              "; use a larger length, or split_long");
    }
    const Tensor* value = padding(i);
    if (value != nullptr && !literal_as(*value, tensor.dtype())) {
      return invalid_argument("padding_values", leaf_label(i, leaves),
                              " must be ", to_absl(dtype_name(tensor.dtype())),
                              ", got ", to_absl(dtype_name(value->dtype())));
    }
    lengths.push_back(size);
  }
  return absl::OkStatus();
}

std::int64_t PackLayout::parts(std::span<const std::int64_t> lengths) const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    n = std::max(n, (lengths[i] + length(i) - 1) / length(i));
  }
  return n;
}

std::int64_t PackLayout::part_length(std::span<const std::int64_t> lengths,
                                     std::size_t leaf,
                                     std::int64_t part) const {
  const std::int64_t left = lengths[leaf] - part * length(leaf);
  return std::clamp<std::int64_t>(left, 0, length(leaf));
}

StatusOr<Tensor> PackLayout::write_values(std::span<const Tensor> pieces,
                                          std::size_t leaf) const {
  const std::int64_t n = length(leaf);
  const DType dtype = pieces.front().dtype();
  const Tensor* given = padding(leaf);
  const std::optional<Tensor> filler =
      given != nullptr ? literal_as(*given, dtype) : std::nullopt;
  if (dtype == DType::kString) {
    std::vector<std::string_view> values;
    values.reserve(static_cast<std::size_t>(n));
    for (const Tensor& piece : pieces) {
      for (const std::string_view value : piece.strs()) {
        values.push_back(value);
      }
    }
    values.resize(static_cast<std::size_t>(n),
                  filler ? filler->str() : std::string_view());
    return Tensor::strings(values, Shape{n});
  }
  PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(dtype, Shape{n}));
  const std::size_t width = dtype_size(dtype);
  std::byte* to = out.mutable_data();
  const std::byte* end = to + static_cast<std::size_t>(n) * width;
  for (const Tensor& piece : pieces) {
    const auto bytes = static_cast<std::size_t>(piece.num_elements()) * width;
    if (bytes > 0) std::memcpy(to, piece.data(), bytes);
    to += bytes;
  }
  if (!filler) {
    std::memset(to, 0, static_cast<std::size_t>(end - to));
  } else {
    for (; to < end; to += width) std::memcpy(to, filler->data(), width);
  }
  return out;
}

StatusOr<Element> PackLayout::write(const PackedRow& row) const {
  std::vector<Element> elements;
  elements.reserve(row.pieces.size());
  for (const PackedRow::Piece& piece : row.pieces) {
    elements.push_back(piece.row.block().element(piece.row.at(0)));
  }
  const Element& first = elements.front();
  PS_ASSIGN_OR_RETURN(const Structure* structure,
                      packed_structure(first.structure()));
  Element::Leaves leaves;
  std::vector<Tensor> pieces(elements.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Shape shape{length(i)};
    PS_ASSIGN_OR_RETURN(Tensor segments, Tensor::allocate<std::int32_t>(shape));
    PS_ASSIGN_OR_RETURN(Tensor positions,
                        Tensor::allocate<std::int32_t>(shape));
    std::int32_t* segment = segments.mutable_as<std::int32_t>().data();
    std::int32_t* position = positions.mutable_as<std::int32_t>().data();
    std::int64_t at = 0;
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const Tensor& whole = elements[k][i];
      const std::int64_t size = whole.shape()[0];
      const std::int64_t begin = std::min(size, row.pieces[k].part * length(i));
      const std::int64_t end = std::min(size, begin + length(i));
      pieces[k] = whole.rows(begin, end);
      for (std::int64_t j = 0; j < end - begin; ++j, ++at) {
        segment[at] = static_cast<std::int32_t>(k + 1);
        position[at] = static_cast<std::int32_t>(j);
      }
    }
    for (; at < length(i); ++at) segment[at] = position[at] = 0;
    PS_ASSIGN_OR_RETURN(Tensor values, write_values(pieces, i));
    leaves.push_back(std::move(values));
    leaves.push_back(std::move(segments));
    leaves.push_back(std::move(positions));
  }
  return Element(structure, std::move(leaves));
}

}  // namespace penstock::ops
