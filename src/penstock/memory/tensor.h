// A dense array, or an array of byte strings, or an opaque object.
//
// A Tensor is a cheap handle: copying it shares the memory. Rank-0 numbers
// live inside the handle, so an element-by-element consumer touches no shared
// count. Tensors are immutable once they were handed on; only the writer of a
// fresh tensor may use mutable_data().
//
// Strings: rank 0 is (pointer, length); rank >= 1 is int64 offsets[n + 1] into
// one byte buffer (Arrow large_binary), so a slice is free. Records that lie in
// a file's bytes with a frame around each are not moved: string_gap() bytes,
// the same everywhere, then belong to nobody between two strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/base/ref.h"
#include "penstock/base/status.h"
#include "penstock/memory/buffer.h"
#include "penstock/memory/dtype.h"
#include "penstock/memory/shape.h"

namespace penstock {

/// What a kObject tensor holds (for example a nested dataset).
class Object : public RefCounted<Object> {
 public:
  virtual ~Object() = default;
  virtual std::string to_string() const = 0;
  /// Bytes it keeps alive, roughly.
  virtual std::int64_t byte_size() const { return 64; }
};

/// Whether `bytes` that keep `pinned` alive keep more than they are charged:
/// a quarter, as much as the pool rounds up, and a little are not counted.
constexpr bool pins_more(std::int64_t pinned, std::int64_t bytes) {
  return 4 * (pinned - 4096) > 5 * bytes;
}

class Tensor {
 public:
  Tensor() = default;

  // --- making tensors ---------------------------------------------------
  /// Uninitialised memory for `shape`; ResourceExhausted when there is none.
  /// Takes the slot that a running batch offers, if it fits (placement.h).
  static StatusOr<Tensor> allocate(DType dtype, const Shape& shape);
  template <Number T>
  static StatusOr<Tensor> allocate(const Shape& shape) {
    return allocate(dtype_of<T>(), shape);
  }
  template <Number T>
  static Tensor scalar(T value) {
    Tensor t;
    t.dtype_ = dtype_of<T>();
    std::memcpy(t.inline_, &value, sizeof(T));
    return t;
  }
  /// A rank-0 number of `dtype` from its bytes.
  static Tensor scalar_bytes(DType dtype, const std::byte* value) {
    Tensor t;
    t.dtype_ = dtype;
    std::memcpy(t.inline_, value, dtype_size(dtype));
    return t;
  }
  /// A rank-0 string; copies `value`.
  static Tensor string(std::string_view value);
  /// A rank-0 string that lies inside `owner`.
  static Tensor string_view_of(std::string_view value, Ref<Buffer> owner);
  static StatusOr<Tensor> strings(std::span<const std::string_view> values,
                                  const Shape& shape);
  /// A string tensor from offsets (int64, n + 1 of them) and bytes.
  static Tensor strings_from(Ref<Buffer> offsets, Ref<Buffer> bytes,
                             const Shape& shape);
  /// The same in place: string i is [offsets[i], offsets[i + 1] - gap) from
  /// `first` on, which lies in `bytes`.
  static Tensor framed_strings(Ref<Buffer> offsets, Ref<Buffer> bytes,
                               const char* first, std::uint32_t gap,
                               const Shape& shape);
  /// Strings where they lie: string i is values[i], in memory of `owners`.
  static StatusOr<Tensor> scattered_strings(
      std::span<const std::string_view> values, std::vector<Ref<Buffer>> owners,
      const Shape& shape);
  static Tensor object(Ref<Object> object);
  /// A dense tensor over memory that `buffer` keeps alive.
  static Tensor from_buffer(DType dtype, const Shape& shape, Ref<Buffer> buffer,
                            const std::byte* data);
  /// Copies `values`. Throws std::invalid_argument when there are not as many
  /// as `shape` says, std::bad_alloc when out of memory.
  template <Number T>
  static Tensor from(std::span<const T> values, const Shape& shape) {
    return from_bytes(dtype_of<T>(), shape, values.data(), values.size());
  }
  template <Number T>
  static Tensor from(std::initializer_list<T> values) {
    return from(std::span<const T>(values.begin(), values.size()),
                Shape{static_cast<std::int64_t>(values.size())});
  }
  template <Number T>
  static Tensor from(const std::vector<T>& values) {
    return from(std::span<const T>(values),
                Shape{static_cast<std::int64_t>(values.size())});
  }
  template <Number T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }

  // --- reading ----------------------------------------------------------
  bool defined() const { return dtype_ != DType::kInvalid; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::size_t rank() const { return shape_.rank(); }
  std::int64_t num_elements() const { return shape_.num_elements(); }
  /// Dense data; null for strings and objects.
  const std::byte* data() const { return data_ ? data_ : inline_; }
  /// The values; the type must match dtype() (std::bad_cast if not).
  template <Number T>
  std::span<const T> as() const {
    check_type(dtype_of<T>());
    return {reinterpret_cast<const T*>(data()),
            static_cast<std::size_t>(num_elements())};
  }
  /// The value of a rank-0 tensor, or the first one.
  template <Number T>
  T value() const {
    check_type(dtype_of<T>());
    T v;
    std::memcpy(&v, data(), sizeof(T));
    return v;
  }
  /// String `i`, which must be in [0, num_elements()): it is not checked.
  std::string_view str(std::int64_t i = 0) const;
  std::vector<std::string_view> strs() const;
  Object* object() const { return object_.get(); }

  /// Payload bytes: values, or string bytes, with gaps, plus offsets.
  std::int64_t byte_size() const;
  /// Bytes of the memory this handle keeps alive, counted whole.
  std::int64_t pinned_bytes() const;
  /// It is a view that keeps more alive than it is charged.
  bool pins_more() const;
  /// The only handle to writable memory of ours.
  bool exclusive() const;
  std::byte* mutable_data() {
    return data_ ? const_cast<std::byte*>(data_) : inline_;
  }
  template <Number T>
  std::span<T> mutable_as() {
    check_type(dtype_of<T>());
    return {reinterpret_cast<T*>(mutable_data()),
            static_cast<std::size_t>(num_elements())};
  }

  // --- views ------------------------------------------------------------
  /// Row `i` of the first dimension; rank-0 numbers are copied, the rest share.
  /// Throws Error (OutOfRange) if there is none.
  Tensor row(std::int64_t i) const;
  /// The same into `out`; fastest for numbers when `out` is undefined. `i` is
  /// not checked.
  void row_into(std::int64_t i, Tensor& out) const {
    const std::size_t width = dtype_size(dtype_);
    if (rank() != 1 || width == 0 || out.defined()) {
      out = row(i);
      return;
    }
    out.become_scalar(dtype_, data() + static_cast<std::size_t>(i) * width);
  }
  /// Makes an undefined tensor the rank-0 number of `dtype` at `from`.
  void become_scalar(DType dtype, const std::byte* from) {
    dtype_ = dtype;
    // Of constant size: a call of memcpy would cost more than the rest.
    switch (dtype_size(dtype)) {
      case 1:
        std::memcpy(inline_, from, 1);
        break;
      case 2:
        std::memcpy(inline_, from, 2);
        break;
      case 4:
        std::memcpy(inline_, from, 4);
        break;
      default:
        std::memcpy(inline_, from, 8);
        break;
    }
  }
  /// Rows [begin, end). Throws Error (OutOfRange) if there are fewer.
  Tensor rows(std::int64_t begin, std::int64_t end) const;
  /// The same values under another shape. Throws Error (InvalidArgument) if it
  /// has another size.
  Tensor reshaped(const Shape& shape) const;
  /// A copy that pins nothing but itself.
  StatusOr<Tensor> compact() const;

  const Ref<Buffer>& buffer() const { return buffer_; }
  /// Null for scattered strings.
  const std::int64_t* string_offsets() const {
    return scattered() ? nullptr : offsets();
  }
  const char* string_bytes() const { return chars_; }
  /// Bytes between a string and the next. Whoever reads string_offsets()
  /// itself needs 0, as compact() gives.
  std::uint32_t string_gap() const { return gap_; }
  /// Strings that do not lie one behind the other.
  bool scattered() const { return gap_ == kScattered; }
  /// The memory that strings lie in; null where nobody owns it.
  const Ref<Buffer>& string_owner() const { return bytes_; }

  std::string to_string(std::int64_t max_values = 8) const;
  friend bool operator==(const Tensor& a, const Tensor& b);

 private:
  static constexpr std::uint32_t kScattered = UINT32_MAX;

  static Tensor from_bytes(DType dtype, const Shape& shape, const void* values,
                           std::size_t count);
  const std::int64_t* offsets() const {
    return reinterpret_cast<const std::int64_t*>(data_);
  }
  const std::string_view* places() const {
    return reinterpret_cast<const std::string_view*>(data_);
  }
  /// Bytes of data_ for a string.
  std::int64_t string_stride() const {
    return scattered() ? sizeof(std::string_view) : sizeof(std::int64_t);
  }
  void check_type(DType wanted) const {
    if (wanted != dtype_) [[unlikely]]
      throw_bad_type(wanted);
  }
  [[noreturn]] void throw_bad_type(DType wanted) const;
  [[noreturn]] void throw_bad_rows(std::int64_t begin, std::int64_t end) const;

  DType dtype_ = DType::kInvalid;
  std::uint32_t gap_ = 0;  // of strings; kScattered
  Shape shape_;
  const std::byte* data_ = nullptr;      // null: the value is in inline_
  const char* chars_ = nullptr;          // strings: base of the offsets
  alignas(8) std::byte inline_[8] = {};  // rank-0 number, or string length
  Ref<Buffer> buffer_;                   // dense data, offsets, or places
  Ref<Buffer> bytes_;                    // string bytes
  Ref<Object> object_;
};

}  // namespace penstock
