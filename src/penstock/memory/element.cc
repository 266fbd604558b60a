#include "penstock/memory/element.h"

#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "penstock/base/status.h"

namespace penstock {

Element Element::tuple(std::vector<Element> children) {
  std::vector<const Structure*> structures;
  Leaves leaves;
  for (Element& child : children) {
    structures.push_back(child.structure_);
    for (Tensor& t : child.leaves_) leaves.push_back(std::move(t));
  }
  return {Structure::tuple(std::move(structures)), std::move(leaves)};
}

Element Element::dict(std::vector<std::pair<std::string, Element>> items) {
  std::vector<std::pair<std::string, const Structure*>> structures;
  Leaves leaves;
  for (auto& [key, child] : items) {
    structures.emplace_back(std::move(key), child.structure_);
    for (Tensor& t : child.leaves_) leaves.push_back(std::move(t));
  }
  return {Structure::dict(std::move(structures)), std::move(leaves)};
}

Element Element::ragged(Tensor values, std::vector<Tensor> row_splits) {
  const Structure* s = Structure::ragged(static_cast<int>(row_splits.size()));
  Leaves leaves;
  leaves.push_back(std::move(values));
  for (Tensor& t : row_splits) leaves.push_back(std::move(t));
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
