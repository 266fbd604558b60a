// However a pipeline runs, it gives the same.
#include "tests/contract/cases.h"
#include "tests/support/rebuild.h"

namespace penstock::testing {
namespace {

class Configurations : public ContractTest {};
PENSTOCK_CONTRACT(Configurations, all);

TEST_P(Configurations, GiveTheSame) {
  const Case& c = GetParam();
  const Outcomes expected = c.expected();
  for (const Configuration& config : configurations(c)) {
    c.expect_same(run(c.make(config.options), c.example->limit), expected,
                  config.name);
  }
}

TEST_P(Configurations, GiveTheSameThroughPrefetch) {
  const Case& c = GetParam();
  const Outcomes expected = c.expected();
  for (const std::int64_t n : {0, 1, 3}) {
    c.expect_same(run(c.make().prefetch(n), c.example->limit), expected,
                  absl::StrCat("prefetch(", n, ")"));
    c.expect_same(run(c.make({.cpu_budget = 1, .fuse = false,
                              .max_block_rows = 2}).prefetch(n),
                      c.example->limit),
                  expected, absl::StrCat("prefetch(", n, "), stages cut"));
  }
}

TEST_P(Configurations, GiveTheSameWhenElementsAreLate) {
  const Case& c = GetParam();
  const auto late = [&](Options options) {
    return with_inputs_wrapped(c.make(std::move(options)), "", jittery);
  };
  if (!late({})) GTEST_SKIP() << "no input to delay";
  const Outcomes expected = run(*late({}), c.example->limit);
  const JitterScope jitter;
  c.expect_same(run(*late({}), c.example->limit), expected, "default");
  c.expect_same(run(*late({.cpu_budget = 8, .max_block_rows = 3}),
                    c.example->limit),
                expected, "eight workers, blocks of 3");
  c.expect_same(run(*late({.cpu_budget = 8, .fuse = false, .max_block_rows = 1}),
                    c.example->limit),
                expected, "eight workers, stages cut, blocks of 1");
}

}  // namespace
}  // namespace penstock::testing
