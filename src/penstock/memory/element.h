// One element of a dataset: a structure and its tensors, leaf by leaf.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "penstock/memory/structure.h"
#include "penstock/memory/tensor.h"

namespace penstock {

// g++ 12 takes the bytes of an absl::InlinedVector that hold no value for
// uninitialised ones once it inlines, also in programs that include this.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

class Element {
 public:
  using Leaves = absl::InlinedVector<Tensor, 1>;

  Element() = default;
  /// A single tensor.
  Element(Tensor tensor)  // NOLINT(google-explicit-constructor)
      : structure_(Structure::leaf()) {
    leaves_.push_back(std::move(tensor));
  }
  Element(const Structure* structure, Leaves leaves)
      : structure_(structure), leaves_(std::move(leaves)) {}

  /// Throws Error if a child is undefined.
  static Element tuple(std::vector<Element> children);
  /// The same, and for a key that comes twice.
  static Element dict(std::vector<std::pair<std::string, Element>> items);
  static Element absent() { return Element(Structure::absent(), {}); }
  /// Rows of different length: `row_splits` are int64, one per level, and rise
  /// from 0 to the rows below. Throws Error if they do not.
  static Element ragged(Tensor values, std::vector<Tensor> row_splits);

  const Structure* structure() const { return structure_; }
  bool defined() const { return structure_ != nullptr; }
  std::size_t size() const { return leaves_.size(); }
  /// Leaf `i`, counted through all nesting.
  const Tensor& operator[](std::size_t i) const { return leaves_[i]; }
  /// Leaf under `key` of a dict; throws std::out_of_range if there is none.
  const Tensor& operator[](std::string_view key) const;
  /// Component `i` of a tuple or dict, as an element of its own.
  Element child(std::size_t i) const;
  Element child(std::string_view key) const;
  const Leaves& leaves() const { return leaves_; }
  Leaves& mutable_leaves() { return leaves_; }
  void set_structure(const Structure* s) { structure_ = s; }

  /// Puts the keys of its dicts in the order of `structure`. False, and nothing
  /// changes, if they differ in more than that.
  bool order_like(const Structure* structure);

  std::int64_t byte_size() const;
  std::string to_string() const;
  friend bool operator==(const Element& a, const Element& b) {
    return a.structure_ == b.structure_ && a.leaves_ == b.leaves_;
  }

 private:
  std::size_t find(std::string_view key) const;

  const Structure* structure_ = nullptr;
  Leaves leaves_;
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace penstock
