// A random permutation of [0, n) that is computed, not stored.
//
// Above kTableSize a generalised Feistel network over an a x b grid with
// a * b >= n, walked again while it leaves [0, n); the grid exceeds n by less
// than sqrt(n), so that hardly ever happens. Small n use a shuffled table:
// every permutation of few elements is then equally likely, which a cipher on
// a tiny domain cannot give.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

class Permutation {
 public:
  static constexpr std::int64_t kTableSize = 1024;

  Permutation(std::uint64_t key, std::int64_t size);

  std::int64_t operator()(std::int64_t i) const;
  /// out[k] = (*this)(begin + k * step).
  void map(std::int64_t begin, std::int64_t step,
           std::span<std::int64_t> out) const;
  std::int64_t size() const { return size_; }

 private:
  static constexpr int kRounds = 6;

  /// Rounds r and r + 1 on a place of the grid.
  void mix(int r, std::uint64_t& row, std::uint64_t& col) const;
  std::int64_t walk(std::uint64_t x) const;

  std::int64_t size_;
  std::uint64_t rows_ = 1;  // a
  std::uint64_t cols_ = 1;  // b
  std::uint64_t keys_[kRounds] = {};
  std::vector<std::int32_t> table_;
};

}  // namespace penstock
