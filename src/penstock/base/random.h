// Counter-based random numbers (Philox 4x32-10).
//
// A value is a pure function of (key, counter), so it does not depend on the
// worker count, the block size or what ran before. Keys are made by mixing
// seed, iteration, origin and stage; see memory/origin.h for what an origin is.
#pragma once

#include <array>
#include <cstdint>

namespace penstock {

/// 64-bit finaliser (splitmix64): bijective and well mixed.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
constexpr std::uint64_t mix64(std::uint64_t a, std::uint64_t b) {
  return mix64(mix64(a) ^ (b * 0xd6e8feb86659fd93ull + 0x2545f4914f6cdd1dull));
}

/// One Philox 4x32-10 block: 128 random bits for (key, counter).
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_hi,
                                    std::uint64_t counter_lo);

/// A stream of numbers under one key. Cheap to copy; not thread-safe.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t key, std::uint64_t stream = 0)
      : key_(key), stream_(stream) {}

  std::uint64_t next_u64() {
    if (used_ == 2) refill();
    return words_[static_cast<std::size_t>(used_++)];
  }
  /// Uniform in [0, bound), without bias. bound must be positive.
  std::uint64_t below(std::uint64_t bound) {
    // Lemire's multiply-shift with rejection.
    std::uint64_t x = next_u64();
    __extension__ using Wide = unsigned __int128;
    auto product = static_cast<Wide>(x) * bound;
    auto low = static_cast<std::uint64_t>(product);
    if (low < bound) {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (low < threshold) {
        product = static_cast<Wide>(next_u64()) * bound;
        low = static_cast<std::uint64_t>(product);
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }
  /// Uniform in [0, 1) with 53 bits.
  double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

 private:
  void refill();

  std::uint64_t key_;
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
  std::array<std::uint64_t, 2> words_{};
  int used_ = 2;
};

}  // namespace penstock
