// Scalars that several threads take, while others look at the iterator.
#include "penstock/runtime/scalar_lane.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "penstock/penstock.h"

namespace penstock {
namespace {

std::int64_t value(const Element& element) {
  return element[0].value<std::int64_t>();
}

TEST(ScalarLane, GivesEachRowOnceAndCountsFromWhereItIsClosed) {
  const Dataset ds = Dataset::range(100).map([](std::int64_t x) { return -x; });
  Iterator it = ds.iterator();
  for (std::int64_t i = 0; i < 100; ++i) {
    if (i % 7 == 3) {  // between two that take the lane
      const auto got = it.try_next();
      ASSERT_TRUE(got.ok() && *got);
      EXPECT_EQ(value(**got), -i);
    } else {
      EXPECT_EQ(value(*it.next()), -i);
    }
    EXPECT_EQ(it.stats().elements, i + 1);
    Iterator again = ds.iterator(it.state_dict());
    if (i < 99) {
      EXPECT_EQ(value(*again.next()), -i - 1);
    }
  }
  EXPECT_FALSE(it.next());
}

TEST(ScalarLane, SeveralThreadsTakeEveryElementOnceBesideStatesAndStats) {
  constexpr std::int64_t kElements = 200'000;
  const Dataset ds =
      Dataset::range(kElements).map([](std::int64_t x) { return x; });
  Iterator it = ds.iterator();
  std::vector<std::atomic<int>> seen(kElements);
  std::atomic<std::int64_t> begun{0};  // calls of next()
  std::atomic<std::int64_t> done{0};
  const auto take = [&] {
    for (;;) {
      ++begun;
      const auto element = it.next();
      if (!element) return;
      ++seen[static_cast<std::size_t>(value(*element))];
      ++done;
    }
  };
  std::vector<std::thread> takers;
  for (int i = 0; i < 3; ++i) takers.emplace_back(take);
  while (done < kElements) {
    const std::int64_t least = done;
    const std::string state = it.state_dict();
    const std::int64_t most = std::min(begun.load(), kElements);
    Iterator rest = ds.iterator(state);
    const auto next = rest.next();
    const std::int64_t position = next ? value(*next) : kElements;
    EXPECT_LE(least, position);
    EXPECT_LE(position, most);
    EXPECT_LE(it.stats().elements, kElements);
  }
  for (std::thread& taker : takers) taker.join();
  for (const auto& times : seen) EXPECT_EQ(times, 1);
}

TEST(ScalarLane, ClosingTheIteratorEndsItForAllWhoTake) {
  Iterator it =
      Dataset::counter().map([](std::int64_t x) { return x; }).iterator();
  std::atomic<bool> ended{false};
  std::thread taker([&] {
    while (it.try_next().ok()) {
    }
    ended = true;
  });
  while (it.stats().elements < 1000) std::this_thread::yield();
  it.close();
  taker.join();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace penstock
