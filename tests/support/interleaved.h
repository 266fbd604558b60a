// The model of interleave().
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace penstock::testing {

/// What tf.data documents: slots in turn; one that has ended passes its turn on
/// and is filled again when the turn comes round.
template <class T>
std::vector<T> interleaved(const std::vector<std::vector<T>>& lists,
                           std::size_t cycle, std::size_t block) {
  std::vector<T> out;
  std::vector<std::pair<std::size_t, std::size_t>> slots(cycle, {SIZE_MAX, 0});
  std::size_t next = 0;
  std::size_t open = 0;
  while (next < lists.size() || open > 0) {
    for (auto& [list, at] : slots) {
      if (list == SIZE_MAX) {
        if (next == lists.size()) continue;
        list = next++;
        at = 0;
        ++open;
      }
      for (std::size_t i = 0; i < block; ++i) {
        if (at == lists[list].size()) {
          list = SIZE_MAX;
          --open;
          break;
        }
        out.push_back(lists[list][at++]);
      }
    }
  }
  return out;
}

}  // namespace penstock::testing
