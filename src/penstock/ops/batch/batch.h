#pragma once

#include <functional>
#include <span>

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

/// One element of rows without errors: leaves stacked, ragged values with one
/// more level. A dense component i with ragged_ranks[i] = k > 0 becomes a
/// ragged value of rank k.
StatusOr<Element> stack_rows(const Block& group,
                             std::span<const int> ragged_ranks = {});

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

/// Base of the operators that make one element of each group of `size`: the
/// sequencer that cuts groups, random access and cardinality. They add
/// apply(), which sees whole groups.
class GroupingOp : public Operator, public Transform, public IndexedOp {
 public:
  GroupingOp(std::int64_t size, bool drop_remainder)
      : size_(size), drop_remainder_(drop_remainder) {}

  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return grouped(in[0], size_, drop_remainder_);
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(size_));
    fp.add(static_cast<std::uint64_t>(drop_remainder_));
  }
  std::vector<Part> lower() const override {
    return {{.sequencer = make_regroup(size_, drop_remainder_)},
            {.transform = part_of<Transform>(this)}};
  }
  TransformTraits traits() const override { return {}; }
  const IndexedOp* indexed() const override { return this; }
  std::int64_t group_size() const override { return size_; }
  Status read(const IndexRun& run, IndexInputs& in, CallContext& context,
              std::vector<Block>& out) const override;

 protected:
  /// First dimension of what it makes, as far as it is known.
  std::int64_t static_size() const {
    return drop_remainder_ ? size_ : kUnknownDim;
  }
  const std::int64_t size_;
  const bool drop_remainder_;
};

}  // namespace penstock::ops
