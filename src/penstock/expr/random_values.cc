#include "penstock/expr/random_values.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "penstock/base/random.h"

namespace penstock::expr {
namespace {

// Apart from the streams that typed C++ functions draw from (stream 0).
constexpr std::uint64_t kStreamBase = 0x657870720000'0000ull;

// Two independent normals from two uniforms (Box and Muller).
struct Pair {
  double first;
  double second;
};
Pair normal_pair(RandomStream& random) {
  const double u = 1.0 - random.uniform();  // (0, 1]
  const double angle = 2.0 * std::numbers::pi * random.uniform();
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

template <class T>
void fill_normal(RandomStream& random, std::int64_t n, std::byte* out) {
  T* const o = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < n; i += 2) {
    const Pair pair = normal_pair(random);
    o[i] = static_cast<T>(pair.first);
    if (i + 1 < n) o[i + 1] = static_cast<T>(pair.second);
  }
}

}  // namespace

std::uint64_t native_key(std::uint64_t key, std::uint64_t call) {
  return mix64(key, kStreamBase + call);
}

void fill_random(RandomKind kind, DType dtype, std::uint64_t key,
                 std::uint64_t call, std::int64_t bound, std::int64_t n,
                 std::byte* out) {
  RandomStream random(key, kStreamBase + call);
  switch (kind) {
    case RandomKind::kUniform:
      if (dtype == DType::kFloat32) {
        auto* const o = reinterpret_cast<float*>(out);
        for (std::int64_t i = 0; i < n; i += 2) {
          const std::uint64_t word = random.next_u64();
          o[i] = static_cast<float>(static_cast<std::uint32_t>(word) >> 8) *
                 0x1.0p-24f;
          if (i + 1 < n) o[i + 1] = static_cast<float>(word >> 40) * 0x1.0p-24f;
        }
      } else {
        auto* const o = reinterpret_cast<double*>(out);
        for (std::int64_t i = 0; i < n; ++i) o[i] = random.uniform();
      }
      return;
    case RandomKind::kNormal:
      if (dtype == DType::kFloat32)
        fill_normal<float>(random, n, out);
      else
        fill_normal<double>(random, n, out);
      return;
    case RandomKind::kBelow: {
      auto* const o = reinterpret_cast<std::int64_t*>(out);
      for (std::int64_t i = 0; i < n; ++i) {
        o[i] = static_cast<std::int64_t>(
            random.below(static_cast<std::uint64_t>(bound)));
      }
      return;
    }
    case RandomKind::kPermutation: {
      auto* const o = reinterpret_cast<std::int64_t*>(out);
      for (std::int64_t i = 0; i < n; ++i) o[i] = i;
      for (std::int64_t i = n - 1; i > 0; --i) {
        const auto j = static_cast<std::int64_t>(
            random.below(static_cast<std::uint64_t>(i) + 1));
        std::swap(o[i], o[j]);
      }
      return;
    }
  }
}

}  // namespace penstock::expr
