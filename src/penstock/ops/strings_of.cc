#include "penstock/ops/strings_of.h"

namespace penstock::ops {

StatusOr<std::vector<std::string_view>> strings_of(const Block& block) {
  const auto n = static_cast<std::size_t>(block.size());
  std::vector<std::string_view> out(n);
  if (block.errors().size() == n) return out;
  const auto refuse = [](const Spec& spec) {
    return invalid_argument("elements must be strings, got ", spec.to_string());
  };
  if (block.mixed()) {
    return invalid_argument(
        "elements must be strings, got different structures");
  }
  if (block.structure() != Structure::leaf()) {
    for (std::int64_t i = 0; i < block.size(); ++i) {
      if (block.error_at(i) == nullptr) {
        return refuse(Spec::of(block.element(i)));
      }
    }
  }
  const Column& column = block.column(0);
  if (column.packed()) {
    const Tensor& all = column.tensor();
    if (all.dtype() != DType::kString || all.rank() != 1) {
      return refuse(Spec::of(all.row(0)));
    }
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = all.str(static_cast<std::int64_t>(i));
    }
    return out;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (block.error_at(static_cast<std::int64_t>(i)) != nullptr) continue;
    const Tensor& t = column.rows()[i];
    if (t.dtype() != DType::kString || t.rank() != 0) {
      return refuse(Spec::of(t));
    }
    out[i] = t.str();
  }
  return out;
}

std::vector<std::int64_t> error_rows(const Block& block) {
  std::vector<std::int64_t> out;
  for (const auto& [row, error] : block.errors()) out.push_back(row);
  return out;
}

Status check_strings_spec(const Spec& spec) {
  if (!spec.known()) return absl::OkStatus();
  if (spec.structure()->is_leaf()) {
    const LeafSpec& leaf = spec.leaves()[0];
    if ((leaf.dtype == DType::kString || leaf.dtype == DType::kInvalid) &&
        PartialShape::compatible(leaf.shape, PartialShape(Shape{}))) {
      return absl::OkStatus();
    }
  }
  return invalid_argument("elements must be strings, got ", spec.to_string());
}

}  // namespace penstock::ops
