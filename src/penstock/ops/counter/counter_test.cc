#include "tests/support/drain.h"

namespace penstock::testing {
namespace {

using ::testing::ElementsAre;

TEST(Counter, CountsWithoutEnd) {
  const Dataset ds = Dataset::counter();
  EXPECT_TRUE(ds.cardinality().is_infinite());
  EXPECT_EQ(ds.element_spec(), Spec::scalar<std::int64_t>());
  EXPECT_THAT(drain(ds.take(3)), ElementsAre("0", "1", "2"));
  EXPECT_THAT(drain(Dataset::counter(10, -3).take(4)),
              ElementsAre("10", "7", "4", "1"));
  EXPECT_EQ(ds.at(std::int64_t{1} << 60).to_string(), "1152921504606846976");
}

TEST(Counter, ContinuesWhereItWasSaved) {
  const Dataset ds = Dataset::counter(100, 5).batch(3);
  Iterator it = ds.iterator();
  for (int i = 0; i < 7; ++i) it.next();
  Iterator again = ds.iterator(it.state_dict());
  EXPECT_EQ(again.next()->to_string(), "[205, 210, 215]");
}

TEST(Counter, WrapsInsteadOfOverflowing) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(drain(Dataset::counter(kMax - 1).take(3)),
              ElementsAre("9223372036854775806", "9223372036854775807",
                          "-9223372036854775808"));
}

}  // namespace
}  // namespace penstock::testing
