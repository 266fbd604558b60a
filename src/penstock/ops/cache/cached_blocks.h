// What a cache in memory holds once it is complete, and which elements those
// are.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// The epoch in which the elements of a cache were, or are to be, computed. All
/// iterations see the values of iteration 0, whichever comes first, so that
/// iterators side by side and restored ones agree. The seed is that of the
/// first iterator that reaches the cache.
struct CacheKey {
  Epoch epoch;
  PathRef path;

  friend bool operator==(const CacheKey& a, const CacheKey& b) {
    return a.epoch.seed == b.epoch.seed &&
           a.epoch.iteration == b.epoch.iteration &&
           path_hash(a.path) == path_hash(b.path);
  }
};
void encode_key(const CacheKey& key, Encoder& out);
CacheKey decode_key(Decoder& in);
CacheKey cache_key(const Epoch& epoch, const PathRef& path);

/// Blocks charged to the process' account. Immutable once shared.
class CachedBlocks {
 public:
  /// Consecutive elements that lie in consecutive rows of one block.
  struct Extent {
    BlockRef block;
    std::int64_t row = 0;
    std::int64_t count = 0;
  };

  /// Appends the elements of `block`, which has no errors.
  Status append(const Block& block);
  /// Makes room for `size` elements that are put in any order.
  void make_slots(std::int64_t size);
  /// Element index(i) is row i of `block`, for all rows without an error and
  /// all slots that are still empty. True when every slot is filled.
  StatusOr<bool> put(const Block& block, const IndexRun& run,
                     std::int64_t first);
  bool has(std::int64_t i) const;

  std::int64_t size() const { return size_; }
  std::int64_t bytes() const { return bytes_; }
  /// Where element `i` lies, and how many follow it there, at most `max`.
  Extent at(std::int64_t i, std::int64_t max) const;
  /// The elements of `run`, all of which are present, as blocks.
  Status read(const IndexRun& run, std::vector<Block>& out) const;

 private:
  struct Slot {
    BlockRef block;
    std::int64_t row = 0;
  };
  std::int64_t size_ = 0;
  std::int64_t bytes_ = 0;
  std::vector<BlockRef> blocks_;
  std::vector<std::int64_t> ends_;  // positions behind each block
  std::vector<Slot> slots_;         // instead, if filled in any order
  std::int64_t filled_ = 0;
  Charge slots_charge_;
};

}  // namespace penstock::ops
