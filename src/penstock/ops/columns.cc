#include "penstock/ops/columns.h"

namespace penstock::ops {
namespace {

/// The block with `change` made to every element that is not an error.
template <class Change>
Status rebuild(Block& block, Change change) {
  BlockBuilder builder;
  builder.reserve(block.size());
  for (std::int64_t i = 0; i < block.size(); ++i) {
    if (ErrorRef error = block.error_ref(i)) {
      builder.add_error(std::move(error));
    } else {
      builder.add(change(block.element(i), i));
    }
  }
  Origins origins = block.origins();
  PS_ASSIGN_OR_RETURN(block, builder.finish());
  block.set_origins(std::move(origins));
  return absl::OkStatus();
}

}  // namespace

Status widen(Block& block, const Tensor& values, Side side) {
  const bool front = side == Side::kFront;
  if (block.mixed()) {
    return rebuild(block, [&](Element element, std::int64_t i) {
      Element value(values.row(i));
      return front ? Element::tuple({std::move(value), std::move(element)})
                   : Element::tuple({std::move(element), std::move(value)});
    });
  }
  // Without a structure there is nothing but errors.
  if (block.structure() == nullptr) return absl::OkStatus();
  const Structure* leaf = Structure::leaf();
  const Structure* structure =
      front ? Structure::tuple({leaf, block.structure()})
            : Structure::tuple({block.structure(), leaf});
  Block::Columns columns;
  if (front) columns.emplace_back(values);
  for (Column& column : block.columns()) columns.push_back(std::move(column));
  if (!front) columns.emplace_back(values);
  block.replace(structure, std::move(columns));
  return absl::OkStatus();
}

Status narrow_to_first(Block& block) {
  if (block.mixed()) {
    return rebuild(block, [](const Element& element, std::int64_t) {
      return element.child(0);
    });
  }
  if (block.structure() == nullptr) return absl::OkStatus();
  const Structure* first = block.structure()->children()[0];
  Block::Columns columns = std::move(block.columns());
  columns.resize(first->num_leaves());
  block.replace(first, std::move(columns));
  return absl::OkStatus();
}

}  // namespace penstock::ops
