// A place in a stream from which it can be continued.
//
// The pipeline runs ahead of its consumer, so no operator's current state is
// the consumer's. Sequencers therefore attach snapshots to what they emit, and
// a Mark names a place by (the last snapshot before it, elements to drop after
// it). Snapshots are immutable and shared: attaching one costs a pointer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/base/ref.h"

namespace penstock {

class Snapshot;

struct Mark {
  /// Null: the start of the stream.
  Ref<const Snapshot> snapshot;
  std::int64_t skip = 0;

  Mark after(std::int64_t elements) const { return {snapshot, skip + elements}; }
};

class Snapshot final : public RefCounted<Snapshot> {
 public:
  Snapshot() = default;
  /// Of the operator itself, as it wrote it.
  std::string own;
  /// Where to continue each input.
  std::vector<Mark> inputs;
  /// Where to continue the nested datasets that were open.
  std::vector<Mark> opened;
};

}  // namespace penstock
