// How many elements a dataset has, as far as that is known without running it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace penstock {

class Cardinality {
 public:
  static constexpr std::int64_t kInfinite = -1;
  static constexpr std::int64_t kUnknown = -2;

  constexpr Cardinality() = default;
  constexpr Cardinality(std::int64_t n) : n_(n) {}  // NOLINT
  static constexpr Cardinality infinite() { return {kInfinite}; }
  static constexpr Cardinality unknown() { return {kUnknown}; }

  constexpr bool finite() const { return n_ >= 0; }
  constexpr bool is_infinite() const { return n_ == kInfinite; }
  constexpr bool is_unknown() const { return n_ == kUnknown; }
  /// The count, or kInfinite / kUnknown.
  constexpr std::int64_t value() const { return n_; }

  /// At most `n` elements of it.
  constexpr Cardinality capped(std::int64_t n) const {
    if (n == 0) return {0};
    if (is_unknown()) return unknown();
    return is_infinite() ? Cardinality(n) : Cardinality(std::min(n_, n));
  }
  std::string to_string() const {
    if (is_infinite()) return "infinite";
    return is_unknown() ? "unknown" : std::to_string(n_);
  }
  friend constexpr bool operator==(Cardinality, Cardinality) = default;

 private:
  std::int64_t n_ = kUnknown;
};

}  // namespace penstock
