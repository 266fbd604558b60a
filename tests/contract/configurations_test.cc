// However a pipeline runs, it gives the same.
#include "penstock/runtime/simulation.h"
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
    c.expect_same(
        run(c.make({.cpu_budget = 1, .fuse = false, .max_block_rows = 2})
                .prefetch(n),
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
  c.expect_same(
      run(*late({.cpu_budget = 8, .max_block_rows = 3}), c.example->limit),
      expected, "eight workers, blocks of 3");
  c.expect_same(
      run(*late({.cpu_budget = 8, .fuse = false, .max_block_rows = 1}),
          c.example->limit),
      expected, "eight workers, stages cut, blocks of 1");
}

// Whatever calls a function row by row stops after each first row.
TEST_P(Configurations, GiveTheSameWhenBlocksAreGivenBack) {
  const Case& c = GetParam();
  const Outcomes expected = c.expected();
  // Simulated time does not tell that a block is long enough, and little memory
  // keeps endless datasets from running ahead for long.
  const std::int64_t budget =
      std::max<std::int64_t>(c.example->tight_memory, 1 << 18);
  for (const Options& options :
       {Options{.memory_budget = budget, .max_block_rows = 8},
        Options{.memory_budget = budget, .fuse = false, .max_block_rows = 8}}) {
    SimulationOptions schedule;
    schedule.overdue = 1;
    Simulation simulation(schedule);
    Iterator it = c.make(options).iterator_on(simulation);
    Outcomes got = take_some(it, c.example->limit / 2);
    const std::string state = it.state_dict();
    it.close();
    Iterator again = c.make(options).iterator_on(simulation, state);
    const auto left = c.example->limit - static_cast<std::int64_t>(got.size());
    for (Outcome& o : take_some(again, left)) got.push_back(std::move(o));
    c.expect_same(got, expected, options.fuse ? "stages cut" : "default");
    EXPECT_FALSE(simulation.stuck());
  }
}

}  // namespace
}  // namespace penstock::testing
