// Shared by the rules about stages that wait.
#pragma once

#include <algorithm>

#include "penstock/doctor/rule.h"

namespace penstock::doctor {

/// The stage whose waiting limits, with the width that the engine chose; or -1.
inline int waiting_stage(const Model& m) {
  const int i = m.pipeline().stage;
  if (i < 0 || m.pipeline().limit != Limit::kWait) return -1;
  const Need& need = need_of(m, i);
  if (need.wait < 2 * need.compute) return -1;
  if (stage_of(m, i).executor == "process") return -1;
  if (lanes_used(m, i) < 0.5) return -1;
  return i;
}

/// Elements large enough that their transfer, not the way there, takes time.
inline bool moves_bytes(const Model& m, int i) {
  constexpr double kLarge = 64 << 10;
  const StageFacts& s = stage_of(m, i);
  return std::max(s.bytes, s.read_bytes) > kLarge * std::max(1.0, s.elements);
}

}  // namespace penstock::doctor
