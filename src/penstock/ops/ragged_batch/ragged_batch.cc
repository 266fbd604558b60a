// ragged_batch: consecutive elements as one, rows of different length kept.
//
// A leaf whose spec is fully known is stacked as batch does it. A leaf with
// unknown dimensions becomes ragged up to the last of them: (?,) gives rank 1,
// (3, ?) rank 2. Where not even the rank is known, all dimensions count as
// unknown, so that the result's structure never hangs on which lengths happen
// to meet in a batch. Ragged values gain a level. State: as batch.
#include "penstock/ops/ragged_batch/ragged_batch.h"

#include "penstock/memory/ragged.h"
#include "penstock/ops/batch/batch.h"

namespace penstock::ops {
namespace {

// Ragged rank of a batch of such leaves; -1 if only the data can tell.
int batched_rank(const LeafSpec& leaf) {
  if (!leaf.shape.has_rank()) return -1;
  for (std::size_t d = leaf.shape.rank(); d-- > 0;) {
    if (leaf.shape[d] == kUnknownDim) return static_cast<int>(d) + 1;
  }
  return 0;
}

std::vector<int> batched_ranks(const Spec& spec) {
  std::vector<int> ranks;
  if (!spec.known()) return ranks;
  for (const RaggedComponent& c : ragged_components(spec.structure())) {
    ranks.push_back(
        c.ragged_rank > 0 ? 0 : batched_rank(spec.leaves()[c.first_leaf]));
  }
  return ranks;
}

class RaggedBatch final : public GroupingOp {
 public:
  RaggedBatch(std::int64_t size, bool drop_remainder, const Spec& input)
      : GroupingOp(size, drop_remainder), ranks_(batched_ranks(input)) {}

  std::string_view op() const override { return "ragged_batch"; }
  std::string describe() const override {
    return absl::StrCat("ragged_batch(", size_,
                        drop_remainder_ ? ", drop_remainder=true" : "", ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    const std::vector<int> ranks = batched_ranks(inputs[0]);
    // Without the rank of a leaf the structure of the result is open.
    for (int rank : ranks) {
      if (rank < 0) return Spec();
    }
    return batched_spec(inputs[0], static_size(), ranks);
  }
  Status apply(Block& block, CallContext& context) const override {
    return combine_groups(
        block, size_, context, [&](const Block& group) -> StatusOr<Element> {
          PS_ASSIGN_OR_RETURN(const Block rows, uniform_rows(group));
          return stack_rows(rows, ranks_of(rows));
        });
  }

 private:
  std::vector<int> ranks_of(const Block& rows) const {
    const auto components = ragged_components(rows.structure());
    std::vector<int> ranks = ranks_;
    ranks.resize(components.size(), -1);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] >= 0) continue;
      const Tensor first = rows.column(components[i].first_leaf).row(0);
      ranks[i] = static_cast<int>(first.rank());
    }
    return ranks;
  }

  std::vector<int> ranks_;  // by component
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_ragged_batch(
    std::int64_t batch_size, bool drop_remainder, const Spec& input) {
  if (batch_size < 1) {
    return invalid_argument("ragged_batch: batch_size must be >= 1, got ",
                            batch_size);
  }
  return std::make_shared<RaggedBatch>(batch_size, drop_remainder, input);
}

}  // namespace penstock::ops
