#include "penstock/formats/arrow.h"

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace penstock {
namespace {

/// A batch that its producer takes back when nobody uses it.
struct Batch {
  ArrowArray array = {};
  ~Batch() {
    if (array.release != nullptr) array.release(&array);
  }
};
using BatchRef = std::shared_ptr<Batch>;

struct Schema {
  ArrowSchema schema = {};
  ~Schema() {
    if (schema.release != nullptr) schema.release(&schema);
  }
};

struct Releasing {
  ArrowArrayStream& stream;
  ~Releasing() {
    if (stream.release != nullptr) stream.release(&stream);
  }
};

DType dtype_of_format(std::string_view format) {
  if (format.size() == 1) {
    switch (format[0]) {
      case 'c':
        return DType::kInt8;
      case 'C':
        return DType::kUInt8;
      case 's':
        return DType::kInt16;
      case 'S':
        return DType::kUInt16;
      case 'i':
        return DType::kInt32;
      case 'I':
        return DType::kUInt32;
      case 'l':
        return DType::kInt64;
      case 'L':
        return DType::kUInt64;
      case 'e':
        return DType::kFloat16;
      case 'f':
        return DType::kFloat32;
      case 'g':
        return DType::kFloat64;
      default:
        return DType::kInvalid;
    }
  }
  // Days and seconds are 32 bits wide; other times 64.
  if (format == "tdD" || format == "tts" || format == "ttm") {
    return DType::kInt32;
  }
  if (format.substr(0, 2) == "ts" || format.substr(0, 2) == "tD" ||
      format == "tdm" || format == "ttu" || format == "ttn") {
    return DType::kInt64;
  }
  return DType::kInvalid;
}

bool valid(const void* bits, std::int64_t i) {
  return bits == nullptr ||
         ((static_cast<const std::uint8_t*>(bits)[i / 8] >> (i % 8)) & 1) != 0;
}

class ColumnReader {
 public:
  ColumnReader(BatchRef batch, const ArrowSchema& schema,
               const ArrowArray& array, std::int64_t offset,
               std::int64_t length)
      : batch_(std::move(batch)),
        schema_(schema),
        array_(array),
        first_(offset + array.offset),
        length_(length) {}

  StatusOr<Tensor> read() const {
    const std::string_view format = schema_.format;
    if (schema_.dictionary != nullptr) {
      return refuse("is encoded by a dictionary; cast it to its values");
    }
    if (format == "b") return bits();
    if (format == "u" || format == "z") return strings<std::int32_t>();
    if (format == "U" || format == "Z") return strings<std::int64_t>();
    if (format.substr(0, 3) == "+w:") return fixed_list(format.substr(3));
    const DType dtype = dtype_of_format(format);
    if (dtype == DType::kInvalid) {
      return refuse(absl::StrCat("has the Arrow type '", to_absl(format),
                                 "', which no tensor has"));
    }
    return numbers(dtype, 1);
  }

 private:
  Status refuse(const std::string& why) const {
    return invalid_argument(
        "column '", schema_.name == nullptr ? "" : schema_.name, "' ", why);
  }

  StatusOr<const void*> buffer(std::int64_t i) const {
    if (i >= array_.n_buffers) return refuse("lacks a buffer");
    return array_.buffers[i];
  }

  std::int64_t nulls() const {
    if (array_.null_count == 0 || array_.n_buffers < 1) return 0;
    const void* const bits = array_.buffers[0];
    if (bits == nullptr) return 0;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < length_; ++i) {
      count += valid(bits, first_ + i) ? 0 : 1;
    }
    return count;
  }

  Status check_no_nulls() const {
    const std::int64_t count = nulls();
    if (count == 0) return absl::OkStatus();
    return refuse(
        absl::StrCat("has ", count, " nulls; fill them before it is read"));
  }

  Ref<Buffer> hold(const void* data, std::size_t size) const {
    return Buffer::external(data, size, [batch = batch_] {});
  }

  /// `width` values for each row.
  StatusOr<Tensor> numbers(DType dtype, std::int64_t width) const {
    PS_ASSIGN_OR_RETURN(const void* data, buffer(1));
    const Shape shape = width == 1 ? Shape{length_} : Shape{length_, width};
    const std::size_t size = dtype_size(dtype);
    const auto bytes = static_cast<std::size_t>(length_ * width) * size;
    const auto* from = static_cast<const std::byte*>(data) +
                       static_cast<std::size_t>(first_ * width) * size;
    const std::int64_t missing = nulls();
    const bool floats = dtype == DType::kFloat32 || dtype == DType::kFloat64;
    if (missing > 0 && (!floats || width != 1)) return check_no_nulls();
    const bool aligned = reinterpret_cast<std::uintptr_t>(from) % size == 0;
    if (bytes > 0 && missing == 0 && aligned) {
      return Tensor::from_buffer(dtype, shape, hold(from, bytes), from);
    }
    PS_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(dtype, shape));
    if (bytes > 0) std::memcpy(copy.mutable_data(), from, bytes);
    for (std::int64_t i = 0; missing > 0 && i < length_; ++i) {
      if (valid(array_.buffers[0], first_ + i)) continue;
      const auto at = static_cast<std::size_t>(i);
      if (dtype == DType::kFloat32) {
        copy.mutable_as<float>()[at] = std::numeric_limits<float>::quiet_NaN();
      } else {
        copy.mutable_as<double>()[at] =
            std::numeric_limits<double>::quiet_NaN();
      }
    }
    return copy;
  }

  StatusOr<Tensor> bits() const {
    PS_RETURN_IF_ERROR(check_no_nulls());
    PS_ASSIGN_OR_RETURN(const void* data, buffer(1));
    PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate<bool>(Shape{length_}));
    const auto to = out.mutable_as<bool>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = valid(data, first_ + static_cast<std::int64_t>(i));
    }
    return out;
  }

  template <class Offset>
  StatusOr<Tensor> strings() const {
    PS_RETURN_IF_ERROR(check_no_nulls());
    PS_ASSIGN_OR_RETURN(const void* raw, buffer(1));
    PS_ASSIGN_OR_RETURN(const void* data, buffer(2));
    if (length_ == 0) return Tensor::strings({}, Shape{0});
    const auto* offsets = static_cast<const Offset*>(raw) + first_;
    const auto total = static_cast<std::size_t>(offsets[length_]);
    Ref<Buffer> bytes = hold(data == nullptr ? "" : data, total);
    const auto count = static_cast<std::size_t>(length_) + 1;
    if constexpr (sizeof(Offset) == 8) {
      return Tensor::strings_from(hold(offsets, count * 8), std::move(bytes),
                                  Shape{length_});
    }
    Ref<Buffer> wide = Buffer::allocate(count * 8);
    if (!wide) {
      return absl::ResourceExhaustedError("no memory for offsets of strings");
    }
    auto* const to = reinterpret_cast<std::int64_t*>(wide->data());
    for (std::size_t i = 0; i < count; ++i) to[i] = offsets[i];
    return Tensor::strings_from(std::move(wide), std::move(bytes),
                                Shape{length_});
  }

  StatusOr<Tensor> fixed_list(std::string_view size) const {
    PS_RETURN_IF_ERROR(check_no_nulls());
    const std::int64_t width = std::atoll(std::string(size).c_str());
    if (array_.n_children != 1 || schema_.n_children != 1 || width < 1) {
      return refuse("is a list of a size that no tensor has");
    }
    const ArrowSchema& inner = *schema_.children[0];
    const DType dtype = dtype_of_format(inner.format);
    if (dtype == DType::kInvalid || inner.dictionary != nullptr) {
      return refuse("is a list of something else than numbers");
    }
    // Rows of the list are `width` values of its child.
    ColumnReader values(batch_, inner, *array_.children[0], first_ * width,
                        length_ * width);
    PS_ASSIGN_OR_RETURN(const Tensor flat, values.numbers(dtype, 1));
    return flat.reshaped(Shape{length_, width});
  }

  const BatchRef batch_;
  const ArrowSchema& schema_;
  const ArrowArray& array_;
  const std::int64_t first_;
  const std::int64_t length_;
};

/// A column without rows, for its type.
StatusOr<Tensor> empty_column(const ArrowSchema& schema) {
  const void* none[3] = {nullptr, nullptr, nullptr};
  ArrowArray inner = {};
  inner.n_buffers = 3;
  inner.buffers = none;
  ArrowArray* children[1] = {&inner};
  ArrowArray array = inner;
  array.n_children = 1;
  array.children = children;
  return ColumnReader(nullptr, schema, array, 0, 0).read();
}

Status failed(ArrowArrayStream& stream, const char* what, int code) {
  const char* text = stream.get_last_error(&stream);
  return make_error(StatusCode::kUnknown, what, ": ",
                    text == nullptr ? std::strerror(code) : text);
}

}  // namespace

StatusOr<std::vector<Element>> read_arrow_stream(ArrowArrayStream& stream) {
  const Releasing releasing{stream};
  Schema owner;
  if (const int code = stream.get_schema(&stream, &owner.schema); code != 0) {
    return failed(stream, "the stream has no schema", code);
  }
  const ArrowSchema& schema = owner.schema;
  if (std::string_view(schema.format) != "+s") {
    return invalid_argument("the stream must hold records, not '",
                            schema.format, "'");
  }
  if (schema.n_children == 0) {
    return invalid_argument("the stream must have columns, got none");
  }
  std::vector<Element> batches;
  for (;;) {
    auto batch = std::make_shared<Batch>();
    if (const int code = stream.get_next(&stream, &batch->array); code != 0) {
      return failed(stream, "the stream failed", code);
    }
    const ArrowArray& array = batch->array;
    if (array.release == nullptr) break;  // the end
    if (array.n_children != schema.n_children) {
      return invalid_argument("a record batch has ", array.n_children,
                              " columns, the schema ", schema.n_children);
    }
    std::vector<std::pair<std::string, Element>> items;
    for (std::int64_t c = 0; c < schema.n_children; ++c) {
      const ArrowSchema& field = *schema.children[c];
      const ColumnReader reader(batch, field, *array.children[c], array.offset,
                                array.length);
      PS_ASSIGN_OR_RETURN(Tensor column, reader.read());
      items.emplace_back(field.name == nullptr ? "" : field.name,
                         Element(std::move(column)));
    }
    if (array.length > 0) batches.push_back(Element::dict(std::move(items)));
  }
  if (batches.empty()) {
    std::vector<std::pair<std::string, Element>> items;
    for (std::int64_t c = 0; c < schema.n_children; ++c) {
      const ArrowSchema& field = *schema.children[c];
      PS_ASSIGN_OR_RETURN(Tensor column, empty_column(field));
      items.emplace_back(field.name == nullptr ? "" : field.name,
                         Element(std::move(column)));
    }
    batches.push_back(Element::dict(std::move(items)));
  }
  return batches;
}

}  // namespace penstock
