#include <gmock/gmock.h>

#include <limits>

#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;
using ::testing::ElementsAre;
using testing::show;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Range, ReachesTheEndsOfItsNumbers) {
  EXPECT_THAT(show(Dataset::range(kLeast, kMost, kMost)),
              ElementsAre("-9223372036854775808", "-1", "9223372036854775806"));
  EXPECT_THAT(show(Dataset::range(kMost - 1, kMost)),
              ElementsAre("9223372036854775806"));
}

TEST(Range, RefusesMoreElementsThanCanBeCounted) {
  EXPECT_EQ(
      build_status([] { return Dataset::range(kLeast, kMost); }).message(),
      "range: stop must be less than 2^63 steps from start, got "
      "range(-9223372036854775808, 9223372036854775807, 1)");
}

}  // namespace
}  // namespace penstock
