// Stopping at any time: in bounded time, and nothing is left behind.
#include <atomic>
#include <chrono>
#include <thread>

#include "penstock/memory/buffer.h"
#include "penstock/memory/ledger.h"
#include "tests/contract/cases.h"

namespace penstock::testing {
namespace {

using std::chrono::steady_clock;

// Far more than it takes (well under 100 ms), for slow and busy machines.
constexpr auto kBound = std::chrono::seconds(10);

struct Held {
  std::int64_t ledger = Account::process().used();
  std::size_t buffers = BufferPool::live_bytes();
};

class Lifetime : public ContractTest {};
PENSTOCK_CONTRACT(Lifetime, plain);

TEST_P(Lifetime, NothingIsLeftWhereverTheIteratorIsDestroyed) {
  const Case& c = GetParam();
  const std::size_t elements = c.expected().size();
  for (const std::int64_t block : {1, 1 << 20}) {
    for (std::size_t at = 0; at <= elements; at += kStride) {
      const Held before;
      {
        Iterator it = c.make({.max_block_rows = block}).iterator();
        (void)take_some(it, static_cast<std::int64_t>(at));
      }
      const Held after;
      ASSERT_EQ(after.ledger, before.ledger) << "after " << at;
      ASSERT_EQ(after.buffers, before.buffers) << "after " << at;
    }
  }
}

TEST_P(Lifetime, NothingIsLeftAfterClose) {
  const Case& c = GetParam();
  const Held before;
  Iterator it = c.make().iterator();
  (void)take_some(it, c.example->limit / 2);
  it.close();
  const Held after;
  EXPECT_EQ(after.ledger, before.ledger);
  EXPECT_EQ(after.buffers, before.buffers);
  // Closed is closed: no more elements, no hang, and closing again is free.
  Outcome one;
  if (take_one(it, one)) {
    EXPECT_EQ(one.error.code(), StatusCode::kCancelled) << one;
  }
  it.close();
  it.cancel();
}

TEST_P(Lifetime, CancelEndsNextInBoundedTime) {
  const Case& c = GetParam();
  const std::int64_t elements = static_cast<std::int64_t>(c.expected().size());
  for (const std::int64_t at : {std::int64_t{0}, elements / 2}) {
    Iterator it = c.make().iterator();
    std::atomic<std::int64_t> taken{0};
    std::atomic<bool> done{false};
    std::thread consumer([&] {
      Outcome one;
      // For ever, unless it ends or cancel() is seen.
      while (take_one(it, one)) {
        if (one.error.code() == StatusCode::kCancelled) break;
        taken.fetch_add(1);
      }
      done = true;
    });
    const auto start = steady_clock::now();
    while (taken.load() < at && !done) std::this_thread::yield();
    it.cancel();
    consumer.join();
    EXPECT_LT(steady_clock::now() - start, kBound);
  }
}

}  // namespace
}  // namespace penstock::testing
