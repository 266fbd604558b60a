#include "penstock/formats/arrow.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "penstock/memory/block.h"
#include "penstock/memory/ragged.h"

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

/// A dtype whose nulls are NaN.
bool has_nan(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}

void set_nan(Tensor& t, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (t.dtype() == DType::kFloat16) {
    t.mutable_as<Float16>()[at] = to_float16(kNan);
  } else if (t.dtype() == DType::kFloat32) {
    t.mutable_as<float>()[at] = kNan;
  } else {
    t.mutable_as<double>()[at] = std::numeric_limits<double>::quiet_NaN();
  }
}

template <class T>
T load(const void* from, std::int64_t at) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(from) + at, sizeof(T));
  return value;
}

/// One array as an element whose leaves have a row for each of its rows. What
/// lengths, offsets and indices say is checked against each other: the sizes
/// of buffers are the producer's word.
class ColumnReader {
 public:
  /// `length` rows from row `offset` on. Without a `path` it is all there is.
  ColumnReader(BatchRef batch, std::optional<std::string> path,
               const ArrowSchema& schema, const ArrowArray& array,
               std::int64_t offset, std::int64_t length)
      : batch_(std::move(batch)),
        path_(std::move(path)),
        schema_(schema),
        array_(array),
        offset_(offset),
        length_(length),
        first_(offset + array.offset) {}

  StatusOr<Element> read() const {
    PS_RETURN_IF_ERROR(check_rows());
    if (schema_.dictionary != nullptr) return dictionary();
    const std::string_view format = schema_.format;
    if (format == "+s") return fields();
    if (format == "+l") return list<std::int32_t>();
    if (format == "+L") return list<std::int64_t>();
    if (format == "+vl") return list_view<std::int32_t>();
    if (format == "+vL") return list_view<std::int64_t>();
    PS_ASSIGN_OR_RETURN(Tensor values, leaf(format));
    return Element(std::move(values));
  }

 private:
  StatusOr<Tensor> leaf(std::string_view format) const {
    if (format == "b") return bits();
    if (format == "u" || format == "z") return strings<std::int32_t>();
    if (format == "U" || format == "Z") return strings<std::int64_t>();
    if (format == "vu" || format == "vz") return string_views();
    if (format.substr(0, 2) == "w:") return fixed_binary(format.substr(2));
    if (format.substr(0, 3) == "+w:") return fixed_list(format.substr(3));
    const DType dtype = dtype_of_format(format);
    if (dtype == DType::kInvalid) {
      return refuse(absl::StrCat("has the Arrow type '", to_absl(format),
                                 "', which no tensor has"));
    }
    return numbers(dtype);
  }

  Status refuse(const std::string& why) const {
    if (!path_) {
      const bool table = std::string_view(schema_.format) == "+s";
      return invalid_argument(table ? "the table " : "the array ", why);
    }
    return invalid_argument("column '", *path_, "' ", why);
  }

  Status check_rows() const {
    // 16: what a row takes at most, of those whose width the type does not
    // say; so that no product below overflows.
    constexpr std::int64_t kMost =
        std::numeric_limits<std::int64_t>::max() / 16;
    if (array_.offset < 0 || array_.length < 0 || array_.length > kMost ||
        array_.offset > kMost - array_.length) {
      return refuse("has an impossible length");
    }
    if (offset_ < 0 || length_ < 0 || length_ > array_.length ||
        offset_ > array_.length - length_) {
      return refuse(absl::StrCat("has ", array_.length, " rows, fewer than ",
                                 offset_, " + ", length_, " that it needs"));
    }
    return absl::OkStatus();
  }

  /// A buffer that rows are read from.
  StatusOr<const void*> buffer(std::int64_t i) const {
    if (i >= array_.n_buffers || (length_ > 0 && !array_.buffers[i])) {
      return refuse("lacks a buffer");
    }
    return array_.buffers[i];
  }

  bool missing(std::int64_t i) const {
    return !valid(array_.buffers[0], first_ + i);
  }

  std::int64_t nulls() const {
    if (array_.null_count == 0 || array_.n_buffers < 1) return 0;
    if (array_.buffers[0] == nullptr) return 0;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < length_; ++i) count += missing(i) ? 1 : 0;
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

  StatusOr<Tensor> numbers(DType dtype) const {
    PS_ASSIGN_OR_RETURN(const void* data, buffer(1));
    const std::size_t size = dtype_size(dtype);
    const auto bytes = static_cast<std::size_t>(length_) * size;
    const auto* from = static_cast<const std::byte*>(data) +
                       static_cast<std::size_t>(first_) * size;
    const std::int64_t holes = nulls();
    if (holes > 0 && !has_nan(dtype)) return check_no_nulls();
    const bool aligned = reinterpret_cast<std::uintptr_t>(from) % size == 0;
    if (bytes > 0 && holes == 0 && aligned) {
      return Tensor::from_buffer(dtype, Shape{length_}, hold(from, bytes),
                                 from);
    }
    PS_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(dtype, Shape{length_}));
    if (bytes > 0) std::memcpy(copy.mutable_data(), from, bytes);
    for (std::int64_t i = 0; holes > 0 && i < length_; ++i) {
      if (missing(i)) set_nan(copy, i);
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

  StatusOr<Ref<Buffer>> new_offsets() const {
    Ref<Buffer> out = Buffer::allocate(static_cast<std::size_t>(length_ + 1) *
                                       sizeof(std::int64_t));
    if (!out) {
      return absl::ResourceExhaustedError("no memory for offsets of strings");
    }
    return out;
  }

  template <class Offset>
  Status check_rising(const Offset* offsets) const {
    bool rising = offsets[0] >= 0;
    for (std::int64_t i = 0; i < length_; ++i) {
      rising &= offsets[i] <= offsets[i + 1];
    }
    return rising ? absl::OkStatus() : refuse("has offsets that do not rise");
  }

  template <class Offset>
  StatusOr<Tensor> strings() const {
    PS_RETURN_IF_ERROR(check_no_nulls());
    if (length_ == 0) return Tensor::strings({}, Shape{0});
    PS_ASSIGN_OR_RETURN(const void* raw, buffer(1));
    const auto* offsets = static_cast<const Offset*>(raw) + first_;
    PS_RETURN_IF_ERROR(check_rising(offsets));
    const auto total = static_cast<std::size_t>(offsets[length_]);
    const void* data = "";
    if (total > 0) {
      PS_ASSIGN_OR_RETURN(data, buffer(2));
    }
    Ref<Buffer> bytes = hold(data, total);
    const auto count = static_cast<std::size_t>(length_) + 1;
    if constexpr (sizeof(Offset) == 8) {
      return Tensor::strings_from(hold(offsets, count * 8), std::move(bytes),
                                  Shape{length_});
    }
    PS_ASSIGN_OR_RETURN(Ref<Buffer> wide, new_offsets());
    auto* const to = reinterpret_cast<std::int64_t*>(wide->data());
    for (std::size_t i = 0; i < count; ++i) to[i] = offsets[i];
    return Tensor::strings_from(std::move(wide), std::move(bytes),
                                Shape{length_});
  }

  /// A view is 16 bytes: the length, then up to 12 bytes themselves, or 4 of
  /// them, which of the data buffers has all, and where.
  StatusOr<Tensor> string_views() const {
    PS_RETURN_IF_ERROR(check_no_nulls());
    if (length_ == 0) return Tensor::strings({}, Shape{0});
    PS_ASSIGN_OR_RETURN(const void* views, buffer(1));
    // Behind the data buffers one tells their sizes.
    const std::int64_t data_buffers = array_.n_buffers - 3;
    if (data_buffers < 0) return refuse("lacks a buffer");
    const auto* const sizes =
        static_cast<const std::int64_t*>(array_.buffers[2 + data_buffers]);
    std::vector<std::string_view> values;
    values.reserve(static_cast<std::size_t>(length_));
    for (std::int64_t i = 0; i < length_; ++i) {
      const std::int64_t at = 16 * (first_ + i);
      const std::int64_t size = load<std::int32_t>(views, at);
      const auto bytes = static_cast<std::size_t>(size);
      if (size >= 0 && size <= 12) {
        values.emplace_back(static_cast<const char*>(views) + at + 4, bytes);
        continue;
      }
      const std::int64_t which = load<std::int32_t>(views, at + 8);
      const std::int64_t begin = load<std::int32_t>(views, at + 12);
      if (size < 0 || which < 0 || which >= data_buffers || begin < 0 ||
          sizes == nullptr || begin > sizes[which] - size ||
          array_.buffers[2 + which] == nullptr) {
        return refuse(absl::StrCat("has a view outside of its data in row ",
                                   offset_ + i));
      }
      values.emplace_back(
          static_cast<const char*>(array_.buffers[2 + which]) + begin, bytes);
    }
    return Tensor::strings(values, Shape{length_});
  }

  /// The N of 'w:N' and '+w:N', if so many of each row can be counted.
  StatusOr<std::int64_t> parse_width(std::string_view text,
                                     std::int64_t least) const {
    std::int64_t width = -1;
    const auto parsed =
        std::from_chars(text.data(), text.data() + text.size(), width);
    const std::int64_t end = first_ + length_;
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() ||
        width < least ||
        (end > 0 && width > std::numeric_limits<std::int64_t>::max() / end)) {
      return refuse(absl::StrCat("has values of a size that no tensor has: '",
                                 to_absl(text), "'"));
    }
    return width;
  }

  StatusOr<Tensor> fixed_binary(std::string_view size) const {
    PS_RETURN_IF_ERROR(check_no_nulls());
    PS_ASSIGN_OR_RETURN(const std::int64_t width, parse_width(size, 0));
    if (length_ == 0) return Tensor::strings({}, Shape{0});
    const void* data = "";
    if (width > 0) {
      PS_ASSIGN_OR_RETURN(data, buffer(1));
    }
    PS_ASSIGN_OR_RETURN(Ref<Buffer> offsets, new_offsets());
    auto* const to = reinterpret_cast<std::int64_t*>(offsets->data());
    for (std::int64_t i = 0; i <= length_; ++i) to[i] = i * width;
    const auto* const from = static_cast<const char*>(data) + first_ * width;
    Ref<Buffer> bytes = hold(from, static_cast<std::size_t>(length_ * width));
    return Tensor::strings_from(std::move(offsets), std::move(bytes),
                                Shape{length_});
  }

  /// Rows of a list are `width` values of its child.
  StatusOr<Tensor> fixed_list(std::string_view size) const {
    PS_RETURN_IF_ERROR(check_no_nulls());
    PS_ASSIGN_OR_RETURN(const std::int64_t width, parse_width(size, 1));
    PS_ASSIGN_OR_RETURN(const Element flat,
                        items(first_ * width, length_ * width));
    if (flat.structure() != Structure::leaf()) {
      return refuse("is a list of something else than numbers and strings");
    }
    Shape shape{length_, width};
    for (std::size_t d = 1; d < flat[0].rank(); ++d) {
      shape.push_back(flat[0].shape()[d]);
    }
    return flat[0].reshaped(shape);
  }

  /// Values of a list.
  StatusOr<Element> items(std::int64_t begin, std::int64_t count) const {
    if (array_.n_children != 1 || schema_.n_children != 1) {
      return refuse("is a list without values");
    }
    return ColumnReader(batch_, path_, *schema_.children[0],
                        *array_.children[0], begin, count)
        .read();
  }

  StatusOr<Tensor> new_splits() const {
    PS_ASSIGN_OR_RETURN(Tensor splits,
                        Tensor::allocate<std::int64_t>(Shape{length_ + 1}));
    splits.mutable_as<std::int64_t>()[0] = 0;
    return splits;
  }

  StatusOr<Element> ragged(Tensor splits, const Element& values) const {
    const Structure::Kind kind = values.structure()->kind();
    if (kind != Structure::Kind::kLeaf && kind != Structure::Kind::kRagged) {
      return refuse("is a list of records; make it a record of lists");
    }
    std::vector<Tensor> levels = {std::move(splits)};
    for (std::size_t i = 1; i < values.size(); ++i) levels.push_back(values[i]);
    return Element::ragged(values[0], std::move(levels));
  }

  template <class Offset>
  StatusOr<Element> list() const {
    PS_RETURN_IF_ERROR(check_no_nulls());
    PS_ASSIGN_OR_RETURN(Tensor splits, new_splits());
    if (length_ == 0) {
      PS_ASSIGN_OR_RETURN(const Element none, items(0, 0));
      return ragged(std::move(splits), none);
    }
    PS_ASSIGN_OR_RETURN(const void* raw, buffer(1));
    const auto* offsets = static_cast<const Offset*>(raw) + first_;
    PS_RETURN_IF_ERROR(check_rising(offsets));
    const std::span<std::int64_t> to = splits.mutable_as<std::int64_t>();
    for (std::size_t i = 1; i < to.size(); ++i) to[i] = offsets[i] - offsets[0];
    PS_ASSIGN_OR_RETURN(const Element values, items(offsets[0], to.back()));
    return ragged(std::move(splits), values);
  }

  /// Rows that lie anywhere in the values, in any order.
  template <class Offset>
  StatusOr<Element> list_view() const {
    PS_RETURN_IF_ERROR(check_no_nulls());
    PS_ASSIGN_OR_RETURN(Tensor splits, new_splits());
    if (length_ == 0) {
      PS_ASSIGN_OR_RETURN(const Element none, items(0, 0));
      return ragged(std::move(splits), none);
    }
    PS_ASSIGN_OR_RETURN(const void* raw_offsets, buffer(1));
    PS_ASSIGN_OR_RETURN(const void* raw_sizes, buffer(2));
    const auto* const offsets =
        static_cast<const Offset*>(raw_offsets) + first_;
    const auto* const sizes = static_cast<const Offset*>(raw_sizes) + first_;
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const std::span<std::int64_t> to = splits.mutable_as<std::int64_t>();
    std::int64_t begin = kMost;
    std::int64_t end = 0;
    bool in_order = true;
    for (std::size_t i = 0; i + 1 < to.size(); ++i) {
      const std::int64_t from = offsets[i];
      const std::int64_t size = sizes[i];
      if (from < 0 || size < 0 || size > kMost - std::max(from, to[i])) {
        return refuse("has an impossible list");
      }
      to[i + 1] = to[i] + size;
      if (size == 0) continue;
      in_order &= begin == kMost || from == end;
      begin = std::min(begin, from);
      end = std::max(end, from + size);
    }
    begin = std::min(begin, end);
    PS_ASSIGN_OR_RETURN(const Element values, items(begin, end - begin));
    if (in_order) return ragged(std::move(splits), values);
    if (values.structure() != Structure::leaf()) {
      return refuse("is a list view of lists or records; cast it to a list");
    }
    PS_ASSIGN_OR_RETURN(Tensor rows,
                        Tensor::allocate<std::int64_t>(Shape{to.back()}));
    const std::span<std::int64_t> row = rows.mutable_as<std::int64_t>();
    std::size_t k = 0;
    for (std::size_t i = 0; i + 1 < to.size(); ++i) {
      for (std::int64_t j = 0; j < sizes[i]; ++j) {
        row[k++] = offsets[i] - begin + j;
      }
    }
    PS_ASSIGN_OR_RETURN(Tensor gathered, gather_rows(values[0], row));
    return ragged(std::move(splits), gathered);
  }

  StatusOr<Element> fields() const {
    PS_RETURN_IF_ERROR(check_no_nulls());
    const char* const kind = path_ ? "fields" : "columns";
    const std::int64_t count = schema_.n_children;
    if (count == 0) return refuse(absl::StrCat("has no ", kind));
    if (array_.n_children != count) {
      return refuse(absl::StrCat("has ", array_.n_children, " ", kind,
                                 ", its schema ", count));
    }
    std::unordered_set<std::string> names;
    std::vector<std::pair<std::string, Element>> out;
    for (std::int64_t c = 0; c < count; ++c) {
      const ArrowSchema& field = *schema_.children[c];
      std::string name = field.name == nullptr ? "" : field.name;
      if (!names.insert(name).second) {
        return refuse(absl::StrCat("has two ", kind, " with the name '", name,
                                   "'; rename one"));
      }
      std::string path = path_ ? absl::StrCat(*path_, ".", name) : name;
      const ColumnReader reader(batch_, std::move(path), field,
                                *array_.children[c], first_, length_);
      PS_ASSIGN_OR_RETURN(Element column, reader.read());
      out.emplace_back(std::move(name), std::move(column));
    }
    return Element::dict(std::move(out));
  }

  template <class Index>
  Status read_indices(std::int64_t values, std::span<std::int64_t> out) const {
    if (out.empty()) return absl::OkStatus();
    PS_ASSIGN_OR_RETURN(const void* raw, buffer(1));
    const auto* const from = static_cast<const Index*>(raw) + first_;
    const bool holes = nulls() > 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      // Behind the values lies what stands for nulls.
      out[i] = holes && missing(static_cast<std::int64_t>(i))
                   ? values
                   : static_cast<std::int64_t>(from[i]);
      if (out[i] < 0 || out[i] > values || (out[i] == values && !holes)) {
        return refuse(absl::StrCat("has an index outside of its dictionary of ",
                                   values, " values in row ",
                                   offset_ + static_cast<std::int64_t>(i)));
      }
    }
    return absl::OkStatus();
  }

  Status read_indices(char format, std::int64_t values,
                      std::span<std::int64_t> out) const {
    switch (format) {
      case 'c':
        return read_indices<std::int8_t>(values, out);
      case 'C':
        return read_indices<std::uint8_t>(values, out);
      case 's':
        return read_indices<std::int16_t>(values, out);
      case 'S':
        return read_indices<std::uint16_t>(values, out);
      case 'i':
        return read_indices<std::int32_t>(values, out);
      case 'I':
        return read_indices<std::uint32_t>(values, out);
      case 'l':
        return read_indices<std::int64_t>(values, out);
      case 'L':
        return read_indices<std::uint64_t>(values, out);
      default:
        return refuse("has indices that are no integers");
    }
  }

  /// The values, gathered by index.
  StatusOr<Element> dictionary() const {
    if (array_.dictionary == nullptr) return refuse("lacks its dictionary");
    const ArrowArray& words = *array_.dictionary;
    const ColumnReader reader(batch_, path_, *schema_.dictionary, words, 0,
                              words.length);
    PS_ASSIGN_OR_RETURN(Element values, reader.read());
    if (values.structure()->has_ragged()) {
      return refuse("has a dictionary of lists; cast it to its values");
    }
    if (nulls() > 0) {
      const bool plain = values.structure() == Structure::leaf() &&
                         values[0].rank() == 1 && has_nan(values[0].dtype());
      if (!plain) return check_no_nulls();
      PS_ASSIGN_OR_RETURN(Tensor nan,
                          Tensor::allocate(values[0].dtype(), Shape{1}));
      set_nan(nan, 0);
      const Tensor parts[] = {values[0], std::move(nan)};
      PS_ASSIGN_OR_RETURN(values.mutable_leaves()[0], concat_rows(parts));
    }
    const std::string_view format = schema_.format;
    PS_ASSIGN_OR_RETURN(Tensor rows,
                        Tensor::allocate<std::int64_t>(Shape{length_}));
    PS_RETURN_IF_ERROR(read_indices(format.size() == 1 ? format[0] : '?',
                                    words.length,
                                    rows.mutable_as<std::int64_t>()));
    for (Tensor& t : values.mutable_leaves()) {
      PS_ASSIGN_OR_RETURN(t, gather_rows(t, rows.as<std::int64_t>()));
    }
    return values;
  }

  const BatchRef batch_;
  const std::optional<std::string> path_;
  const ArrowSchema& schema_;
  const ArrowArray& array_;
  const std::int64_t offset_;
  const std::int64_t length_;
  const std::int64_t first_;  // row offset_ in the buffers
};

/// An array without rows, for a schema.
struct EmptyArray {
  explicit EmptyArray(const ArrowSchema& schema) {
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      nested.push_back(std::make_unique<EmptyArray>(*schema.children[i]));
      children.push_back(&nested.back()->array);
    }
    array.n_buffers = 3;
    array.buffers = buffers;
    array.n_children = schema.n_children;
    array.children = children.data();
    if (schema.dictionary == nullptr) return;
    nested.push_back(std::make_unique<EmptyArray>(*schema.dictionary));
    array.dictionary = &nested.back()->array;
  }

  const void* buffers[3] = {nullptr, nullptr, nullptr};
  std::vector<std::unique_ptr<EmptyArray>> nested;
  std::vector<ArrowArray*> children;
  ArrowArray array = {};
};

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
  if (std::string_view(schema.format) == "+s" && schema.n_children == 0) {
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
    const ColumnReader table(batch, std::nullopt, schema, array, 0,
                             array.length);
    PS_ASSIGN_OR_RETURN(Element columns, table.read());
    if (array.length > 0) batches.push_back(std::move(columns));
  }
  if (batches.empty()) {
    const EmptyArray none(schema);
    const ColumnReader table(nullptr, std::nullopt, schema, none.array, 0, 0);
    PS_ASSIGN_OR_RETURN(Element columns, table.read());
    batches.push_back(std::move(columns));
  }
  return batches;
}

}  // namespace penstock
