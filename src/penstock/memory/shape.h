// Sizes of a tensor's dimensions: known (Shape) and partly known
// (PartialShape).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "absl/container/inlined_vector.h"

namespace penstock {

// g++ 12 takes the bytes of an absl::InlinedVector that hold no value for
// uninitialised ones once it inlines, also in programs that include this.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/// Dimensions of a tensor. Up to four are stored without an allocation.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::span<const std::int64_t> dims)
      : dims_(dims.begin(), dims.end()) {}

  std::size_t rank() const { return dims_.size(); }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  std::int64_t& operator[](std::size_t i) { return dims_[i]; }
  std::span<const std::int64_t> dims() const {
    return {dims_.data(), dims_.size()};
  }
  /// Product of the dimensions; 1 for rank 0.
  std::int64_t num_elements() const {
    std::int64_t n = 1;
    for (std::int64_t d : dims_) n *= d;
    return n;
  }
  /// The number of elements, or nothing if a dimension is negative or the
  /// product does not fit.
  std::optional<std::int64_t> checked_num_elements() const;
  /// This shape with `dim` in front.
  Shape prepended(std::int64_t dim) const;
  /// This shape without its first dimension.
  Shape without_first() const { return Shape(dims().subspan(1)); }
  void push_back(std::int64_t dim) { dims_.push_back(dim); }

  std::string to_string() const;  // "(224, 224, 3)"
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  absl::InlinedVector<std::int64_t, 4> dims_;
};

constexpr std::int64_t kUnknownDim = -1;

/// A shape of which the rank or some dimensions may be unknown.
class PartialShape {
 public:
  /// Unknown rank.
  PartialShape() = default;
  PartialShape(const Shape& shape)  // NOLINT(google-explicit-constructor)
      : known_(true), dims_(shape.dims().begin(), shape.dims().end()) {}
  PartialShape(std::initializer_list<std::int64_t> dims)
      : known_(true), dims_(dims) {}

  bool has_rank() const { return known_; }
  std::size_t rank() const { return dims_.size(); }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  void set(std::size_t i, std::int64_t dim) { dims_[i] = dim; }
  bool fully_known() const;
  /// Requires fully_known().
  Shape to_shape() const {
    return Shape(std::span<const std::int64_t>(dims_.data(), dims_.size()));
  }
  bool accepts(const Shape& shape) const;
  PartialShape prepended(std::int64_t dim) const;
  PartialShape without_first() const;
  /// The narrowest shape that accepts all that either accepts.
  static PartialShape unify(const PartialShape& a, const PartialShape& b);
  /// False when no tensor can have both.
  static bool compatible(const PartialShape& a, const PartialShape& b);

  std::string to_string() const;  // "(?, 3)" or "<unknown>"
  friend bool operator==(const PartialShape&, const PartialShape&) = default;

 private:
  bool known_ = false;
  absl::InlinedVector<std::int64_t, 4> dims_;
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace penstock
