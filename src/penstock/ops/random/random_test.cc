#include "tests/support/drain.h"

namespace penstock::testing {
namespace {

TEST(Random, IsPinned) {
  // Golden: changing these values breaks every saved state and experiment.
  EXPECT_THAT(drain(Dataset::random(42).take(5)),
              ::testing::ElementsAre("1455608892", "4113906769", "1157668961",
                                     "39495635", "1776763054"));
}

TEST(Random, RepeatsItselfUnlessTold) {
  const Dataset fixed = Dataset::random(1).take(100);
  EXPECT_EQ(drain(fixed), drain(fixed));
  const Dataset unseeded = Dataset::random().take(100);
  EXPECT_EQ(drain(unseeded), drain(unseeded));
  const Dataset fresh = Dataset::random(1, true).take(100);
  const std::vector<std::string> first = drain(fresh);
  EXPECT_NE(first, drain(fresh));
  // An equal rebuilt pipeline repeats that sequence of epochs.
  EXPECT_EQ(first, drain(Dataset::random(1, true).take(100)));
  EXPECT_NE(drain(Dataset::random(1).take(100)),
            drain(Dataset::random(2).take(100)));
  EXPECT_NE(drain(Dataset::random().take(100)),
            drain(Dataset::random().take(100)));
}

TEST(Random, IsEndlessAndHasRandomAccess) {
  const Dataset ds = Dataset::random(9);
  EXPECT_TRUE(ds.cardinality().is_infinite());
  EXPECT_EQ(ds.element_spec(), Spec::scalar<std::int64_t>());
  const std::vector<Element> head = ds.take(50).to_list();
  for (std::size_t i = 0; i < head.size(); ++i) {
    EXPECT_EQ(ds.at(static_cast<std::int64_t>(i)), head[i]);
  }
}

TEST(Random, IsUniformIn32Bits) {
  constexpr int kBins = 64;
  constexpr std::int64_t kDraws = 1 << 18;
  std::vector<double> counts(kBins, 0.0);
  for (const Element& e : Dataset::random(5).take(kDraws).batch(4096)) {
    for (const std::int64_t v : e[0].as<std::int64_t>()) {
      ASSERT_GE(v, 0);
      ASSERT_LT(v, std::int64_t{1} << 32);
      ++counts[static_cast<std::size_t>(v >> 26)];
    }
  }
  double chi2 = 0;
  const double expected = static_cast<double>(kDraws) / kBins;
  for (const double n : counts)
    chi2 += (n - expected) * (n - expected) / expected;
  EXPECT_GT(chi2, 30.0);  // 63 degrees of freedom: p = 0.0001 on either side
  EXPECT_LT(chi2, 113.0);
}

}  // namespace
}  // namespace penstock::testing
