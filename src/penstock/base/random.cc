#include "penstock/base/random.h"

namespace penstock {

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_hi,
                                    std::uint64_t counter_lo) {
  constexpr std::uint32_t kMul0 = 0xD2511F53u;
  constexpr std::uint32_t kMul1 = 0xCD9E8D57u;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85u;
  auto c0 = static_cast<std::uint32_t>(counter_lo);
  auto c1 = static_cast<std::uint32_t>(counter_lo >> 32);
  auto c2 = static_cast<std::uint32_t>(counter_hi);
  auto c3 = static_cast<std::uint32_t>(counter_hi >> 32);
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(kMul0) * c0;
    const std::uint64_t p1 = static_cast<std::uint64_t>(kMul1) * c2;
    const auto n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const auto n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {c0, c1, c2, c3};
}

void RandomStream::refill() {
  const auto block = philox(key_, stream_, counter_++);
  words_[0] = block[0] | (static_cast<std::uint64_t>(block[1]) << 32);
  words_[1] = block[2] | (static_cast<std::uint64_t>(block[3]) << 32);
  used_ = 0;
}

}  // namespace penstock
