#include "penstock/base/permutation.h"

#include <cmath>

#include "penstock/base/random.h"

namespace penstock {
namespace {

// One multiplication folded: enough diffusion per round, 6 rounds in all.
inline std::uint64_t fold(std::uint64_t x, std::uint64_t key) {
  const auto product = static_cast<unsigned __int128>(x ^ key) *
                       (0x9e3779b97f4a7c15ull ^ (key << 1 | 1));
  return static_cast<std::uint64_t>(product) ^
         static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t scale(std::uint64_t hash, std::uint64_t bound) {
  return static_cast<std::uint64_t>(
      (static_cast<unsigned __int128>(hash) * bound) >> 64);
}

}  // namespace

Permutation::Permutation(std::uint64_t key, std::int64_t size) : size_(size) {
  if (size <= kTableSize) {
    table_.resize(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < table_.size(); ++i) {
      table_[i] = static_cast<std::int32_t>(i);
    }
    RandomStream random(key);
    for (std::size_t i = table_.size(); i > 1; --i) {
      std::swap(table_[i - 1], table_[random.below(i)]);
    }
    return;
  }
  const auto n = static_cast<std::uint64_t>(size);
  rows_ = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
  cols_ = (n + rows_ - 1) / rows_;
  RandomStream random(key);
  for (std::uint64_t& k : keys_) k = random.next_u64();
}

std::int64_t Permutation::operator()(std::int64_t i) const {
  if (size_ <= kTableSize) return table_[static_cast<std::size_t>(i)];
  return walk(static_cast<std::uint64_t>(i));
}

// The grid has a few cells more than there are elements: a walk that ends on
// one of them goes on from there.
std::int64_t Permutation::walk(std::uint64_t x) const {
  do {
    std::uint64_t row = x / cols_;
    std::uint64_t col = x % cols_;
    for (int r = 0; r < kRounds; r += 2) mix(r, row, col);
    x = row * cols_ + col;
  } while (x >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(x);
}

inline void Permutation::mix(int r, std::uint64_t& row,
                             std::uint64_t& col) const {
  row += scale(fold(col, keys_[r]), rows_);
  row -= row >= rows_ ? rows_ : 0;  // a branch would be a coin toss
  col += scale(fold(row, keys_[r + 1]), cols_);
  col -= col >= cols_ ? cols_ : 0;
}

void Permutation::map(std::int64_t begin, std::int64_t step,
                      std::span<std::int64_t> out) const {
  std::size_t k = 0;
  if (size_ > kTableSize && begin >= 0 && step >= 0) {
    // Rounds depend on each other, elements do not: eight in turns keep the
    // multiplier busy. Rows and columns move by constant steps, so there is
    // no division either.
    constexpr std::size_t kLanes = 8;
    const auto n = static_cast<std::uint64_t>(size_);
    const std::uint64_t step_rows = static_cast<std::uint64_t>(step) / cols_;
    const std::uint64_t step_cols = static_cast<std::uint64_t>(step) % cols_;
    std::uint64_t next_row = static_cast<std::uint64_t>(begin) / cols_;
    std::uint64_t next_col = static_cast<std::uint64_t>(begin) % cols_;
    for (; k + kLanes <= out.size(); k += kLanes) {
      std::uint64_t row[kLanes];
      std::uint64_t col[kLanes];
      for (std::size_t l = 0; l < kLanes; ++l) {
        row[l] = next_row;
        col[l] = next_col;
        next_row += step_rows;
        next_col += step_cols;
        const bool carry = next_col >= cols_;
        next_col -= carry ? cols_ : 0;
        next_row += carry ? 1 : 0;
      }
      for (int r = 0; r < kRounds; r += 2) {
        for (std::size_t l = 0; l < kLanes; ++l) mix(r, row[l], col[l]);
      }
      for (std::size_t l = 0; l < kLanes; ++l) {
        const std::uint64_t x = row[l] * cols_ + col[l];
        out[k + l] = x < n ? static_cast<std::int64_t>(x) : walk(x);
      }
    }
  }
  for (; k < out.size(); ++k) {
    out[k] = (*this)(begin + static_cast<std::int64_t>(k) * step);
  }
}

}  // namespace penstock
