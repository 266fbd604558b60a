// Saved at any element, restored anywhere: the same rest.
#include "tests/contract/cases.h"

namespace penstock::testing {
namespace {

class State : public ContractTest {
 protected:
  /// Saves before the first element, after every one and after the end, under
  /// `saver`; each state is restored in a new Dataset object under the next of
  /// `restorers`, and from there once more.
  void check(const Options& saver, const std::vector<Options>& restorers) {
    const Case& c = GetParam();
    const std::int64_t limit = c.example->limit;
    const Outcomes expected = run(c.make(saver), limit);
    const bool ends = static_cast<std::int64_t>(expected.size()) < limit ||
                      c.make().cardinality() == Cardinality(limit);
    Iterator it = c.make(saver).iterator();
    Outcomes seen;
    for (std::size_t at = 0;; ++at) {
      if (at % kStride != 0 && at < expected.size()) {
        Outcome one;
        if (!take_one(it, one)) break;
        seen.push_back(std::move(one));
        continue;
      }
      const std::string state = it.state_dict();
      // An unordered stage goes on noting its order.
      if (c.example->ordered) {
        ASSERT_EQ(it.state_dict(), state) << "saving changed something";
      }
      const std::string where = absl::StrCat("saved after ", at);
      const Options& other = restorers[at % restorers.size()];
      Iterator again = c.make(other).iterator(state);
      const auto left = static_cast<std::int64_t>(expected.size() - at);
      if (c.example->ordered) {
        const std::int64_t first = left * static_cast<std::int64_t>(at % 5) / 4;
        Outcomes rest = take_some(again, first);
        const std::string second = again.state_dict();
        Iterator third = c.make(saver).iterator(second);
        const std::size_t half = rest.size();
        for (Outcome& o : take_some(again, left - first)) rest.push_back(o);
        ASSERT_EQ(rest, rest_of(expected, at)) << where;
        ASSERT_EQ(take_some(third, left - static_cast<std::int64_t>(half)),
                  rest_of(expected, at + half))
            << where << ", again after " << half;
        if (ends) {
          Outcome none;
          ASSERT_FALSE(take_one(third, none)) << where << ": " << none;
        }
      } else if (ends) {
        // Nothing is lost or doubled, in whatever order.
        Outcomes all = seen;
        for (Outcome& o : take_some(again, limit)) all.push_back(o);
        ASSERT_EQ(sorted(all), sorted(expected)) << where;
      }
      Outcome one;
      if (at == expected.size() || !take_one(it, one)) break;
      seen.push_back(std::move(one));
    }
    if (!ends) return;
    Outcome none;
    ASSERT_FALSE(take_one(it, none)) << none;
    Iterator exhausted = c.make(saver).iterator(it.state_dict());
    EXPECT_FALSE(take_one(exhausted, none)) << none;
    EXPECT_FALSE(take_one(exhausted, none)) << none;
    // An unordered stage may note the same order in other pieces.
    if (c.example->ordered) {
      EXPECT_EQ(exhausted.state_dict(), it.state_dict());
    }
  }
};
PENSTOCK_CONTRACT(State, all);

TEST_P(State, RestoresAtEveryElement) { check({}, {{}}); }

TEST_P(State, RestoresAtEveryElementWithTinyBlocks) {
  check({.max_block_rows = 2}, {{.max_block_rows = 2}});
}

TEST_P(State, RestoresAtEveryElementWithEveryStageCut) {
  check({.fuse = false, .max_block_rows = 3},
        {{.fuse = false, .max_block_rows = 3}});
}

TEST_P(State, FitsEveryOtherConfiguration) {
  std::vector<Options> others;
  for (const Configuration& c : configurations(GetParam())) {
    others.push_back(c.options);
  }
  check({}, others);
}

TEST_P(State, OfCutStagesFitsEveryOtherConfiguration) {
  std::vector<Options> others;
  for (const Configuration& c : configurations(GetParam())) {
    others.push_back(c.options);
  }
  check({.cpu_budget = 1, .fuse = false, .max_block_rows = 1}, others);
}

TEST_P(State, IsStillThereAfterCancelAndClose) {
  const Case& c = GetParam();
  if (!c.example->ordered) GTEST_SKIP() << "the order is free";
  const Outcomes expected = c.expected();
  for (const bool close : {false, true}) {
    Iterator it = c.make().iterator();
    const std::size_t at = expected.size() / 2;
    (void)take_some(it, static_cast<std::int64_t>(at));
    if (close) {
      it.close();
    } else {
      it.cancel();
    }
    Iterator again = c.make().iterator(it.state_dict());
    const auto left = static_cast<std::int64_t>(expected.size() - at);
    EXPECT_EQ(take_some(again, left), rest_of(expected, at))
        << (close ? "after close()" : "after cancel()");
  }
}

TEST_P(State, OfAnotherGraphIsRefused) {
  const Case& c = GetParam();
  const std::string state = c.make().iterator().state_dict();
  try {
    (void)c.make().take(3).iterator(state);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), StatusCode::kFailedPrecondition) << e.what();
  }
}

}  // namespace
}  // namespace penstock::testing
