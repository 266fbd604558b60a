#include "penstock/memory/shape.h"

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

template <class Dims>
std::string render(const Dims& dims) {
  std::string out = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    if (dims[i] == kUnknownDim) {
      out += "?";
    } else {
      absl::StrAppend(&out, dims[i]);
    }
  }
  if (dims.size() == 1) out += ",";
  return out + ")";
}

}  // namespace

std::optional<std::int64_t> Shape::checked_num_elements() const {
  // Also without its zeros it must fit, as for NumPy: parts of the shape are
  // counted too, and it must not matter where the zero stands.
  std::int64_t n = 1;
  bool empty = false;
  for (std::int64_t d : dims_) {
    if (d < 0) return std::nullopt;
    empty |= d == 0;
    if (d != 0 && __builtin_mul_overflow(n, d, &n)) return std::nullopt;
  }
  return empty ? 0 : n;
}

Shape Shape::prepended(std::int64_t dim) const {
  Shape out;
  out.dims_.reserve(dims_.size() + 1);
  out.dims_.push_back(dim);
  out.dims_.insert(out.dims_.end(), dims_.begin(), dims_.end());
  return out;
}

std::string Shape::to_string() const { return render(dims_); }

bool PartialShape::fully_known() const {
  if (!known_) return false;
  for (std::int64_t d : dims_) {
    if (d == kUnknownDim) return false;
  }
  return true;
}

bool PartialShape::accepts(const Shape& shape) const {
  if (!known_) return true;
  if (dims_.size() != shape.rank()) return false;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] != kUnknownDim && dims_[i] != shape[i]) return false;
  }
  return true;
}

PartialShape PartialShape::prepended(std::int64_t dim) const {
  PartialShape out;
  if (!known_) return out;
  out.known_ = true;
  out.dims_.push_back(dim);
  out.dims_.insert(out.dims_.end(), dims_.begin(), dims_.end());
  return out;
}

PartialShape PartialShape::without_first() const {
  PartialShape out;
  if (!known_ || dims_.empty()) return out;
  out.known_ = true;
  out.dims_.assign(dims_.begin() + 1, dims_.end());
  return out;
}

PartialShape PartialShape::unify(const PartialShape& a, const PartialShape& b) {
  PartialShape out;
  if (!a.known_ || !b.known_ || a.rank() != b.rank()) return out;
  out = a;
  for (std::size_t i = 0; i < a.rank(); ++i) {
    if (a[i] != b[i]) out.dims_[i] = kUnknownDim;
  }
  return out;
}

bool PartialShape::compatible(const PartialShape& a, const PartialShape& b) {
  if (!a.known_ || !b.known_) return true;
  if (a.rank() != b.rank()) return false;
  for (std::size_t i = 0; i < a.rank(); ++i) {
    if (a[i] != kUnknownDim && b[i] != kUnknownDim && a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

std::string PartialShape::to_string() const {
  return known_ ? render(dims_) : "<unknown>";
}

}  // namespace penstock
