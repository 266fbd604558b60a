// Random access gives what iterating gives.
#include "tests/contract/cases.h"

namespace penstock::testing {
namespace {

class RandomAccess : public ContractTest {};
PENSTOCK_CONTRACT(RandomAccess, all);

Outcome at(const Dataset& dataset, std::int64_t i) {
  try {
    return {dataset.at(i), {}};
  } catch (const Error& e) {
    return {{}, e.status()};
  }
}

TEST_P(RandomAccess, GivesWhatIteratingGives) {
  const Case& c = GetParam();
  const Dataset dataset = c.make();
  if (!dataset.node()->indexed) {
    EXPECT_EQ(at(dataset, 0).error.code(), StatusCode::kFailedPrecondition);
    GTEST_SKIP() << "not indexed";
  }
  if (!c.example->ordered) GTEST_SKIP() << "the order is free";
  const Outcomes expected = run(dataset, c.example->limit);
  const auto n = static_cast<std::int64_t>(expected.size());
  for (std::int64_t i = n; i-- > 0;) {
    EXPECT_EQ(at(dataset, i), expected[static_cast<std::size_t>(i)]) << i;
  }
  // It counted no iteration: the next one is the second.
  const Dataset fresh = c.make();
  (void)run(fresh, c.example->limit);
  EXPECT_EQ(run(dataset, c.example->limit), run(fresh, c.example->limit));
}

TEST_P(RandomAccess, OutsideIsOutOfRange) {
  const Dataset dataset = GetParam().make();
  if (!dataset.node()->indexed) GTEST_SKIP() << "not indexed";
  EXPECT_EQ(at(dataset, -1).error.code(), StatusCode::kOutOfRange);
  if (!dataset.cardinality().finite()) return;
  const std::int64_t n = dataset.cardinality().value();
  EXPECT_EQ(at(dataset, n).error.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(at(dataset, n + 100).error.code(), StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace penstock::testing
