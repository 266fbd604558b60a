// The first half of flat_map, interleave and group_by_window: from elements
// to the datasets they become.
//
// A transform calls the user's function for each element, in parallel. A
// dataset that is small and cheap is read on the spot: the elements of all such
// datasets of a block lie in one block, so that a dataset of three elements
// costs no pipe of its own. Larger ones are left for the merge to open.
#pragma once

#include <memory>

#include "penstock/graph/node.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

/// What the elements of one block became. Every row of the block that Expand
/// gives refers to it: leaf 0 is an int64 pair, leaf 1 this object. The pair is
/// [begin, end) of the element's rows in `rows`, or (-1, index into `open`).
class Expansion final : public Object {
 public:
  struct Nested {
    NodeRef node;
    PathRef path;
    /// The dataset may hold what its function was called with, so that stays
    /// charged as long as the dataset is open; and what it alone holds.
    std::shared_ptr<const Charge> argument;
  };
  std::string to_string() const override { return "<nested datasets>"; }

  BlockRef rows;  // null if there are none
  /// The merge lets go of what it has opened.
  mutable std::vector<Nested> open;
};

/// An element that failed becomes a dataset of one error.
std::shared_ptr<const Transform> make_expand(DatasetFunctionRef fn,
                                             int max_parallel);

/// Turns elements that `spec` does not accept into errors.
std::shared_ptr<const Transform> make_spec_check(Spec spec);

}  // namespace penstock::ops
