// A user function that itself iterates a dataset.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <thread>

#include "penstock/penstock.h"

namespace penstock {
namespace {

// The sum of 0..n-1 over a dataset whose function iterates one, `depth` deep.
std::int64_t nested_sum(int depth, int cpu_budget) {
  Dataset dataset = Dataset::range(3);
  if (depth > 0) {
    dataset = dataset.map([depth, cpu_budget](std::int64_t) {
      return nested_sum(depth - 1, cpu_budget);
    });
  }
  std::int64_t sum = 0;
  for (const Element& e : dataset.with_options({.cpu_budget = cpu_budget})) {
    sum += e[0].value<std::int64_t>();
  }
  return sum;
}

TEST(NestedIteration, WorksThreeDeep) {
  for (const int budget : {1, 2, 8}) {
    EXPECT_EQ(nested_sum(3, budget), 27 * 3) << budget;
  }
}

TEST(NestedIteration, InManyElementsAtOnceDoesNotDeadlock) {
  for (const int budget : {1, 2, 8}) {
    const Dataset dataset =
        Dataset::range(60)
            .map([](std::int64_t x) {
              std::int64_t sum = 0;
              for (const Element& e : Dataset::range(20).map(
                       [](std::int64_t y) { return y + 1; })) {
                sum += e[0].value<std::int64_t>();
              }
              return sum + x;
            })
            .with_options({.cpu_budget = budget});
    std::int64_t i = 0;
    for (const Element& e : dataset) {
      ASSERT_EQ(e[0].value<std::int64_t>(), 210 + i++);
    }
    EXPECT_EQ(i, 60);
  }
}

// More elements than the executor has threads, each waiting in a nested
// iterator for calls that wait in the next.
TEST(NestedIteration, OfMoreCallsThanThreadsDoesNotDeadlock) {
  const Dataset dataset =
      Dataset::range(2000)
          .map([](std::int64_t x) { return x + nested_sum(1, 2); },
               {.num_parallel_calls = 1000})
          .with_options({.max_block_rows = 1});
  std::int64_t i = 0;
  for (const Element& e : dataset) {
    ASSERT_EQ(e[0].value<std::int64_t>(), 9 + i++);
  }
  EXPECT_EQ(i, 2000);
}

// One element per level, so that each level is one call.
std::int64_t nested_one(int depth) {
  Dataset dataset = Dataset::range(1);
  if (depth > 0) {
    dataset =
        dataset.map([depth](std::int64_t) { return nested_one(depth - 1); });
  }
  return dataset.with_options({.cpu_budget = 1})
      .to_list()
      .at(0)[0]
      .value<std::int64_t>();
}

TEST(NestedIteration, TooDeepIsAnErrorNotADeadlock) {
  EXPECT_EQ(nested_one(8), 0);
  try {
    (void)nested_one(9);
    FAIL() << "nested nine deep without an error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("nested"), std::string::npos)
        << e.what();
  }
}

TEST(NestedIteration, OfAnIteratorMadeOutside) {
  Iterator outside = Dataset::range(1000).iterator();
  const Dataset dataset = Dataset::range(30).map([&outside](std::int64_t) {
    return outside.next().value()[0].value<std::int64_t>();
  });
  std::vector<std::int64_t> got;
  for (const Element& e : dataset) got.push_back(e[0].value<std::int64_t>());
  std::sort(got.begin(), got.end());
  std::vector<std::int64_t> wanted(30);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(got, wanted);
}

// Waiting for itself, it would hang.
TEST(NestedIteration, OfTheIteratorItselfIsAnError) {
  for (const int budget : {1, 4}) {
    std::optional<Iterator> own;
    std::atomic<bool> made = false;
    const Dataset dataset =
        Dataset::range(3)
            .map([&](std::int64_t) -> StatusOr<std::int64_t> {
              while (!made.load()) std::this_thread::yield();
              const auto got = own->try_next();
              if (!got.ok()) return got.status();
              return 1;
            })
            .with_options({.cpu_budget = budget});
    own.emplace(dataset.iterator());
    made = true;
    for (int i = 0; i < 3; ++i) {
      const auto got = own->try_next();
      ASSERT_FALSE(got.ok());
      EXPECT_EQ(got.status().code(), StatusCode::kFailedPrecondition);
      EXPECT_NE(got.status().message().find("wait for itself"),
                absl::string_view::npos)
          << got.status();
    }
    EXPECT_FALSE(own->next().has_value());
  }
}

TEST(NestedIteration, ClosingTheIteratorItselfIsAnError) {
  std::optional<Iterator> own;
  std::atomic<bool> made = false;
  std::string said;
  const Dataset dataset = Dataset::range(1).map([&](std::int64_t x) {
    while (!made.load()) std::this_thread::yield();
    try {
      own->close();
    } catch (const Error& e) {
      said = e.what();
    }
    return x;
  });
  own.emplace(dataset.iterator());
  made = true;
  EXPECT_EQ(own->try_next().status().code(), StatusCode::kCancelled);
  own->close();
  EXPECT_NE(said.find("wait for itself"), std::string::npos) << said;
}

TEST(NestedIteration, ErrorsInsideAreErrorsOutside) {
  const Dataset inner =
      Dataset::range(3).map([](std::int64_t x) -> StatusOr<std::int64_t> {
        if (x == 1) return absl::DataLossError("inner trouble");
        return x;
      });
  const Dataset dataset = Dataset::range(2).map([inner](std::int64_t x) {
    if (x == 1) (void)inner.to_list();
    return x;
  });
  Iterator it = dataset.iterator();
  EXPECT_TRUE(it.try_next().ok());
  const auto failed = it.try_next();
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.status().message().find("inner trouble"),
            absl::string_view::npos);
  EXPECT_FALSE(it.next().has_value());
}

}  // namespace
}  // namespace penstock
