// What a timeline is drawn from.
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "penstock/penstock.h"

namespace penstock {
namespace {

Dataset sleepy(std::int64_t n) {
  return Dataset::range(n)
      .filter([](std::int64_t x) { return x % 2 == 0; })
      .shuffle({.buffer_size = 4, .seed = 1})
      .map([](std::int64_t x) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        return x;
      });
}

TEST(Trace, HoldsEveryRowOfEveryStageAndTheConsumer) {
  // Nothing is called before next() asks, so nothing before the trace.
  Iterator it = sleepy(400).prefetch(0).iterator();
  ASSERT_TRUE(it.start_trace());
  EXPECT_FALSE(it.start_trace());
  while (it.next()) {
  }
  const Trace trace = it.stop_trace();
  EXPECT_EQ(trace.lost, 0);
  std::map<std::string, std::int64_t> rows;
  std::int64_t waited = 0;
  std::int64_t last = 0;
  for (const TraceEvent& e : trace.events) {
    EXPECT_LE(e.begin_ns, e.end_ns);
    EXPECT_LE(last, e.begin_ns);
    last = e.begin_ns;
    EXPECT_LT(e.thread, trace.threads);
    if (e.kind == TraceEvent::Kind::kConsumerWait) waited += e.rows;
    if (e.kind != TraceEvent::Kind::kStage) continue;
    rows[trace.stages.at(static_cast<std::size_t>(e.stage))] += e.rows;
  }
  EXPECT_EQ(rows["filter#1"], 200);
  EXPECT_EQ(rows["map#3"], 200);
  EXPECT_EQ(waited, 200);
}

TEST(Trace, OfOneThreadDoesNotOverlap) {
  Iterator it = sleepy(200).iterator();
  ASSERT_TRUE(it.start_trace());
  while (it.next()) {
  }
  std::map<int, std::int64_t> busy_until;
  for (const TraceEvent& e : it.stop_trace().events) {
    if (e.kind != TraceEvent::Kind::kStage) continue;
    EXPECT_GE(e.begin_ns, busy_until[e.thread]);
    busy_until[e.thread] = e.end_ns;
  }
}

TEST(Trace, KeepsTheLastEventsWhenItIsFull) {
  Iterator it = sleepy(400).with_options({.cpu_budget = 1}).iterator();
  ASSERT_TRUE(it.start_trace(4));
  while (it.next()) {
  }
  const Trace trace = it.stop_trace();
  EXPECT_GT(trace.lost, 0);
  EXPECT_LE(trace.events.size(), static_cast<std::size_t>(4 * trace.threads));
}

TEST(Trace, FollowsBlocksFromStageToStageToTheConsumer) {
  Iterator it = sleepy(64).batch(4).prefetch(0).iterator();
  ASSERT_TRUE(it.start_trace());
  while (it.next()) {
  }
  const Trace trace = it.stop_trace();
  // Who had a block, in the order of time.
  std::map<std::uint64_t, std::vector<std::string>> seen;
  for (const TraceEvent& e : trace.events) {
    const std::string who =
        e.stage < 0 ? "consumer" : trace.stages.at(std::size_t(e.stage));
    for (std::int64_t i = 0; i < e.flows; ++i) {
      seen[trace.flows.at(std::size_t(e.flow + i))].push_back(who);
    }
  }
  int mapped = 0;
  int consumed = 0;
  for (const auto& [id, who] : seen) {
    if (who.front() == "map#3" && who.back() == "batch#4") ++mapped;
    if (who.back() != "consumer") continue;
    EXPECT_EQ(who.front(), "batch#4");
    ++consumed;
  }
  EXPECT_GE(mapped, 1);
  EXPECT_GE(consumed, 1);
}

TEST(Trace, AConsumerThatHelpsIsStillTheOneWhoTakesTheBlocks) {
  // All stages are native: its thread often makes the next block before the
  // step on the last one is written down.
  Iterator it = Dataset::range(64).batch(4).prefetch(0).iterator();
  ASSERT_TRUE(it.start_trace());
  while (it.next()) {
  }
  const Trace trace = it.stop_trace();
  std::int64_t consumed = 0;
  for (const TraceEvent& e : trace.events) {
    if (e.stage < 0) consumed += e.flows;
  }
  EXPECT_EQ(consumed, 16);
}

TEST(Trace, SamplesQueuesAndMemory) {
  Iterator it = sleepy(400).iterator();
  ASSERT_TRUE(it.start_trace());
  while (it.next()) {
  }
  const Trace trace = it.stop_trace();
  std::map<std::string, std::int64_t> most;
  std::int64_t last = trace.begin_ns;
  for (const TraceSample& sample : trace.samples) {
    EXPECT_GE(sample.at_ns, last);
    last = sample.at_ns;
    std::int64_t& m = most[trace.series.at(std::size_t(sample.series)).name];
    m = std::max(m, sample.value);
  }
  EXPECT_GT(most["held"], 0);
  EXPECT_GT(most["running map#3"], 0);
  EXPECT_EQ(most.count("queue map#3"), 1);
}

TEST(Trace, OfNewRunsBeginsWithThem) {
  set_trace_new_runs(1 << 10);
  Iterator it = sleepy(40).iterator();
  set_trace_new_runs(0);
  EXPECT_FALSE(it.start_trace());
  while (it.next()) {
  }
  std::int64_t rows = 0;
  const Trace trace = it.stop_trace();
  for (const TraceEvent& e : trace.events) {
    if (e.stage >= 0 && trace.stages.at(std::size_t(e.stage)) == "map#3") {
      rows += e.rows;
    }
  }
  EXPECT_EQ(rows, 20);
  Iterator untraced = sleepy(2).iterator();
  EXPECT_TRUE(untraced.start_trace());
}

TEST(Trace, CanBeginAndEndInTheMiddle) {
  Iterator it = sleepy(2000).iterator();
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(it.start_trace());
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(it.next().has_value());
    EXPECT_FALSE(it.stop_trace().events.empty());
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(it.next().has_value());
  }
  EXPECT_TRUE(it.stop_trace().events.empty());
}

}  // namespace
}  // namespace penstock
