#include "penstock/runtime/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/penstock.h"
#include "tests/support/forwarding_scheduler.h"

namespace penstock {
namespace {

// The executor, with somebody who is told of every call.
class Watched final : public ForwardingScheduler {
 public:
  explicit Watched(std::function<void(Run&, Stage*)> on_call)
      : on_call_(std::move(on_call)) {}
  void user_code_begin(Run* run, void* stage) override {
    on_call_(*run, static_cast<Stage*>(stage));
    ForwardingScheduler::user_code_begin(run, stage);
  }

 private:
  std::function<void(Run&, Stage*)> on_call_;
};

TEST(Run, HasNothingForTheElasticLaneOnceItsLastStageHasLeftIt) {
  std::vector<Stage*> stages;
  std::vector<bool> elastic;
  auto& scheduler = ForwardingScheduler::lasting<Watched>(
      [&](penstock::Run& run, Stage* stage) {
        if (stages.size() == 2) return;
        stages.push_back(stage);
        if (stages.size() < 2) return;
        const auto look = [&] { elastic.push_back(run.has_elastic()); };
        look();
        run.mark_blocking({{stages[0], 0}, {stages[1], 0}});
        look();
        run.mark_working(stages[0]);
        look();  // the other one still blocks
        run.mark_working(stages[1]);
        look();
      });
  const Dataset dataset = Dataset::range(1)
                              .map([](std::int64_t x) { return x + 1; })
                              .map([](std::int64_t x) { return 2 * x; });
  Iterator it = dataset.iterator_on(scheduler);
  ASSERT_EQ((*it.next())[0].value<std::int64_t>(), 2);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_NE(stages[0], stages[1]);
  EXPECT_EQ(elastic, (std::vector<bool>{false, true, true, false}));
}

TEST(Run, TheLastBlocksOfAStreamLeaveWorkForTheOthers) {
  constexpr std::int64_t kRows = 1000;
  constexpr std::int64_t kRowNs = 20'000;
  constexpr std::int64_t kShortest = 5;  // rows: blocks of 100 us
  struct Calls {
    std::int64_t first = -1;
    std::int64_t count = 0;
  };
  std::mutex mutex;
  std::vector<Calls> blocks;
  std::map<std::thread::id, std::size_t> current;
  auto& scheduler =
      ForwardingScheduler::lasting<Watched>([&](penstock::Run&, Stage*) {
        const std::lock_guard lock(mutex);
        current[std::this_thread::get_id()] = blocks.size();
        blocks.emplace_back();
      });
  const Dataset dataset = Dataset::range(kRows)
                              .map([&](std::int64_t x) {
                                const std::int64_t start = Clock::real().now();
                                while (Clock::real().now() - start < kRowNs) {
                                }
                                const std::lock_guard lock(mutex);
                                Calls& calls =
                                    blocks[current[std::this_thread::get_id()]];
                                if (calls.count++ == 0) calls.first = x;
                                return x;
                              })
                              .with_options({.cpu_budget = 2});
  Iterator it = dataset.iterator_on(scheduler);
  std::int64_t rows = 0;
  while (it.next()) ++rows;
  ASSERT_EQ(rows, kRows);
  for (const Calls& calls : blocks) {
    const std::int64_t half_of_a_share = (kRows - calls.first) / 4;
    EXPECT_LE(calls.count, std::max(kShortest, half_of_a_share))
        << "from " << calls.first;
  }
}

}  // namespace
}  // namespace penstock
