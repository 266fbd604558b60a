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
  auto x = static_cast<std::uint64_t>(i);
  do {
    std::uint64_t row = x / cols_;
    std::uint64_t col = x % cols_;
    for (int r = 0; r < kRounds; r += 2) {
      row += scale(fold(col, keys_[r]), rows_);
      if (row >= rows_) row -= rows_;
      col += scale(fold(row, keys_[r + 1]), cols_);
      if (col >= cols_) col -= cols_;
    }
    x = row * cols_ + col;
  } while (x >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(x);
}

void Permutation::map(std::int64_t begin, std::int64_t step,
                      std::span<std::int64_t> out) const {
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k] = (*this)(begin + static_cast<std::int64_t>(k) * step);
  }
}

}  // namespace penstock
