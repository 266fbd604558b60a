#include "penstock/memory/element.h"

#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "penstock/base/error.h"
#include "penstock/memory/ragged.h"

namespace penstock {
namespace {

// Leaves of `from`, which begin at `first`, in the order of `to`.
bool arrange(const Structure* from, std::size_t first, const Structure* to,
             std::vector<std::size_t>& leaves) {
  if (from == to) {
    for (std::size_t i = 0; i < from->num_leaves(); ++i) {
      leaves.push_back(first + i);
    }
    return true;
  }
  const std::size_t n = to->children().size();
  if (from->kind() != to->kind() || from->tag() != to->tag() || n == 0 ||
      from->children().size() != n ||
      from->ragged_rank() != to->ragged_rank()) {
    return false;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at =
        to->kind() == Structure::Kind::kDict ? from->find(to->keys()[i]) : i;
    if (at == n || !arrange(from->children()[at], first + from->leaf_offset(at),
                            to->children()[i], leaves)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool Element::order_like(const Structure* structure) {
  if (structure_ == structure) return true;
  std::vector<std::size_t> order;
  if (structure_ == nullptr || structure == nullptr ||
      !arrange(structure_, 0, structure, order)) {
    return false;
  }
  Leaves leaves;
  for (const std::size_t i : order) leaves.push_back(std::move(leaves_[i]));
  leaves_ = std::move(leaves);
  structure_ = structure;
  return true;
}

Element Element::tuple(std::vector<Element> children) {
  std::vector<const Structure*> structures;
  Leaves leaves;
  for (Element& child : children) {
    if (!child.defined()) {
      throw Error(invalid_argument("tuple: every child must be defined, child ",
                                   structures.size(), " is not"));
    }
    structures.push_back(child.structure_);
    for (Tensor& t : child.leaves_) leaves.push_back(std::move(t));
  }
  return {Structure::tuple(std::move(structures)), std::move(leaves)};
}

Element Element::dict(std::vector<std::pair<std::string, Element>> items) {
  std::vector<std::pair<std::string, const Structure*>> structures;
  Leaves leaves;
  for (auto& [key, child] : items) {
    if (!child.defined()) {
      throw Error(invalid_argument(
          "dict: every child must be defined, that of '", key, "' is not"));
    }
    structures.emplace_back(std::move(key), child.structure_);
    for (Tensor& t : child.leaves_) leaves.push_back(std::move(t));
  }
  const Structure* structure = Structure::dict(std::move(structures));
  for (std::size_t i = 0; i < structure->keys().size(); ++i) {
    // find() gives the first.
    if (structure->find(structure->keys()[i]) != i) {
      throw Error(invalid_argument("dict: keys must differ, got '",
                                   structure->keys()[i], "' twice"));
    }
  }
  return {structure, std::move(leaves)};
}

Element Element::ragged(Tensor values, std::vector<Tensor> row_splits) {
  const Structure* s = Structure::ragged(static_cast<int>(row_splits.size()));
  Leaves leaves;
  leaves.push_back(std::move(values));
  for (Tensor& t : row_splits) leaves.push_back(std::move(t));
  for (const Tensor& t : leaves) {
    if (!t.defined()) {
      throw Error(invalid_argument("ragged: tensors must be defined"));
    }
  }
  const Status status = check_ragged({leaves.data(), leaves.size()});
  if (!status.ok()) throw Error(status);
  return {s, std::move(leaves)};
}

std::size_t Element::find(std::string_view key) const {
  const std::size_t i = structure_ ? structure_->find(key) : 0;
  if (!structure_ || i >= structure_->children().size()) {
    throw std::out_of_range(
        absl::StrCat("element: no key '", to_absl(key), "' in ",
                     structure_ ? structure_->to_string() : "<undefined>"));
  }
  return i;
}

const Tensor& Element::operator[](std::string_view key) const {
  const std::size_t i = find(key);
  if (structure_->children()[i]->num_leaves() == 0) {
    throw std::out_of_range(absl::StrCat("element: no tensor under key '",
                                         to_absl(key), "' in ",
                                         structure_->to_string()));
  }
  return leaves_[structure_->leaf_offset(i)];
}

Element Element::child(std::size_t i) const {
  const Structure* s = structure_->children()[i];
  const std::size_t begin = structure_->leaf_offset(i);
  Leaves leaves(
      leaves_.begin() + static_cast<std::ptrdiff_t>(begin),
      leaves_.begin() + static_cast<std::ptrdiff_t>(begin + s->num_leaves()));
  return {s, std::move(leaves)};
}

Element Element::child(std::string_view key) const { return child(find(key)); }

std::int64_t Element::byte_size() const {
  std::int64_t n = 0;
  for (const Tensor& t : leaves_) n += t.byte_size();
  return n;
}

std::string Element::to_string() const {
  if (!structure_) return "<undefined>";
  std::vector<std::string> leaves;
  for (const Tensor& t : leaves_) leaves.push_back(t.to_string());
  return structure_->render(leaves);
}

}  // namespace penstock
