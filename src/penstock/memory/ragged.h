// Ragged values: rows of different length, as `values` and `row_splits`.
//
// A ragged value of rank k is 1 + k tensors: values, whose first dimension
// runs over the innermost rows, then k int64 row_splits, the outermost first.
// Rows i of a level are [splits[i], splits[i + 1]) of the next one; splits
// begin at 0. Rank 0 is a dense tensor. Nothing here looks at payload but to
// copy it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/base/status.h"
#include "penstock/memory/element.h"
#include "penstock/memory/spec.h"

namespace penstock {

/// A leaf (rank 0) or ragged value inside a structure: where its tensors are.
struct RaggedComponent {
  std::size_t first_leaf = 0;
  int ragged_rank = 0;
  std::size_t num_leaves() const {
    return 1 + static_cast<std::size_t>(ragged_rank);
  }
};

/// The leaves and ragged values of `s`, in order.
std::vector<RaggedComponent> ragged_components(const Structure* s);
/// `s` with component i ragged of rank ranks[i] (0: a leaf).
const Structure* with_ragged_ranks(const Structure* s,
                                   std::span<const int> ranks);

/// OK if `value` (values, then splits) is a well-formed ragged value.
Status check_ragged(std::span<const Tensor> value);
/// Number of outermost rows.
std::int64_t ragged_rows(std::span<const Tensor> value);
/// Row `i`, a value of rank one lower: a view, but for splits that must be
/// counted from 0 again. Requires rank >= 1 and a well-formed value.
StatusOr<Element::Leaves> ragged_row(std::span<const Tensor> value,
                                     std::int64_t i);
/// A dense tensor of rank >= `rank` as a ragged value of that rank. A view.
StatusOr<Element::Leaves> ragged_from_dense(const Tensor& dense, int rank);
/// Values of equal rank k as rows of one value of rank k + 1. Requires equal
/// dtypes and equal dimensions behind the first of `values`.
StatusOr<Element::Leaves> stack_ragged(std::span<const Element::Leaves> values);

/// One tensor of all rows of `parts`. Requires rank >= 1, equal dtypes and
/// dimensions behind the first.
StatusOr<Tensor> concat_rows(std::span<const Tensor> parts);

/// One value of the outermost rows of all `parts`, which have equal rank k >= 0
/// and the dtypes and dimensions that concat_rows requires.
StatusOr<Element::Leaves> concat_ragged(std::span<const Element::Leaves> parts);

/// Spec of the outermost rows of all components of `spec`, which have a first
/// dimension or are ragged.
Spec row_spec(const Spec& spec);
/// Spec of a batch of elements of `spec`: a new first dimension of
/// `batch_size` (or kUnknownDim); ragged values gain a level, and so do dense
/// components i with ragged_ranks[i] > 0 (empty: none). InvalidArgument for
/// nested datasets.
StatusOr<Spec> batched_spec(const Spec& spec, std::int64_t batch_size,
                            std::span<const int> ragged_ranks = {});

}  // namespace penstock
