// The elements of a window as a dataset: an indexed source in memory.
#pragma once

#include <memory>
#include <vector>

#include "penstock/graph/node.h"

namespace penstock::ops {

/// Pieces of blocks that several leaves' datasets share, without errors and
/// of one structure.
using WindowRows = std::shared_ptr<const std::vector<Block>>;

/// Visits the units a window splits `structure` into, a dataset each: leaves
/// and ragged values. fn(first leaf, structure of the unit).
template <class F>
void for_each_unit(const Structure* structure, std::size_t leaf, const F& fn) {
  if (structure->is_leaf() || structure->kind() == Structure::Kind::kRagged) {
    fn(leaf, structure);
    return;
  }
  for (std::size_t i = 0; i < structure->children().size(); ++i) {
    for_each_unit(structure->children()[i], leaf + structure->leaf_offset(i),
                  fn);
  }
}

/// `structure` with a leaf in place of each unit.
const Structure* unit_structure(const Structure* structure);

/// The unit at `leaf` of every row, as a dataset of `spec`.
StatusOr<NodeRef> make_window_source(WindowRows rows, std::size_t leaf,
                                     const Structure* unit, Spec spec);

}  // namespace penstock::ops
