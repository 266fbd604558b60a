// CRC-32C: by ISA-L, or where the machine multiplies polynomials in 256 bits,
// by two units of it at once.
//
// The CRC32 instruction takes 8 bytes a cycle, three chains side by side.
// Beside it the multiplier folds as much again: a block of kStep * n bytes is
// three runs of kRun * n bytes for the one, and kFolded * n for the other. What
// each is worth at the end of the block is added up there (Gopal et al., "Fast
// CRC Computation for Generic Polynomials Using PCLMULQDQ").
#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "penstock/base/codec.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock {
namespace {

std::uint32_t by_isal(const char* data, std::size_t size, std::uint32_t crc) {
  // ISA-L takes a non-const pointer but only reads, and an int for the size.
  constexpr std::size_t kMost = std::size_t{1} << 30;
  auto* bytes =
      const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(data));
  for (; size > kMost; size -= kMost, bytes += kMost) {
    crc = crc32_iscsi(bytes, static_cast<int>(kMost), crc);
  }
  return crc32_iscsi(bytes, static_cast<int>(size), crc);
}

#if defined(__x86_64__)

constexpr std::size_t kRun = 40;
constexpr std::size_t kFolded = 128;
constexpr std::size_t kStep = 3 * kRun + kFolded;
constexpr std::size_t kMaxSteps = 256;

// Polynomials modulo that of CRC-32C, the highest power in the lowest bit.
constexpr std::uint32_t times_x(std::uint32_t a) {
  return (a >> 1) ^ ((a & 1) != 0 ? 0x82f63b78u : 0u);
}
constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int i = 31; i >= 0; --i) {
    if ((a >> i & 1) != 0) product ^= b;
    b = times_x(b);
  }
  return product;
}
constexpr std::uint32_t power_of_x(std::size_t n) {
  std::uint32_t a = 0x80000000u;
  for (; n > 0; --n) a = times_x(a);
  return a;
}

/// at[n] carries a checksum over n * bytes.
template <std::size_t kBytes>
struct Carry {
  std::array<std::uint32_t, kMaxSteps + 1> at{};
  constexpr Carry() {
    const std::uint32_t step = power_of_x(8 * kBytes);
    at[1] = power_of_x(8 * kBytes - 33);
    for (std::size_t n = 2; n <= kMaxSteps; ++n) at[n] = times(at[n - 1], step);
  }
};
constexpr Carry<kFolded> kCarry2;
constexpr Carry<kFolded + kRun> kCarry1;
constexpr Carry<kFolded + 2 * kRun> kCarry0;

template <class T>
T load(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}

#define PENSTOCK_CRC_TARGET \
  __attribute__((target("sse4.2,pclmul,avx2,vpclmulqdq")))

PENSTOCK_CRC_TARGET inline __m256i load256(const char* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
/// The 16 bytes in each half of `a`, carried over as many as `by` stands for.
PENSTOCK_CRC_TARGET inline __m256i fold256(__m256i a, __m256i by, __m256i on) {
  return _mm256_xor_si256(
      _mm256_xor_si256(_mm256_clmulepi64_epi128(a, by, 0x00),
                       _mm256_clmulepi64_epi128(a, by, 0x11)),
      on);
}
template <std::size_t kBytes>
PENSTOCK_CRC_TARGET inline __m256i fold_by() {
  constexpr std::uint32_t kLow = power_of_x(8 * kBytes + 31);
  constexpr std::uint32_t kHigh = power_of_x(8 * kBytes - 33);
  return _mm256_set_epi64x(kHigh, kLow, kHigh, kLow);
}
PENSTOCK_CRC_TARGET inline __m128i carry(std::uint64_t crc,
                                         std::uint32_t over) {
  return _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(crc)),
                              _mm_cvtsi32_si128(static_cast<int>(over)), 0x00);
}

/// Of `n` steps, 1 <= n <= kMaxSteps.
PENSTOCK_CRC_TARGET std::uint32_t block(const char* p, std::size_t n,
                                        std::uint32_t crc) {
  std::uint64_t c0 = crc;
  std::uint64_t c1 = 0;
  std::uint64_t c2 = 0;
  const char* const p1 = p + n * kRun;
  const char* const p2 = p1 + n * kRun;
  const char* q = p2 + n * kRun;
  const auto run = [&](std::size_t at) PENSTOCK_CRC_TARGET {
    for (std::size_t i = at; i < at + kRun; i += 8) {
      c0 = _mm_crc32_u64(c0, load<std::uint64_t>(p + i));
      c1 = _mm_crc32_u64(c1, load<std::uint64_t>(p1 + i));
      c2 = _mm_crc32_u64(c2, load<std::uint64_t>(p2 + i));
    }
  };
  __m256i a = load256(q);
  __m256i b = load256(q + 32);
  __m256i c = load256(q + 64);
  __m256i d = load256(q + 96);
  run(0);
  const __m256i by = fold_by<kFolded>();
  for (std::size_t i = 1; i < n; ++i) {
    q += kFolded;
    a = fold256(a, by, load256(q));
    b = fold256(b, by, load256(q + 32));
    c = fold256(c, by, load256(q + 64));
    d = fold256(d, by, load256(q + 96));
    run(i * kRun);
  }
  const __m256i by_two = fold_by<64>();
  a = fold256(a, by_two, c);
  b = fold256(b, by_two, d);
  a = fold256(a, fold_by<32>(), b);
  constexpr std::uint32_t kLow = power_of_x(8 * 16 + 31);
  constexpr std::uint32_t kHigh = power_of_x(8 * 16 - 33);
  const __m128i by_half = _mm_set_epi64x(kHigh, kLow);
  const __m128i half = _mm256_castsi256_si128(a);
  __m128i last =
      _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(half, by_half, 0x00),
                                  _mm_clmulepi64_si128(half, by_half, 0x11)),
                    _mm256_extracti128_si256(a, 1));
  const __m128i runs = _mm_xor_si128(
      _mm_xor_si128(carry(c0, kCarry0.at[n]), carry(c1, kCarry1.at[n])),
      carry(c2, kCarry2.at[n]));
  last = _mm_xor_si128(last, _mm_slli_si128(runs, 8));
  std::uint64_t sum =
      _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(last)));
  sum = _mm_crc32_u64(sum,
                      static_cast<std::uint64_t>(_mm_extract_epi64(last, 1)));
  return static_cast<std::uint32_t>(sum);
}

PENSTOCK_CRC_TARGET std::uint32_t by_folding(const char* data, std::size_t size,
                                             std::uint32_t crc) {
  // Adding up costs as much as a step gains.
  if (size < 2 * kStep) return by_isal(data, size, crc);
  while (size >= kStep) {
    const std::size_t n = std::min(size / kStep, kMaxSteps);
    crc = block(data, n, crc);
    data += n * kStep;
    size -= n * kStep;
  }
  std::uint64_t sum = crc;
  for (; size >= 8; data += 8, size -= 8) {
    sum = _mm_crc32_u64(sum, load<std::uint64_t>(data));
  }
  crc = static_cast<std::uint32_t>(sum);
  for (; size > 0; ++data, --size) {
    crc = _mm_crc32_u8(crc, static_cast<unsigned char>(*data));
  }
  return crc;
}

using Crc = std::uint32_t (*)(const char*, std::size_t, std::uint32_t);
Crc choose() {
  const bool folds =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
  return folds ? by_folding : by_isal;
}

#endif  // __x86_64__

}  // namespace

std::uint32_t crc32c(std::string_view data, std::uint32_t seed) {
#if defined(__x86_64__)
  static const Crc crc = choose();
  return ~crc(data.data(), data.size(), ~seed);
#else
  return ~by_isal(data.data(), data.size(), ~seed);
#endif
}

}  // namespace penstock
