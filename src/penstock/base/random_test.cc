#include "penstock/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace penstock {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers published with Random123 for philox4x32-10.
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox(0, 0, 0),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ull, ~0ull, ~0ull),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // Counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0.
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, IsAPureFunctionOfKeyAndStream) {
  RandomStream a(1, 2);
  RandomStream b(1, 2);
  RandomStream other_key(2, 2);
  RandomStream other_stream(1, 3);
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t v = a.next_u64();
    EXPECT_EQ(v, b.next_u64());
    equal += v == other_key.next_u64();
    equal += v == other_stream.next_u64();
  }
  EXPECT_EQ(equal, 0);
}

TEST(RandomStream, ACopyContinuesAlike) {
  RandomStream a(7);
  a.next_u64();
  RandomStream b = a;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(a.next_u64(), b.next_u64());
}

TEST(RandomStream, BelowStaysBelowAndReachesEverything) {
  RandomStream random(3);
  for (const std::uint64_t bound :
       {1ull, 2ull, 3ull, 7ull, 1000ull, (1ull << 63) + 1, ~0ull}) {
    for (int i = 0; i < 1000; ++i) ASSERT_LT(random.below(bound), bound);
  }
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.below(7));
  EXPECT_EQ(seen.size(), 7u);
}

TEST(RandomStream, BelowIsUniformWhereAPlainModuloIsNot) {
  // With x % bound every value under 2^62 would come up twice as often as
  // the rest.
  constexpr std::uint64_t kBound = 3ull << 62;
  RandomStream random(11);
  int low = 0;
  constexpr int kDraws = 30'000;
  for (int i = 0; i < kDraws; ++i) low += random.below(kBound) < (1ull << 62);
  // A third, within 5 standard deviations (82).
  EXPECT_NEAR(low, kDraws / 3, 410);
}

TEST(RandomStream, UniformIsInTheHalfOpenIntervalAndEven) {
  RandomStream random(13);
  constexpr int kBins = 50;
  constexpr int kDraws = 100'000;
  std::vector<int> counts(kBins, 0);
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++counts[static_cast<std::size_t>(u * kBins)];
  }
  double chi2 = 0;
  const double expected = static_cast<double>(kDraws) / kBins;
  for (const int n : counts) chi2 += (n - expected) * (n - expected) / expected;
  EXPECT_LT(chi2, 95.0);  // 49 degrees of freedom: p = 0.0001
  EXPECT_GT(chi2, 20.0);
}

TEST(Mix64, FlipsHalfTheBitsForEveryInputBit) {
  for (int bit = 0; bit < 64; ++bit) {
    int flipped = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::uint64_t x = i * 0x123456789abcdefull;
      flipped += __builtin_popcountll(mix64(x) ^ mix64(x ^ (1ull << bit)));
    }
    EXPECT_NEAR(flipped / 200.0, 32.0, 1.5) << bit;
  }
}

TEST(Mix64, OfTwoDependsOnTheOrder) {
  EXPECT_NE(mix64(1, 2), mix64(2, 1));
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 100; ++a) {
    for (std::uint64_t b = 0; b < 100; ++b) seen.insert(mix64(a, b));
  }
  EXPECT_EQ(seen.size(), 10'000u);
}

}  // namespace
}  // namespace penstock
