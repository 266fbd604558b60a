#include "penstock/memory/tensor.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <typeinfo>

#include "absl/strings/escaping.h"
#include "penstock/base/error.h"
#include "penstock/memory/placement.h"

namespace penstock {
namespace {

thread_local Placement* t_placement = nullptr;

class BadTensorType final : public std::bad_cast {
 public:
  explicit BadTensorType(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

}  // namespace

Placement* current_placement() { return t_placement; }

PlacementScope::PlacementScope(Placement* placement)
    : previous_(std::exchange(t_placement, placement)) {}
PlacementScope::~PlacementScope() { t_placement = previous_; }

StatusOr<Tensor> Tensor::allocate(DType dtype, const Shape& shape) {
  if (!dtype_is_dense(dtype)) {
    return invalid_argument("tensor: cannot allocate dtype ",
                            to_absl(dtype_name(dtype)));
  }
  const auto count = shape.checked_num_elements();
  std::int64_t bytes = 0;
  if (!count ||
      __builtin_mul_overflow(
          *count, static_cast<std::int64_t>(dtype_size(dtype)), &bytes)) {
    return invalid_argument("tensor: shape ", shape.to_string(),
                            " has a negative or too large dimension");
  }
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = shape;
  if (shape.rank() == 0) return t;
  if (Placement* p = t_placement;
      p != nullptr && !p->taken && p->dtype == dtype && p->shape == shape) {
    p->taken = true;
    t.buffer_ = p->buffer;
    t.data_ = p->data;
    return t;
  }
  t.buffer_ = Buffer::allocate(static_cast<std::size_t>(bytes));
  if (!t.buffer_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("tensor: the system has no ", bytes, " bytes for shape ",
                     shape.to_string(), " of ", to_absl(dtype_name(dtype))));
  }
  t.data_ = t.buffer_->data();
  return t;
}

Tensor Tensor::from_bytes(DType dtype, const Shape& shape, const void* values,
                          std::size_t count) {
  const auto wanted = shape.checked_num_elements();
  if (!wanted || static_cast<std::size_t>(*wanted) != count) {
    throw std::invalid_argument(absl::StrCat(
        "tensor: ", count, " values do not fill shape ", shape.to_string()));
  }
  auto t = allocate(dtype, shape);
  if (!t.ok()) throw std::bad_alloc();
  if (count > 0) {
    std::memcpy(t->mutable_data(), values, count * dtype_size(dtype));
  }
  return *std::move(t);
}

Tensor Tensor::string(std::string_view value) {
  Ref<Buffer> buffer = Buffer::allocate(value.size());
  if (!buffer) throw std::bad_alloc();
  if (!value.empty()) {
    std::memcpy(buffer->data(), value.data(), value.size());
  }
  const std::string_view copy(reinterpret_cast<const char*>(buffer->data()),
                              value.size());
  return string_view_of(copy, std::move(buffer));
}

Tensor Tensor::string_view_of(std::string_view value, Ref<Buffer> owner) {
  Tensor t;
  t.dtype_ = DType::kString;
  t.chars_ = value.data();
  const auto length = static_cast<std::int64_t>(value.size());
  std::memcpy(t.inline_, &length, sizeof(length));
  t.bytes_ = std::move(owner);
  return t;
}

StatusOr<Tensor> Tensor::strings(std::span<const std::string_view> values,
                                 const Shape& shape) {
  const auto wanted = shape.checked_num_elements();
  if (!wanted || static_cast<std::size_t>(*wanted) != values.size()) {
    return invalid_argument("tensor: ", values.size(),
                            " strings do not fill shape ", shape.to_string());
  }
  std::size_t total = 0;
  for (std::string_view v : values) total += v.size();
  Ref<Buffer> offsets =
      Buffer::allocate((values.size() + 1) * sizeof(std::int64_t));
  Ref<Buffer> bytes = Buffer::allocate(total);
  if (!offsets || !bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "tensor: the system has no ", total, " bytes for strings"));
  }
  auto* offset = reinterpret_cast<std::int64_t*>(offsets->data());
  auto* out = reinterpret_cast<char*>(bytes->data());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    offset[i] = at;
    if (!values[i].empty()) {
      std::memcpy(out + at, values[i].data(), values[i].size());
    }
    at += static_cast<std::int64_t>(values[i].size());
  }
  offset[values.size()] = at;
  if (shape.rank() == 0) {
    return string_view_of({out, total}, std::move(bytes));
  }
  return strings_from(std::move(offsets), std::move(bytes), shape);
}

Tensor Tensor::strings_from(Ref<Buffer> offsets, Ref<Buffer> bytes,
                            const Shape& shape) {
  Tensor t;
  t.dtype_ = DType::kString;
  t.shape_ = shape;
  t.data_ = offsets->data();
  t.chars_ = reinterpret_cast<const char*>(bytes->data());
  t.buffer_ = std::move(offsets);
  t.bytes_ = std::move(bytes);
  return t;
}

Tensor Tensor::framed_strings(Ref<Buffer> offsets, Ref<Buffer> bytes,
                              const char* first, std::uint32_t gap,
                              const Shape& shape) {
  Tensor t = strings_from(std::move(offsets), std::move(bytes), shape);
  t.chars_ = first;
  t.gap_ = gap;
  return t;
}

StatusOr<Tensor> Tensor::scattered_strings(
    std::span<const std::string_view> values, std::vector<Ref<Buffer>> owners,
    const Shape& shape) {
  Ref<Buffer> places = Buffer::allocate(values.size_bytes());
  if (!places) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "tensor: the system has no memory for ", values.size(), " strings"));
  }
  if (!values.empty()) {
    std::memcpy(places->data(), values.data(), values.size_bytes());
  }
  Tensor t = strings_from(std::move(places),
                          Buffer::together(std::move(owners)), shape);
  t.gap_ = kScattered;
  return t;
}

Tensor Tensor::object(Ref<Object> object) {
  Tensor t;
  t.dtype_ = DType::kObject;
  t.object_ = std::move(object);
  return t;
}

Tensor Tensor::from_buffer(DType dtype, const Shape& shape, Ref<Buffer> buffer,
                           const std::byte* data) {
  if (shape.rank() == 0) return scalar_bytes(dtype, data);
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = shape;
  t.data_ = data;
  t.buffer_ = std::move(buffer);
  return t;
}

std::string_view Tensor::str(std::int64_t i) const {
  check_type(DType::kString);
  if (data_ == nullptr) {
    std::int64_t length = 0;
    std::memcpy(&length, inline_, sizeof(length));
    return {chars_, static_cast<std::size_t>(length)};
  }
  if (scattered()) return places()[i];
  const std::int64_t* offset = offsets() + i;
  return {chars_ + offset[0],
          static_cast<std::size_t>(offset[1] - offset[0] - gap_)};
}

std::vector<std::string_view> Tensor::strs() const {
  check_type(DType::kString);
  if (data_ == nullptr) return {str()};
  if (scattered()) return {places(), places() + num_elements()};
  std::vector<std::string_view> out(static_cast<std::size_t>(num_elements()));
  const std::int64_t* offset = offsets();
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = {chars_ + offset[i],
              static_cast<std::size_t>(offset[i + 1] - offset[i] - gap_)};
  }
  return out;
}

std::int64_t Tensor::byte_size() const {
  if (dtype_ == DType::kString) {
    if (data_ == nullptr) return static_cast<std::int64_t>(str().size());
    const std::int64_t n = num_elements();
    if (!scattered()) return offsets()[n] - offsets()[0] + (n + 1) * 8;
    std::int64_t bytes = n * string_stride();
    for (std::int64_t i = 0; i < n; ++i) {
      bytes += static_cast<std::int64_t>(places()[i].size());
    }
    return bytes;
  }
  if (dtype_ == DType::kObject) return object_ ? object_->byte_size() : 0;
  return num_elements() * static_cast<std::int64_t>(dtype_size(dtype_));
}

std::int64_t Tensor::pinned_bytes() const {
  std::int64_t n = 0;
  if (buffer_) n += static_cast<std::int64_t>(buffer_->capacity());
  if (bytes_) n += static_cast<std::int64_t>(bytes_->capacity());
  return n;
}

bool Tensor::pins_more() const {
  return penstock::pins_more(pinned_bytes(), byte_size());
}

bool Tensor::exclusive() const {
  if (dtype_ == DType::kString || dtype_ == DType::kObject) return false;
  return !buffer_ || (buffer_->writable() && buffer_->unique());
}

Tensor Tensor::row(std::int64_t i) const {
  if (i < 0 || rank() == 0 || i >= shape_[0]) [[unlikely]]
    throw_bad_rows(i, i + 1);
  Tensor t;
  t.dtype_ = dtype_;
  if (dtype_ == DType::kString) {
    if (rank() == 1) return string_view_of(str(i), bytes_);
    t.shape_ = shape_.without_first();
    t.data_ = data_ + t.shape_.num_elements() * i * string_stride();
    t.chars_ = chars_;
    t.gap_ = gap_;
    t.buffer_ = buffer_;
    t.bytes_ = bytes_;
    return t;
  }
  if (rank() == 1) {
    const std::size_t width = dtype_size(dtype_);
    std::memcpy(t.inline_, data() + static_cast<std::size_t>(i) * width, width);
    return t;
  }
  t.shape_ = shape_.without_first();
  t.data_ = data_ + t.byte_size() * i;
  t.buffer_ = buffer_;
  return t;
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin > end || rank() == 0 || end > shape_[0]) {
    throw_bad_rows(begin, end);
  }
  Tensor t = *this;
  std::int64_t stride = 1;
  for (std::size_t d = 1; d < rank(); ++d) stride *= shape_[d];
  const std::int64_t width =
      dtype_ == DType::kString ? string_stride()
                               : static_cast<std::int64_t>(dtype_size(dtype_));
  t.data_ = data_ + begin * stride * width;
  t.shape_[0] = end - begin;
  return t;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  if (shape.num_elements() != num_elements()) {
    throw Error(invalid_argument("tensor: shape ", shape_.to_string(),
                                 " cannot become ", shape.to_string()));
  }
  if (shape.rank() == 0 && rank() != 0) {
    if (dtype_ == DType::kString) return string_view_of(str(0), bytes_);
    return scalar_bytes(dtype_, data());
  }
  if (rank() == 0 && shape.rank() != 0) {
    // A rank-0 value has no buffer of its own: make one.
    if (dtype_ == DType::kString) {
      const std::string_view v = str();
      return strings(std::span(&v, 1), shape).value();
    }
    Tensor t = allocate(dtype_, shape).value();
    std::memcpy(t.mutable_data(), data(), dtype_size(dtype_));
    return t;
  }
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

StatusOr<Tensor> Tensor::compact() const {
  if (dtype_ == DType::kString) return strings(strs(), shape_);
  if (dtype_ == DType::kObject || rank() == 0) return *this;
  PlacementScope none(nullptr);
  PS_ASSIGN_OR_RETURN(Tensor t, allocate(dtype_, shape_));
  std::memcpy(t.mutable_data(), data(), static_cast<std::size_t>(byte_size()));
  return t;
}

void Tensor::throw_bad_type(DType wanted) const {
  throw BadTensorType(absl::StrCat("tensor: holds ",
                                   to_absl(dtype_name(dtype_)), ", read as ",
                                   to_absl(dtype_name(wanted))));
}

void Tensor::throw_bad_rows(std::int64_t begin, std::int64_t end) const {
  throw Error(absl::OutOfRangeError(absl::StrCat("tensor: rows from ", begin,
                                                 " to ", end, " of shape ",
                                                 shape_.to_string())));
}

bool operator==(const Tensor& a, const Tensor& b) {
  if (a.dtype_ != b.dtype_ || !(a.shape_ == b.shape_)) return false;
  if (a.dtype_ == DType::kObject) return a.object_ == b.object_;
  if (a.dtype_ == DType::kString) {
    const std::int64_t n = a.num_elements();
    for (std::int64_t i = 0; i < n; ++i) {
      if (a.str(i) != b.str(i)) return false;
    }
    return true;
  }
  return std::memcmp(a.data(), b.data(),
                     static_cast<std::size_t>(a.byte_size())) == 0;
}

namespace {

template <class T>
void append_value(std::string& out, T v) {
  if constexpr (std::is_same_v<T, bool>) {
    out += v ? "true" : "false";
  } else if constexpr (std::is_same_v<T, Float16> ||
                       std::is_same_v<T, BFloat16>) {
    absl::StrAppend(&out, to_float(v));
  } else if constexpr (sizeof(T) == 1) {
    absl::StrAppend(&out, static_cast<int>(v));
  } else {
    absl::StrAppend(&out, v);
  }
}

void append_dense(std::string& out, const Tensor& t, std::int64_t i) {
  const auto at = [&]<class T>(T) { append_value(out, t.as<T>()[i]); };
  switch (t.dtype()) {
    case DType::kBool:
      return at(bool{});
    case DType::kInt8:
      return at(std::int8_t{});
    case DType::kInt16:
      return at(std::int16_t{});
    case DType::kInt32:
      return at(std::int32_t{});
    case DType::kInt64:
      return at(std::int64_t{});
    case DType::kUInt8:
      return at(std::uint8_t{});
    case DType::kUInt16:
      return at(std::uint16_t{});
    case DType::kUInt32:
      return at(std::uint32_t{});
    case DType::kUInt64:
      return at(std::uint64_t{});
    case DType::kFloat16:
      return at(Float16{});
    case DType::kBFloat16:
      return at(BFloat16{});
    case DType::kFloat32:
      return at(float{});
    case DType::kFloat64:
      return at(double{});
    default:
      break;
  }
}

}  // namespace

std::string Tensor::to_string(std::int64_t max_values) const {
  if (!defined()) return "<undefined>";
  if (dtype_ == DType::kObject) return object_ ? object_->to_string() : "null";
  std::string out;
  const std::int64_t n = num_elements();
  if (rank() > 0) out = "[";
  for (std::int64_t i = 0; i < std::min(n, max_values); ++i) {
    if (i > 0) out += ", ";
    if (dtype_ == DType::kString) {
      absl::StrAppend(&out, "'", absl::CEscape(to_absl(str(i))), "'");
    } else {
      append_dense(out, *this, i);
    }
  }
  if (n > max_values) out += ", ...";
  if (rank() > 0) out += "]";
  if (rank() > 1) absl::StrAppend(&out, " shape ", shape_.to_string());
  return out;
}

}  // namespace penstock
