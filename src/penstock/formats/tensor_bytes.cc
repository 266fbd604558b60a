#include "penstock/formats/tensor_bytes.h"

#include <algorithm>
#include <cstring>
#include <protozero/pbf_writer.hpp>

#include "penstock/formats/message_reader_private.h"

namespace penstock {
namespace {

struct ProtoType {
  DType dtype;
  int number;  // in tensorflow.DataType
};
constexpr ProtoType kProtoTypes[] = {
    {DType::kFloat32, 1},   {DType::kFloat64, 2}, {DType::kInt32, 3},
    {DType::kUInt8, 4},     {DType::kInt16, 5},   {DType::kInt8, 6},
    {DType::kString, 7},    {DType::kInt64, 9},   {DType::kBool, 10},
    {DType::kBFloat16, 14}, {DType::kUInt16, 17}, {DType::kFloat16, 19},
    {DType::kUInt32, 22},   {DType::kUInt64, 23}};

// Fields of TensorProto.
enum : std::uint32_t {
  kDType = 1,
  kShape = 2,
  kContent = 4,
  kFloats = 5,
  kDoubles = 6,
  kInts = 7,
  kStrings = 8,
  kInt64s = 10,
  kBools = 11,
  kHalfs = 13,
  kUInt32s = 16,
  kUInt64s = 17,
};

template <class T>
void put(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// Appends an integer in the width of `dtype`.
void put_int(std::uint64_t value, DType dtype, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), dtype_size(dtype));
}

Status malformed(std::string_view why) {
  return absl::DataLossError(
      absl::StrCat("not a serialized tensor: ", to_absl(why)));
}

using protozero::pbf_wire_type;

/// A field of another wire type than its own is none that we know.
bool is(const MessageReader& reader, std::uint32_t tag, pbf_wire_type type) {
  return reader.tag() == tag && reader.wire_type() == type;
}

StatusOr<Shape> parse_shape(MessageReader shape) {
  Shape out;
  while (shape.next()) {
    if (shape.tag() == 3) return malformed("its rank is unknown");
    if (!is(shape, 2, pbf_wire_type::length_delimited)) {
      shape.skip();
      continue;
    }
    MessageReader dim = shape.get_message();
    std::int64_t size = 0;
    while (dim.next()) {
      if (is(dim, 1, pbf_wire_type::varint)) {
        size = dim.get_int64();
      } else {
        dim.skip();
      }
    }
    if (out.rank() == 254) return malformed("its rank is above 254");
    out.push_back(size);
  }
  return out;
}

/// The values of a repeated field, packed or not, as bytes of `dtype`.
void read_values(MessageReader& reader, DType dtype, std::string& out) {
  const pbf_wire_type type = reader.wire_type();
  const bool packed = type == pbf_wire_type::length_delimited;
  switch (reader.tag()) {
    case kFloats:
      if (packed) {
        for (const float v : reader.get_packed_float()) put(v, out);
      } else if (type == pbf_wire_type::fixed32) {
        put(reader.get_float(), out);
      } else {
        reader.skip();
      }
      break;
    case kDoubles:
      if (packed) {
        for (const double v : reader.get_packed_double()) put(v, out);
      } else if (type == pbf_wire_type::fixed64) {
        put(reader.get_double(), out);
      } else {
        reader.skip();
      }
      break;
    default:
      if (packed) {
        for (const std::uint64_t v : reader.get_packed_uint64()) {
          put_int(v, dtype, out);
        }
      } else if (type == pbf_wire_type::varint) {
        put_int(reader.get_uint64(), dtype, out);
      } else {
        reader.skip();
      }
  }
}

std::uint32_t values_field(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return kFloats;
    case DType::kFloat64:
      return kDoubles;
    case DType::kInt64:
      return kInt64s;
    case DType::kBool:
      return kBools;
    case DType::kFloat16:
    case DType::kBFloat16:
      return kHalfs;
    case DType::kUInt32:
      return kUInt32s;
    case DType::kUInt64:
      return kUInt64s;
    case DType::kString:
      return kStrings;
    default:
      return kInts;
  }
}

StatusOr<Tensor> parse_proto(std::string_view bytes, DType wanted) {
  MessageReader first(bytes);
  DType dtype = DType::kInvalid;
  Shape shape;
  while (first.next()) {
    if (is(first, kDType, pbf_wire_type::varint)) {
      const std::int32_t number = first.get_enum();
      for (const ProtoType& type : kProtoTypes) {
        if (type.number == number) dtype = type.dtype;
      }
    } else if (is(first, kShape, pbf_wire_type::length_delimited)) {
      PS_ASSIGN_OR_RETURN(shape, parse_shape(first.get_message()));
    } else {
      first.skip();
    }
  }
  if (dtype == DType::kInvalid) return malformed("its dtype is none of ours");
  if (wanted != DType::kInvalid && wanted != dtype) {
    return invalid_argument("parse_tensor: dtype must be ",
                            to_absl(dtype_name(wanted)), ", the tensor has ",
                            to_absl(dtype_name(dtype)));
  }
  const auto count = shape.checked_num_elements();
  if (!count) return malformed("its shape is impossible");
  std::string content;
  std::vector<std::string_view> strings;
  MessageReader reader(bytes);
  while (reader.next()) {
    const std::uint32_t tag = reader.tag();
    const bool delimited =
        reader.wire_type() == pbf_wire_type::length_delimited;
    if (delimited && tag == kContent && dtype != DType::kString) {
      content = reader.get_bytes_view();
    } else if (delimited && tag == kStrings && dtype == DType::kString) {
      strings.push_back(reader.get_bytes_view());
    } else if (tag == values_field(dtype) && dtype != DType::kString) {
      read_values(reader, dtype, content);
    } else {
      reader.skip();
    }
  }
  // Fewer values than elements: the last one stands for the rest. A small
  // input must not make a large tensor otherwise.
  constexpr std::int64_t kMaxRepeated = std::int64_t{1} << 28;
  const auto n = static_cast<std::size_t>(*count);
  if (dtype == DType::kString) {
    if (strings.size() > n || (strings.empty() && n > 0) ||
        (strings.size() < n && *count > kMaxRepeated)) {
      return malformed("values and shape do not fit");
    }
    if (!strings.empty()) strings.resize(n, strings.back());
    return Tensor::strings(strings, shape);
  }
  const std::size_t width = dtype_size(dtype);
  const std::size_t given = content.size() / width;
  if (content.size() % width != 0 || given > n ||
      (given < n && (given == 0 || *count > kMaxRepeated))) {
    return malformed("values and shape do not fit");
  }
  if (dtype == DType::kBool) {
    for (char& c : content) c = c == 0 ? '\0' : '\1';
  }
  PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(dtype, shape));
  std::byte* to = out.mutable_data();
  if (given > 0) std::memcpy(to, content.data(), content.size());
  for (std::size_t i = given; i < n; ++i) {
    std::memcpy(to + i * width, content.data() + (given - 1) * width, width);
  }
  return out;
}

}  // namespace

StatusOr<Tensor> decode_raw(std::string_view bytes, DType dtype,
                            bool little_endian,
                            std::optional<std::int64_t> fixed_length) {
  const std::size_t width = dtype_size(dtype);
  if (width == 0) {
    return invalid_argument("decode_raw: dtype must be a number, got ",
                            to_absl(dtype_name(dtype)));
  }
  const std::size_t size =
      fixed_length ? static_cast<std::size_t>(*fixed_length) : bytes.size();
  if (fixed_length && (*fixed_length < 0 || size % width != 0)) {
    return invalid_argument("decode_raw: fixed_length must be a multiple of ",
                            width, ", got ", *fixed_length);
  }
  if (size % width != 0) {
    return invalid_argument("decode_raw: bytes must be a multiple of ", width,
                            ", got ", size);
  }
  PS_ASSIGN_OR_RETURN(
      Tensor out,
      Tensor::allocate(dtype, Shape{static_cast<std::int64_t>(size / width)}));
  std::byte* to = out.mutable_data();
  const std::size_t copied = std::min(size, bytes.size());
  if (copied > 0) std::memcpy(to, bytes.data(), copied);
  if (copied < size) std::memset(to + copied, 0, size - copied);
  if (!little_endian && width > 1) {
    for (std::size_t i = 0; i < size; i += width) {
      std::reverse(to + i, to + i + width);
    }
  }
  return out;
}

StatusOr<std::string> serialize_tensor(const Tensor& tensor) {
  std::string out;
  protozero::pbf_writer writer(out);
  const auto* const type = std::find_if(
      std::begin(kProtoTypes), std::end(kProtoTypes),
      [&](const ProtoType& t) { return t.dtype == tensor.dtype(); });
  if (type == std::end(kProtoTypes)) {
    return invalid_argument(
        "serialize_tensor: dtype must be a number or "
        "string, got ",
        to_absl(dtype_name(tensor.dtype())));
  }
  writer.add_enum(kDType, type->number);
  std::string shape;
  for (const std::int64_t d : tensor.shape().dims()) {
    std::string dim;
    if (d != 0) protozero::pbf_writer(dim).add_int64(1, d);
    protozero::pbf_writer(shape).add_message(2, dim);
  }
  writer.add_message(kShape, shape);
  if (tensor.dtype() == DType::kString) {
    for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
      writer.add_bytes(kStrings, tensor.str(i).data(), tensor.str(i).size());
    }
    return out;
  }
  writer.add_bytes(kContent, reinterpret_cast<const char*>(tensor.data()),
                   static_cast<std::size_t>(tensor.num_elements()) *
                       dtype_size(tensor.dtype()));
  return out;
}

StatusOr<Tensor> parse_tensor(std::string_view bytes, DType dtype) {
  try {
    return parse_proto(bytes, dtype);
  } catch (const protozero::exception& e) {
    return malformed(e.what());
  }
}

}  // namespace penstock
