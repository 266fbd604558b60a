// Whose rows come next: opened inputs take turns, or they are drawn (cycle 0).
//
// Where prefetch(n) bounds the work, the runtime starts rows of those that have
// their turn later, and only rows that are sure to be among the outputs there
// is room for, whenever the inputs before them end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace penstock {

struct TurnOrder {
  /// Places of `inputs` that are no opened input: the next row of input 0 will
  /// be opened there; or rows that are at hand already.
  static constexpr int kToOpen = -1;
  static constexpr int kAtHand = -2;

  /// Of one turn, and of what is left of the first one.
  std::int64_t rows = 1;
  std::int64_t rows_left = 1;
  /// Turns until the first one comes again; 0: `inputs` gives each next row.
  std::int64_t cycle = 1;
  /// Whoever has rows goes first.
  bool any_order = false;
  /// By place, from the one that has its turn.
  std::vector<int> inputs;
  /// Opened, and take the places of those that end. Cycle 0: who draws them.
  std::vector<int> next;
  /// Rows of input 0 that an output took so far.
  double opened_per_output = 0;

  /// How many rows of the one in `place` are surely among the next `outputs`,
  /// if it has so many.
  std::int64_t rows_within(std::size_t place, std::int64_t outputs) const {
    outputs = std::min(outputs, std::int64_t{1} << 30);  // no product overflows
    const std::int64_t turn = std::min(rows, outputs);
    const std::int64_t round = turn * std::min(cycle, outputs);
    const std::int64_t under_way = std::min(rows_left, outputs);
    std::int64_t first = 0;
    std::int64_t behind = outputs - under_way;
    if (place == 0) {
      first = under_way;
      behind -= round - turn;
    } else {
      behind -= static_cast<std::int64_t>(place - 1) * turn;
    }
    if (behind <= 0) return first;
    return first + behind / round * turn + std::min(turn, behind % round);
  }
};

}  // namespace penstock
