// Several iterators, several iterations, several consumers.
#include <mutex>
#include <thread>

#include "tests/contract/cases.h"

namespace penstock::testing {
namespace {

class Iterators : public ContractTest {};
PENSTOCK_CONTRACT(Iterators, all);

TEST_P(Iterators, StayEnded) {
  const Case& c = GetParam();
  Iterator it = c.make().iterator();
  (void)take_some(it, c.example->limit);
  Outcome one;
  if (take_one(it, one)) GTEST_SKIP() << "endless";
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(take_one(it, one)) << one;
}

TEST_P(Iterators, OfEqualDatasetsGiveTheSameInEachIteration) {
  const Case& c = GetParam();
  const Dataset a = c.make();
  const Dataset b = c.make({.cpu_budget = 1, .max_block_rows = 3});
  for (int i = 0; i < 3; ++i) {
    c.expect_same(run(a, c.example->limit), run(b, c.example->limit),
                  absl::StrCat("iteration ", i));
  }
}

TEST_P(Iterators, WithAModelGiveTheSameAgain) {
  const Case& c = GetParam();
  if (!c.example->model || c.with_errors) GTEST_SKIP() << "no model";
  const Dataset dataset = c.make();
  const Outcomes first = run(dataset, c.example->limit);
  c.expect_same(run(dataset, c.example->limit), first, "second iteration");
}

TEST_P(Iterators, OfCopiesShareTheirCount) {
  const Case& c = GetParam();
  const Dataset dataset = c.make();
  const Dataset copy = dataset;  // NOLINT(performance-unnecessary-copy-*)
  const Dataset other = c.make();
  (void)run(dataset, c.example->limit);
  (void)run(other, c.example->limit);
  c.expect_same(run(copy, c.example->limit), run(other, c.example->limit),
                "the copy's iteration is the second");
}

TEST_P(Iterators, OfOneDatasetRunSideBySide) {
  const Case& c = GetParam();
  const Dataset reference = c.make();
  const Outcomes first = run(reference, c.example->limit);
  const Outcomes second = run(reference, c.example->limit);
  const Dataset dataset = c.make();
  Iterator a = dataset.iterator();
  Iterator b = dataset.iterator();
  Outcomes from_a;
  Outcomes from_b;
  Outcome one;
  for (std::int64_t i = 0; i < c.example->limit; ++i) {
    if (take_one(a, one)) from_a.push_back(one);
    if (take_one(b, one)) from_b.push_back(one);
  }
  c.expect_same(from_a, first, "first iterator");
  c.expect_same(from_b, second, "second iterator");
}

TEST_P(Iterators, GiveEachElementToOneOfFourThreads) {
  const Case& c = GetParam();
  const Outcomes expected = c.expected();
  Iterator it = c.make().iterator();
  std::mutex mutex;
  Outcomes got;
  auto left = static_cast<std::int64_t>(expected.size());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Outcome one;
      for (;;) {
        {
          // No more than the expected ones, for endless datasets.
          std::lock_guard lock(mutex);
          if (left == 0) return;
          --left;
        }
        if (!take_one(it, one)) return;
        std::lock_guard lock(mutex);
        got.push_back(one);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(sorted(got), sorted(expected));
}

}  // namespace
}  // namespace penstock::testing
