// The pass over a cached dataset: what cache() and cache(path) share.
//
// A sequencer that opens its input itself. Its first step asks the store
// whether the elements are there (then it replays them), or whether this pass
// shall put them there (then it fills while they go by); else they just go by.
// The transform behind it numbers the elements anew, so that stages behind see
// the same origins however the pass ran. State: position, and the epoch that
// the elements are computed in; no payload.
#pragma once

#include <memory>

#include "penstock/graph/operator.h"
#include "penstock/ops/cache/cached_blocks.h"

namespace penstock::ops {

/// Elements that are there.
class CacheReplay {
 public:
  virtual ~CacheReplay() = default;
  virtual std::int64_t size() const = 0;
  /// Emits elements from `position` on, at least one and at most out.room();
  /// gives their number.
  virtual std::int64_t emit(std::int64_t position, Outputs& out) const = 0;
};

/// Takes the elements of one pass. Destroyed before complete(), it leaves
/// nothing behind.
class CacheFill {
 public:
  virtual ~CacheFill() = default;
  virtual Status add(const Rows& rows) = 0;
  virtual Status complete() = 0;
  /// Bytes of the iterator's account that it keeps.
  virtual std::int64_t held_bytes() const { return 0; }
};

struct CacheOpening {
  CacheKey key;
  std::shared_ptr<const CacheReplay> replay;  // or
  std::unique_ptr<CacheFill> fill;            // or neither
};

class CacheStore {
 public:
  virtual ~CacheStore() = default;
  /// Called by the first step of a pass. `own` is the epoch it would compute
  /// in; a saved state prescribes it (`fixed`). Only a pass from the start
  /// (`whole`) can fill.
  virtual StatusOr<CacheOpening> open(const CacheKey& own, bool fixed,
                                      bool whole, std::int64_t budget,
                                      const Spec& spec) = 0;
};

std::shared_ptr<const Sequencer> make_cache_pass(
    std::shared_ptr<CacheStore> store);

/// Numbers elements by their position in the pass.
class Renumber final : public Transform {
 public:
  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    block.set_origins(Origins(context.path, context.tag));
    return absl::OkStatus();
  }
};

/// Origins of elements read by index.
inline Origins origins_of(const IndexRun& run, std::int64_t first,
                          std::int64_t count) {
  if (!run.list) return {run.path, run.at(first), run.step};
  return {run.path,
          std::vector<std::int64_t>(run.list->begin() + first,
                                    run.list->begin() + first + count)};
}

}  // namespace penstock::ops
