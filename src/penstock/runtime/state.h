// An iterator's state as bytes: versioned, checksummed, bound to its graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/base/status.h"
#include "penstock/graph/mark.h"

namespace penstock {

struct SavedState {
  std::string fingerprint;
  std::int64_t iteration = 0;
  std::uint64_t seed = 0;
  bool ended = false;
  bool had_errors = false;   // until then
  std::uint64_t shards = 0;  // Node::fixed_shards()
  Mark mark;
};

std::string encode_state(const SavedState& state);
/// Treats `bytes` as hostile. DataLoss says what is damaged.
StatusOr<SavedState> decode_state(std::string_view bytes);

}  // namespace penstock
