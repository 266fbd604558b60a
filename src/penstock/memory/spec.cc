#include "penstock/memory/spec.h"

#include "absl/strings/str_cat.h"

namespace penstock {

std::string LeafSpec::to_string() const {
  if (dtype == DType::kInvalid && !shape.has_rank()) return "?";
  return absl::StrCat(
      dtype == DType::kInvalid ? "?" : to_absl(dtype_name(dtype)),
      shape.has_rank() && shape.rank() == 0 ? "" : shape.to_string());
}

bool LeafSpec::accepts(const Tensor& t) const {
  return (dtype == DType::kInvalid || dtype == t.dtype()) &&
         shape.accepts(t.shape());
}

Spec Spec::tuple(const std::vector<Spec>& children) {
  std::vector<const Structure*> structures;
  std::vector<LeafSpec> leaves;
  for (const Spec& child : children) {
    if (!child.known()) return Spec();
    structures.push_back(child.structure_);
    leaves.insert(leaves.end(), child.leaves_.begin(), child.leaves_.end());
  }
  return Spec(Structure::tuple(std::move(structures)), std::move(leaves));
}

Spec Spec::dict(const std::vector<std::pair<std::string, Spec>>& items) {
  std::vector<std::pair<std::string, const Structure*>> structures;
  std::vector<LeafSpec> leaves;
  for (const auto& [key, child] : items) {
    if (!child.known()) return Spec();
    structures.emplace_back(key, child.structure_);
    leaves.insert(leaves.end(), child.leaves_.begin(), child.leaves_.end());
  }
  return Spec(Structure::dict(std::move(structures)), std::move(leaves));
}

Spec Spec::of(const Element& element) {
  std::vector<LeafSpec> leaves;
  for (const Tensor& t : element.leaves()) {
    leaves.push_back({t.dtype(), PartialShape(t.shape())});
  }
  return Spec(element.structure(), std::move(leaves));
}

Spec Spec::child(std::size_t i) const {
  if (!known()) return Spec();
  const Structure* s = structure_->children()[i];
  const auto begin =
      leaves_.begin() + static_cast<std::ptrdiff_t>(structure_->leaf_offset(i));
  return Spec(s,
              std::vector<LeafSpec>(
                  begin, begin + static_cast<std::ptrdiff_t>(s->num_leaves())));
}

bool Spec::fixed_size() const {
  if (!known()) return false;
  for (const LeafSpec& leaf : leaves_) {
    if (!dtype_is_dense(leaf.dtype) || !leaf.shape.fully_known()) return false;
  }
  return true;
}

Status Spec::check(const Element& element) const {
  if (!known()) return absl::OkStatus();
  if (structure_ != element.structure()) {
    return invalid_argument("expected structure ", to_string(), ", got ",
                            Spec::of(element).to_string());
  }
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (!leaves_[i].accepts(element[i])) {
      return invalid_argument(
          "expected ", leaves_[i].to_string(),
          leaves_.size() > 1 ? absl::StrCat(" in leaf ", i) : "", ", got ",
          LeafSpec{element[i].dtype(), PartialShape(element[i].shape())}
              .to_string());
    }
  }
  return absl::OkStatus();
}

StatusOr<Spec> Spec::unify(const Spec& a, const Spec& b) {
  if (!a.known() || !b.known()) return Spec();
  if (a.structure_ != b.structure_) {
    return invalid_argument("structures differ: ", a.to_string(), " and ",
                            b.to_string());
  }
  Spec out = a;
  for (std::size_t i = 0; i < a.leaves_.size(); ++i) {
    const LeafSpec& x = a.leaves_[i];
    const LeafSpec& y = b.leaves_[i];
    if (x.dtype != DType::kInvalid && y.dtype != DType::kInvalid &&
        x.dtype != y.dtype) {
      return invalid_argument("dtypes of leaf ", i, " differ: ", x.to_string(),
                              " and ", y.to_string());
    }
    out.leaves_[i].dtype = x.dtype == y.dtype ? x.dtype : DType::kInvalid;
    out.leaves_[i].shape = PartialShape::unify(x.shape, y.shape);
  }
  return out;
}

std::string Spec::to_string() const {
  if (!known()) return "<unknown>";
  std::vector<std::string> leaves;
  for (const LeafSpec& leaf : leaves_) leaves.push_back(leaf.to_string());
  return structure_->render(leaves);
}

}  // namespace penstock
