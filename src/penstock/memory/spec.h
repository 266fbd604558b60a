// The static description of a dataset's elements, as far as it is known.
//
// Unknown may be: a dimension, a rank, a dtype, or the whole structure (behind
// a function whose result nobody declared). Specs are checked and unified when
// the graph is built; what stays open is checked against the data.
#pragma once

#include <string>
#include <vector>

#include "penstock/base/status.h"
#include "penstock/memory/dtype.h"
#include "penstock/memory/element.h"
#include "penstock/memory/shape.h"
#include "penstock/memory/structure.h"

namespace penstock {

/// One tensor. dtype kInvalid means unknown.
struct LeafSpec {
  DType dtype = DType::kInvalid;
  PartialShape shape;

  std::string to_string() const;  // "int64(3,)", "float32<unknown>", "?"
  bool accepts(const Tensor& t) const;
  friend bool operator==(const LeafSpec&, const LeafSpec&) = default;
};

class Spec {
 public:
  /// Wholly unknown.
  Spec() = default;
  Spec(LeafSpec leaf)  // NOLINT(google-explicit-constructor)
      : structure_(Structure::leaf()), leaves_{std::move(leaf)} {}
  Spec(const Structure* structure, std::vector<LeafSpec> leaves)
      : structure_(structure), leaves_(std::move(leaves)) {}

  static Spec tensor(DType dtype, PartialShape shape) {
    return Spec(LeafSpec{dtype, std::move(shape)});
  }
  template <Number T>
  static Spec scalar() {
    return tensor(dtype_of<T>(), PartialShape(Shape{}));
  }
  static Spec tuple(const std::vector<Spec>& children);
  static Spec dict(const std::vector<std::pair<std::string, Spec>>& items);
  /// Exactly what `element` is.
  static Spec of(const Element& element);

  bool known() const { return structure_ != nullptr; }
  const Structure* structure() const { return structure_; }
  const std::vector<LeafSpec>& leaves() const { return leaves_; }
  std::vector<LeafSpec>& leaves() { return leaves_; }
  /// Spec of component `i`.
  Spec child(std::size_t i) const;
  /// Every leaf dense with a fully known shape.
  bool fixed_size() const;

  /// OK, or what about `element` does not fit.
  Status check(const Element& element) const;
  /// The narrowest spec that accepts both; InvalidArgument naming the leaf if
  /// structure or dtype differ.
  static StatusOr<Spec> unify(const Spec& a, const Spec& b);

  std::string to_string() const;
  friend bool operator==(const Spec&, const Spec&) = default;

 private:
  const Structure* structure_ = nullptr;
  std::vector<LeafSpec> leaves_;
};

}  // namespace penstock
