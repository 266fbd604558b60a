// What a shuffle window holds: positions where reading in any order is cheap,
// else what was read, in order.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "penstock/penstock.h"

namespace penstock {
namespace {

struct Log {
  std::mutex mutex;
  std::vector<std::int64_t> read;
  std::vector<std::int64_t> mapped;
};

class Numbers final : public RandomAccessSource {
 public:
  Numbers(bool in_memory, std::shared_ptr<Log> log)
      : in_memory_(in_memory), log_(std::move(log)) {}
  std::int64_t size() const override { return 500; }
  Spec element_spec() const override { return Spec::scalar<std::int64_t>(); }
  bool in_memory() const override { return in_memory_; }
  StatusOr<Element> read(std::int64_t i) const override {
    const std::lock_guard lock(log_->mutex);
    log_->read.push_back(i);
    return Element(Tensor::scalar(i));
  }

 private:
  bool in_memory_;
  std::shared_ptr<Log> log_;
};

Dataset shuffled(bool in_memory, const std::shared_ptr<Log>& log) {
  return Dataset::from_source(std::make_shared<Numbers>(in_memory, log))
      .map([log](std::int64_t x) {
        const std::lock_guard lock(log->mutex);
        log->mapped.push_back(x);
        return 10 * x;
      })
      .shuffle(100, 7)
      .with_options({.cpu_budget = 1});
}

std::vector<std::int64_t> all(Iterator it) {
  std::vector<std::int64_t> out;
  while (auto element = it.next()) {
    out.push_back((*element)[0].value<std::int64_t>());
  }
  return out;
}

bool rises(const std::vector<std::int64_t>& numbers) {
  return std::is_sorted(numbers.begin(), numbers.end());
}

TEST(ShuffleWindow, FilesAreReadInOrder) {
  const auto log = std::make_shared<Log>();
  const auto got = all(shuffled(false, log).iterator());
  EXPECT_EQ(log->read.size(), 500u);
  EXPECT_TRUE(rises(log->read));
  // What was read waits as it is; maps run behind the window.
  EXPECT_EQ(log->mapped.size(), 500u);
  EXPECT_FALSE(rises(log->mapped));
  EXPECT_FALSE(rises(got));
}

TEST(ShuffleWindow, WhatIsInMemoryIsReadInTheShuffledOrder) {
  const auto log = std::make_shared<Log>();
  (void)all(shuffled(true, log).iterator());
  EXPECT_EQ(log->read.size(), 500u);
  EXPECT_FALSE(rises(log->read));
}

TEST(ShuffleWindow, TheOrderDoesNotDependOnIt) {
  const auto log = std::make_shared<Log>();
  EXPECT_EQ(all(shuffled(false, log).iterator()),
            all(shuffled(true, log).iterator()));
}

// As tf.data: a window of k elements gives its first when it has k.
TEST(ShuffleWindow, GivesAnElementAsSoonAsItIsFull) {
  for (const std::int64_t k : {1, 2, 5}) {
    const auto reads = std::make_shared<std::atomic<std::int64_t>>(0);
    Iterator it =
        Dataset::from_generator([reads] {
          return [reads, i = std::int64_t{
                             0}]() mutable -> std::optional<std::int64_t> {
            if (i == 20) return std::nullopt;
            ++*reads;
            return i++;
          };
        })
            .shuffle(k, 7)
            .prefetch(0)
            .iterator();
    ASSERT_TRUE(it.next());
    EXPECT_EQ(reads->load(), k);
    ASSERT_TRUE(it.next());
    EXPECT_EQ(reads->load(), k + 1);
    EXPECT_EQ(all(std::move(it)).size(), 18u);
  }
}

TEST(ShuffleWindow, OverFilesContinuesFromAState) {
  const auto log = std::make_shared<Log>();
  const Dataset ds = shuffled(false, log);
  const auto whole = all(ds.iterator());
  for (const std::size_t taken : {0u, 1u, 99u, 137u, 499u, 500u}) {
    Iterator it = shuffled(false, log).iterator();
    for (std::size_t i = 0; i < taken; ++i) ASSERT_TRUE(it.next());
    const auto rest = all(ds.iterator(it.state_dict()));
    EXPECT_EQ(rest, std::vector<std::int64_t>(
                        whole.begin() + static_cast<std::ptrdiff_t>(taken),
                        whole.end()))
        << taken;
  }
}

}  // namespace
}  // namespace penstock
