// What a user may say about how a pipeline runs. Every field has a default
// that is right for most; unset fields leave the decision to the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "penstock/memory/element.h"

namespace penstock {

/// num_parallel_calls, cycle_length, prefetch: let the engine decide.
constexpr std::int64_t kAutotune = -1;

/// What happens to an element that failed.
struct ErrorPolicy {
  enum class Kind : std::uint8_t { kInherit, kRaise, kSkip, kReplace };
  Kind kind = Kind::kInherit;
  /// Skip: how many errors are accepted, and which share of all elements.
  std::optional<std::int64_t> limit;
  std::optional<double> rate;
  /// Replace: what takes the element's place.
  Element value;

  static ErrorPolicy raise() { return {Kind::kRaise, {}, {}, {}}; }
  static ErrorPolicy skip(std::optional<std::int64_t> limit = {},
                          std::optional<double> rate = {}) {
    return {Kind::kSkip, limit, rate, {}};
  }
  static ErrorPolicy replace(Element value) {
    return {Kind::kReplace, {}, {}, std::move(value)};
  }
};

struct Options {
  /// Workers that may run at once; default: affinity and cgroup quota.
  std::optional<int> cpu_budget = std::nullopt;
  /// Bytes the iterator may hold; default: the process' cap.
  std::optional<std::int64_t> memory_budget = std::nullopt;
  /// False lets parallel stages hand on results as they finish.
  std::optional<bool> deterministic = std::nullopt;
  /// For every stage that was given no seed of its own.
  std::optional<std::uint64_t> seed = std::nullopt;
  std::optional<bool> autotune = std::nullopt;
  ErrorPolicy on_error = {};
  /// Off: every stage is cut into a segment of its own (for tests).
  std::optional<bool> fuse = std::nullopt;
  /// Most elements in a block (for tests).
  std::optional<std::int64_t> max_block_rows = std::nullopt;

  /// These options where set, else those of `outer`.
  Options over(const Options& outer) const;
};

}  // namespace penstock
