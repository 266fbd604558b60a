#include <gmock/gmock.h>

#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;

TEST(Prefetch, RefusesBadArgumentsWhenTheGraphIsBuilt) {
  EXPECT_EQ(
      build_status([] { return Dataset::range(3).prefetch(-2); }).message(),
      "prefetch: n must be >= 0 or AUTOTUNE, got -2");
}

TEST(WithOptions, RefusesBudgetsOfNothingWhenTheGraphIsBuilt) {
  const auto refused = [](const Options& options) {
    const Status status =
        build_status([&] { return Dataset::range(3).with_options(options); });
    return std::string(status.message());
  };
  EXPECT_EQ(refused({.cpu_budget = 0}),
            "with_options: cpu_budget must be >= 1, got 0");
  EXPECT_EQ(refused({.memory_budget = -5}),
            "with_options: memory_budget must be >= 1, got -5");
}

}  // namespace
}  // namespace penstock
