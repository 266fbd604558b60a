#include "penstock/memory/element_codec.h"

#include <bit>
#include <cstring>

#include "penstock/memory/placement.h"

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little,
              "dense values are stored as they lie in memory");

constexpr std::uint64_t kVersion = 1;
constexpr int kMaxDepth = 64;  // of nested structures
constexpr std::size_t kMaxRank = 255;

Status malformed(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("element: malformed bytes (", to_absl(what), ")"));
}

StatusOr<const Structure*> decode_nested(Decoder& in, int depth) {
  using Kind = Structure::Kind;
  if (depth > kMaxDepth) return malformed("nested too deeply");
  const std::uint64_t kind = in.u64();
  if (!in.ok()) return malformed("structure");
  switch (kind) {
    case static_cast<std::uint64_t>(Kind::kLeaf):
      return Structure::leaf();
    case static_cast<std::uint64_t>(Kind::kAbsent):
      return Structure::absent();
    case static_cast<std::uint64_t>(Kind::kRagged): {
      const std::uint64_t rank = in.u64();
      if (!in.ok() || rank < 1 || rank > kMaxRank) {
        return malformed("ragged rank");
      }
      return Structure::ragged(static_cast<int>(rank));
    }
    case static_cast<std::uint64_t>(Kind::kTuple):
    case static_cast<std::uint64_t>(Kind::kDict):
      break;
    default:
      return malformed("kind of structure");
  }
  const bool dict = kind == static_cast<std::uint64_t>(Kind::kDict);
  const std::string tag(in.bytes());
  const std::size_t n = in.count(dict ? 2 : 1);
  if (!in.ok()) return malformed("structure");
  std::vector<const Structure*> children;
  std::vector<std::pair<std::string, const Structure*>> items;
  for (std::size_t i = 0; i < n; ++i) {
    std::string key(dict ? in.bytes() : std::string_view());
    PS_ASSIGN_OR_RETURN(const Structure* child, decode_nested(in, depth + 1));
    if (dict) {
      items.emplace_back(std::move(key), child);
    } else {
      children.push_back(child);
    }
  }
  return dict ? Structure::dict(std::move(items), tag)
              : Structure::tuple(std::move(children), tag);
}

void encode_tensor(const Tensor& t, Encoder& out) {
  out.u64(static_cast<std::uint64_t>(t.dtype()));
  out.u64(t.rank());
  for (std::int64_t d : t.shape().dims()) {
    out.u64(static_cast<std::uint64_t>(d));
  }
  if (t.dtype() != DType::kString) {
    out.raw({reinterpret_cast<const char*>(t.data()),
             static_cast<std::size_t>(t.byte_size())});
    return;
  }
  const std::int64_t n = t.num_elements();
  for (std::int64_t i = 0; i < n; ++i) out.u64(t.str(i).size());
  for (std::int64_t i = 0; i < n; ++i) out.raw(t.str(i));
}

StatusOr<Tensor> decode_strings(Decoder& in, std::int64_t n,
                                const Shape& shape) {
  // Every length takes a byte at least.
  if (static_cast<std::uint64_t>(n) > in.remaining()) {
    return malformed("too many strings");
  }
  std::vector<std::size_t> lengths(static_cast<std::size_t>(n));
  std::size_t total = 0;
  for (std::size_t& length : lengths) {
    const std::uint64_t l = in.u64();
    if (!in.ok() || l > in.remaining() ||
        __builtin_add_overflow(total, static_cast<std::size_t>(l), &total)) {
      return malformed("length of a string");
    }
    length = static_cast<std::size_t>(l);
  }
  std::string_view bytes = in.raw(total);
  if (!in.ok()) return malformed("truncated strings");
  std::vector<std::string_view> values;
  values.reserve(lengths.size());
  for (std::size_t length : lengths) {
    values.push_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return Tensor::strings(values, shape);
}

StatusOr<Tensor> decode_tensor(Decoder& in) {
  const std::uint64_t type = in.u64();
  const std::size_t rank = in.count();
  if (!in.ok() || rank > kMaxRank) return malformed("rank");
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) {
    shape.push_back(static_cast<std::int64_t>(in.u64()));
  }
  if (!in.ok()) return malformed("dimensions");
  const auto n = shape.checked_num_elements();
  if (!n) return malformed("dimensions");
  if (type == static_cast<std::uint64_t>(DType::kString)) {
    return decode_strings(in, *n, shape);
  }
  const DType dtype = type < static_cast<std::uint64_t>(kNumDTypes)
                          ? static_cast<DType>(type)
                          : DType::kInvalid;
  if (!dtype_is_dense(dtype)) return malformed("dtype");
  if (static_cast<std::uint64_t>(*n) > in.remaining() / dtype_size(dtype)) {
    return malformed("truncated values");
  }
  const std::string_view bytes =
      in.raw(static_cast<std::size_t>(*n) * dtype_size(dtype));
  if (dtype == DType::kBool) {
    for (char c : bytes) {
      if (c != 0 && c != 1) return malformed("bool that is neither 0 nor 1");
    }
  }
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  if (rank == 0) return Tensor::scalar_bytes(dtype, data);
  PlacementScope none(nullptr);
  PS_ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(dtype, shape));
  if (!bytes.empty()) std::memcpy(t.mutable_data(), data, bytes.size());
  return t;
}

/// Splits rise from 0 to the number of rows of the next level.
Status check_splits(const Tensor& splits, const Tensor& next, bool innermost) {
  if (splits.dtype() != DType::kInt64) return malformed("dtype of row_splits");
  if (splits.rank() != 1) return absl::OkStatus();  // of a batch: not flat
  if (next.rank() < 1) return malformed("ragged values");
  const std::int64_t rows = next.shape()[0] - (innermost ? 0 : 1);
  std::int64_t before = 0;
  const auto values = splits.as<std::int64_t>();
  if (values.empty() || values.front() != 0 || values.back() > rows) {
    return malformed("row_splits");
  }
  for (std::int64_t v : values) {
    if (v < before) return malformed("row_splits");
    before = v;
  }
  return absl::OkStatus();
}

Status check_ragged(const Structure& s, std::span<const Tensor> leaves) {
  if (s.kind() == Structure::Kind::kRagged) {
    const auto levels = static_cast<std::size_t>(s.ragged_rank());
    for (std::size_t k = 1; k <= levels; ++k) {
      const bool innermost = k == levels;
      PS_RETURN_IF_ERROR(check_splits(
          leaves[k], innermost ? leaves[0] : leaves[k + 1], innermost));
    }
  }
  for (std::size_t i = 0; i < s.children().size(); ++i) {
    PS_RETURN_IF_ERROR(check_ragged(
        *s.children()[i],
        leaves.subspan(s.leaf_offset(i), s.children()[i]->num_leaves())));
  }
  return absl::OkStatus();
}

}  // namespace

void encode_structure(const Structure& s, Encoder& out) {
  using Kind = Structure::Kind;
  out.u64(static_cast<std::uint64_t>(s.kind()));
  if (s.kind() == Kind::kRagged) {
    out.u64(static_cast<std::uint64_t>(s.ragged_rank()));
  }
  if (s.kind() != Kind::kTuple && s.kind() != Kind::kDict) return;
  out.bytes(s.tag());
  out.u64(s.children().size());
  for (std::size_t i = 0; i < s.children().size(); ++i) {
    if (s.kind() == Kind::kDict) out.bytes(s.keys()[i]);
    encode_structure(*s.children()[i], out);
  }
}

StatusOr<const Structure*> decode_structure(Decoder& in) {
  return decode_nested(in, 0);
}

Status check_encodable(const Element& element) {
  if (!element.defined()) {
    return invalid_argument("an undefined element has no bytes");
  }
  for (const Tensor& t : element.leaves()) {
    if (t.dtype() == DType::kObject) {
      return invalid_argument("a nested dataset has no bytes");
    }
    if (!t.defined())
      return invalid_argument("an undefined tensor has no bytes");
  }
  return absl::OkStatus();
}

Status encode_element(const Element& element, Encoder& out) {
  PS_RETURN_IF_ERROR(check_encodable(element));
  out.u64(kVersion);
  encode_structure(*element.structure(), out);
  for (const Tensor& t : element.leaves()) encode_tensor(t, out);
  return absl::OkStatus();
}

StatusOr<std::string> encode_element(const Element& element) {
  Encoder out;
  PS_RETURN_IF_ERROR(encode_element(element, out));
  return std::move(out).take();
}

StatusOr<Element> decode_element(Decoder& in) {
  const std::uint64_t version = in.u64();
  if (!in.ok()) return malformed("empty");
  if (version != kVersion) {
    return absl::DataLossError(
        absl::StrCat("element: version ", version, " is not known"));
  }
  PS_ASSIGN_OR_RETURN(const Structure* structure, decode_structure(in));
  Element element(structure, {});
  for (std::size_t i = 0; i < structure->num_leaves(); ++i) {
    PS_ASSIGN_OR_RETURN(Tensor t, decode_tensor(in));
    element.mutable_leaves().push_back(std::move(t));
  }
  PS_RETURN_IF_ERROR(check_ragged(
      *structure, std::span<const Tensor>(element.leaves().data(),
                                          element.leaves().size())));
  return element;
}

StatusOr<Element> decode_element(std::string_view bytes) {
  Decoder in(bytes);
  PS_ASSIGN_OR_RETURN(Element element, decode_element(in));
  if (!in.at_end()) return malformed("bytes behind the element");
  return element;
}

}  // namespace penstock
