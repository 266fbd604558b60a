#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// The state of a shard that runs as a sequencer.
struct ShardPlace {
  /// Input elements before the round that the last one taken lies in.
  std::int64_t round = 0;
  std::int64_t num_shards = 1;
  std::int64_t index = 0;
  /// Of that round, whether the shard's element was let out.
  std::int64_t passed = 0;
};
void encode_place(Encoder& own, const ShardPlace& place);
ShardPlace decode_place(Decoder& own);

/// `mark`, a place in the output of a shard that ran as a sequencer, as one of
/// the shard `to`: where all shards of then had read as much as this one.
StatusOr<Mark> move_shard_state(const Mark& mark, const IndexedOp& to,
                                Cardinality input);

/// Every num_shards-th element, beginning with element `index`.
StatusOr<std::shared_ptr<const Operator>> make_shard(std::int64_t num_shards,
                                                     std::int64_t index);

}  // namespace penstock::ops
