#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Consecutive elements stacked into tensors with a new first dimension.
StatusOr<std::shared_ptr<const Operator>> make_batch(std::int64_t batch_size,
                                                     bool drop_remainder);

/// Gives its input on in whole multiples of `size` rows, and what is left at
/// the end unless it is to be dropped. For every operator that groups.
std::shared_ptr<const Sequencer> make_regroup(std::int64_t size,
                                              bool drop_remainder);

/// Number of groups of `size` in `n` elements.
Cardinality grouped(Cardinality n, std::int64_t size, bool drop_remainder);

/// Calls `combine(rows, origin)` for each group of a regrouped block and
/// collects the results; a group with errors becomes one error.
Status combine_groups(
    Block& block, std::int64_t size, CallContext& context,
    const std::function<StatusOr<Element>(const Block& rows)>& combine);

/// The rows (none of them an error) as a block of one structure, which is
/// InvalidArgument naming two elements if they have several.
StatusOr<Block> uniform_rows(const Block& rows);
/// InvalidArgument naming two elements if `leaf` has several dtypes, or holds
/// nested datasets.
Status check_same_dtype(const Block& rows, std::size_t leaf);

/// Reads the groups `run` of an indexed input and calls `combine` on each
/// block of rows they consist of, with the position of its first row.
Status read_groups(const IndexRun& run, std::int64_t size, IndexInputs& in,
                   const std::function<Status(Block&, std::int64_t)>& combine,
                   std::vector<Block>& out);

}  // namespace penstock::ops
