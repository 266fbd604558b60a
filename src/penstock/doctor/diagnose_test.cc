// The rules on made-up facts: just above and just below.
#include "penstock/doctor/diagnose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "tests/support/made_up_facts.h"

namespace penstock::doctor {
namespace {

TEST(Doctor, LargeNumbersAreGrouped) {
  EXPECT_EQ(number(0.53149), "0.531");
  EXPECT_EQ(number(99.44), "99.4");
  EXPECT_EQ(number(999.6), "1,000");
  EXPECT_EQ(number(100), "100");
  EXPECT_EQ(number(1234567), "1,234,567");
  Facts f = one_sleeper();
  f.elements = 12345;
  f.seconds = 1;
  EXPECT_NE(diagnose(Model(f)).verdict.find(" 12,345 elements/s"),
            std::string::npos);
}

TEST(Doctor, TheStageThatLimitsIsTheOneTheVerdictNames) {
  Facts f = one_sleeper();
  f.stages.push_back(f.stages[1]);
  f.stages[2].label = "map#2";
  f.stages[2].index = 2;
  f.stages[2].inputs = {1};
  f.stages[1].busy_s = f.stages[1].gil_hold_s = 2;
  f.output = 2;
  Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.limiting, 2);
  EXPECT_EQ(d.limiting, d.findings.front().stage);
  EXPECT_NE(d.verdict.find("map#2"), std::string::npos);
  f.consumer_wait_s = 0.1;
  f.consumer_think_s = 9.9;
  EXPECT_EQ(diagnose(Model(f)).limiting, -1);
}

TEST(Doctor, BytesThatGrowBeforeTheyAreHandedOverAreInflatedEarly) {
  for (const char* op : {"map", "prefetch_to_device", "prefetch"}) {
    Facts f = pipeline(100);
    f.stages[0].spec_bytes = 1000;
    f.stages[1].spec_bytes = 4000;
    StageFacts taker = f.stages[1];
    taker.label = absl::StrCat(op, "#2");
    taker.op = op;
    taker.inputs = {1};
    taker.executor = op == std::string("map") ? "process" : "";
    f.stages[1].executor = "native";
    f.stages.push_back(taker);
    f.output = 2;
    const auto inflated = [&f] {
      for (const Finding& finding : diagnose(Model(f)).findings) {
        if (finding.code == "early-inflate") return finding.stage;
      }
      return -1;
    };
    const bool handed = op != std::string("prefetch");
    EXPECT_EQ(inflated(), handed ? 1 : -1) << op;
    f.stages[1].decodes = true;  // which nobody else can do
    EXPECT_EQ(inflated(), -1) << op;
    f.stages[1].decodes = false;
    f.stages[1].spec_bytes = 2000;
    EXPECT_EQ(inflated(), -1) << op;
  }
}

TEST(Doctor, AnExplicitOneOnAStageThatLimitsIsFound) {
  const Diagnosis d = diagnose(Model(one_sleeper()));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "serial-stage");
  EXPECT_EQ(d.findings.front().stage, 1);
  EXPECT_EQ(d.bound, "pipeline");
  EXPECT_NE(d.verdict.find("pipeline"), std::string::npos);
  EXPECT_FALSE(d.healthy);
  EXPECT_FALSE(d.unsure);
}

TEST(Doctor, AConsumerThatIsFedHearsNothing) {
  Facts f = one_sleeper();
  f.consumer_wait_s = 0.2;
  f.consumer_think_s = 9.8;
  const Diagnosis d = diagnose(Model(f));
  EXPECT_EQ(d.bound, "consumer");
  EXPECT_TRUE(d.findings.empty());
  EXPECT_TRUE(d.healthy);
}

TEST(Doctor, CallsThatTakeTurnsForTheGilAreFound) {
  Facts f = pipeline(500);
  f.stages[1].busy_s = 38;
  f.stages[1].gil_wait_s = 28;
  f.stages[1].gil_hold_s = 9.8;
  f.stages[1].cpu_s = 9.5;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "python-gil");
  EXPECT_GT(*d.findings.front().speedup, 3);
}

TEST(Doctor, CallsThatGiveTheGilUpAreNot) {
  Facts f = pipeline(500);
  f.stages[1].busy_s = 39;
  f.stages[1].gil_wait_s = 0.5;
  f.stages[1].gil_hold_s = 38;
  f.stages[1].cpu_s = 38;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings.front().code, "cpu-saturated");
  EXPECT_TRUE(d.healthy);
}

TEST(Doctor, IsUnsureWhereTheModelMissesSomething) {
  Facts f = one_sleeper();
  f.elements /= 2;  // lanes are busy, half of the elements get lost
  f.stages[1].busy_s = 4;
  const Diagnosis d = diagnose(Model(f));
  EXPECT_TRUE(d.unsure);
  EXPECT_FALSE(d.unsure_why.empty());
}

TEST(Doctor, SleepInsideCallsIsNotTheGil) {
  // The GIL was looked at: calls are long, but hardly ever have it.
  Facts f = pipeline(100);
  f.stages[1].busy_s = 39;
  f.stages[1].gil_wait_s = 0.5;
  f.stages[1].gil_hold_s = 38;
  f.stages[1].gil_held_s = 0.4;
  f.stages[1].cpu_s = 0.5;
  f.gil_busy = 0.05;
  const Model model(f);
  EXPECT_FALSE(model.gil_bound());
  EXPECT_GT(model.needs()[1].wait, 0.03);
}

TEST(Doctor, AWindowIsJudgedByTheDataItCovers) {
  for (const auto& [window, found] :
       {std::pair<std::int64_t, bool>{99, true}, {100, false}}) {
    Facts f = pipeline(1000);
    f.stages[0].cardinality = 10'000;
    f.stages[1].op = "shuffle";
    f.stages[1].user_code = false;
    f.stages[1].executor = "";
    f.stages[1].window = window;
    f.stages[1].in_order_source = true;
    const Diagnosis d = diagnose(Model(f));
    EXPECT_EQ(
        !d.findings.empty() && d.findings.front().code == "shuffle-window",
        found)
        << window;
  }
}

TEST(Doctor, PaddingIsWorthWhatItCostWhereItWasTried) {
  const auto gain = [](double left) {
    Facts f = pipeline(100);
    f.stages[0].elements = 8 * f.elements;
    f.stages[0].bytes = 1e5 * f.stages[0].elements;
    StageFacts& batch = f.stages[1];
    batch.op = "padded_batch";
    batch.executor = "";
    batch.user_code = false;
    batch.batch_size = 8;
    batch.padded = true;
    batch.bytes = 4e6 * batch.elements;
    batch.busy_s = batch.cpu_s = 39.5;
    batch.padding_left = left;
    const Diagnosis d = diagnose(Model(f));
    const Finding* found = find(d, "batch-copy");
    return found == nullptr ? 1.0 : *found->speedup;
  };
  EXPECT_NEAR(gain(0), 5, 0.1);  // as much as there is padding
  EXPECT_NEAR(gain(0.4), 2.5, 0.1);
  EXPECT_EQ(gain(0.97), 1);
}

TEST(Doctor, AWindowIsHeldAgainstOneEpochOfWhatIsReadAgain) {
  for (const auto& [epochs, found] :
       {std::pair<double, bool>{1, true}, {200, false}, {0, false}}) {
    Facts f = pipeline(1000);
    f.stages[0].cardinality = -2;
    f.stages[0].elements_ever = 100'000;
    f.stages[0].epochs_ever = epochs;
    f.stages[1].op = "shuffle";
    f.stages[1].executor = "";
    f.stages[1].window = 100;
    f.stages[1].in_order_source = true;
    bool said = false;
    for (const Finding& x : diagnose(Model(f)).findings) {
      said = said || x.code == "shuffle-window";
    }
    EXPECT_EQ(said, found) << epochs;
  }
}

TEST(Doctor, AnEpochBehindAFilterIsJudgedByWhatItKeeps) {
  for (const auto& [kept, found] :
       {std::pair<double, bool>{0.5, true}, {0.1, false}}) {
    Facts f = pipeline(1000);
    f.stages[0].cardinality = 10'000;
    f.stages[0].elements_ever = 10'000;
    f.stages[1].op = "filter";
    f.stages[1].elements_ever = kept * 10'000;
    StageFacts shuffle;
    shuffle.label = "shuffle#2";
    shuffle.op = "shuffle";
    shuffle.inputs = {1};
    shuffle.window = 20;
    shuffle.in_order_source = true;
    f.stages.push_back(shuffle);
    f.output = 2;
    const Diagnosis d = diagnose(Model(f));
    EXPECT_EQ(std::any_of(
                  d.findings.begin(), d.findings.end(),
                  [](const Finding& x) { return x.code == "shuffle-window"; }),
              found)
        << kept;
  }
}

TEST(Doctor, LargerBatchesDoNotSpeedUpTheCopyToTheDevice) {
  Facts f = pipeline(50);
  f.stages[1].op = "batch";
  f.stages[1].label = "batch#1";
  f.stages[1].user_code = false;
  f.stages[1].executor = "native";
  f.stages[1].batch_size = 4;
  f.stages[1].busy_s = f.stages[1].cpu_s = 0.02;
  StageFacts device;
  device.label = "prefetch_to_device#2";
  device.op = "prefetch_to_device";
  device.inputs = {1};
  device.elements = f.elements;
  f.stages.push_back(device);
  f.output = f.device = 2;
  f.put_s = 9.9;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  for (const Finding& found : d.findings) EXPECT_NE(found.code, "batch-size");
  EXPECT_EQ(d.findings.front().code, "transfer");
}

TEST(Doctor, ACheapStageBehindAStragglerIsNotTheStraggler) {
  for (const auto& [busy, found] :
       {std::pair<double, bool>{8, true}, {0.5, false}}) {
    Facts f = pipeline(100);
    f.stages[1].parallel_calls = 8;
    f.stages[1].blocking = true;
    f.stages[1].busy_s = busy;
    f.stages[1].gil_hold_s = busy;
    f.stages[1].gil_held_s = 0;
    f.stages[1].wait_order_s = 50;
    const Diagnosis d = diagnose(Model(f));
    EXPECT_EQ(!d.findings.empty() && d.findings.front().code == "head-of-line",
              found)
        << busy;
  }
}

TEST(Doctor, CallsThatWaitForThreadsOfTheirOwnAreOversubscribed) {
  Facts f = short_waits(100);
  EXPECT_EQ(diagnose(Model(f)).findings.front().code, "io-latency");
  f.foreign_cpu_s = 35;
  f.foreign_threads = 8;
  EXPECT_EQ(diagnose(Model(f)).findings.front().code, "oversubscribed");
  // An explicit number of calls is not what keeps them.
  f.stages[1].parallel_calls = 4;
  EXPECT_EQ(diagnose(Model(f)).findings.front().code, "oversubscribed");
}

TEST(Doctor, ThreadsInsideAFunctionAreTheCauseOnALoadedMachineToo) {
  Facts f = short_waits(20);
  f.foreign_threads = 8;
  f.other_cpu = 3.3;
  f.own_cpu_s = 6;
  f.foreign_cpu_s = 5.5;
  EXPECT_EQ(diagnose(Model(f)).findings.front().code, "oversubscribed");
  // Just some helpers beside calls that wait.
  f.foreign_cpu_s = 1;
  EXPECT_EQ(diagnose(Model(f)).findings.front().code, "io-latency");
}

TEST(Doctor, FunctionsThatAreNativeByThemselvesNeedNoProcesses) {
  Facts f = crossing();
  Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "process-overhead");
  EXPECT_EQ(d.findings.front().changes.front().executor, "thread");
  f.stages[1].native_form = ".map(fn)";
  f.stages[1].native_left = 0.25;
  d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().changes.front().executor, "native");
  EXPECT_NEAR(*d.findings.front().speedup, 4, 0.2);
}

TEST(Doctor, ACallOfTheModuleRandomIsReplacedByOurs) {
  Facts f = pipeline(500);
  f.stages[1].busy_s = 39;
  f.stages[1].gil_hold_s = 38;
  f.stages[1].gil_held_s = 0.2;
  f.stages[1].cpu_s = 38;
  f.stages[1].refusal = "calls random.random (train.py:3)";
  f.stages[1].refusal_fixable = true;
  f.stages[1].native_left = 1.0;
  const Diagnosis d = diagnose(Model(f));
  const Finding* refused = find(d, "trace-refused");
  ASSERT_NE(refused, nullptr);
  EXPECT_NE(refused->fix_code.find("ps.random.uniform"), std::string::npos);
}

TEST(Doctor, AFunctionThatCouldBeNativeIsNamedThoughItGainsLittle) {
  for (const auto& [left, found] :
       {std::pair<double, bool>{1.0, true}, {0.0, false}}) {
    Facts f = pipeline(500);
    f.stages[1].busy_s = 39;
    f.stages[1].gil_hold_s = 38;
    f.stages[1].gil_held_s = 0.2;
    f.stages[1].cpu_s = 38;
    f.stages[1].refusal = "a branch depends on data";
    f.stages[1].refusal_fixable = true;
    f.stages[1].native_left = left;
    const Diagnosis d = diagnose(Model(f));
    ASSERT_EQ(d.findings.size(), 1u);
    EXPECT_EQ(d.findings.front().code,
              found ? "trace-refused" : "cpu-saturated");
    if (found) {
      EXPECT_NEAR(*d.findings.front().speedup, 1.0, 0.01);
    }
  }
}

TEST(Doctor, ASourceThatOpensItsFilesIsNamedItself) {
  Facts f = pipeline(100);
  f.stages[0].label = "text_lines#0";
  f.stages[0].op = "text_lines";
  f.stages[0].files = 1;
  StageFacts inner;
  inner.label = "text_lines#0.text_lines#0";
  inner.op = "text_lines";
  inner.parent = 0;
  inner.source = true;
  inner.sequential = true;
  inner.elements = f.elements;
  inner.busy_s = 10;
  inner.cpu_s = 10;
  f.stages.push_back(inner);
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "serial-source");
  EXPECT_EQ(d.findings.front().stage, 0);
}

TEST(Doctor, AnExplicitOneIsTheCauseBesideAnyCycleLength) {
  Facts f = one_sleeper();
  f.stages[1].op = "interleave";
  f.stages[1].label = "interleave#1";
  f.stages[1].cycle_length = 8;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings.front().code, "serial-stage");
}

// The runtime's caps do not bind native functions, so they cannot be the cause.
TEST(Doctor, AnExplicitOneOnANativeStageIsNoSerialStage) {
  Facts f = pipeline(100);
  f.stages[1].executor = "native";
  f.stages[1].user_code = false;
  f.stages[1].parallel_calls = 1;
  f.stages[1].busy_s = f.stages[1].cpu_s = 9.9;
  for (const Finding& finding : diagnose(Model(f)).findings) {
    EXPECT_NE(finding.code, "serial-stage");
  }
}

TEST(Doctor, BatchesThatRanFarAheadAreJudgedByTheLoopThatTakesThem) {
  for (const auto& [size, found] :
       {std::pair<int, bool>{1, true}, {1024, false}}) {
    Facts f = pipeline(1e6);
    f.stages[1].op = "batch";
    f.stages[1].label = "batch#1";
    f.stages[1].executor = "";
    f.stages[1].user_code = false;
    f.stages[1].batch_size = size;
    f.stages[0].elements = f.stages[1].elements = f.stages[1].calls = 0;
    f.next_s = 1e-6;
    const Diagnosis d = diagnose(Model(f));
    EXPECT_EQ(!d.findings.empty() && d.findings.front().code == "batch-size",
              found)
        << size;
  }
}

TEST(Doctor, ABatchOfTwoLargeElementsIsNotTooLarge) {
  for (const auto& [size, found] :
       {std::pair<int, bool>{2, false}, {256, true}}) {
    Facts f = pipeline(10);
    f.memory_budget = 32e6;
    f.stages[1].op = "batch";
    f.stages[1].batch_size = size;
    f.stages[1].user_code = false;
    f.stages[1].executor = "";
    f.stages[1].spec_bytes = 8e6;
    f.stages[1].busy_s = f.stages[1].cpu_s = 1;
    const Diagnosis d = diagnose(Model(f));
    bool said = false;
    for (const Finding& x : d.findings) said = said || x.code == "batch-size";
    EXPECT_EQ(said, found) << size;
  }
}

TEST(Doctor, WhatStandsStillByTurnsIsNotMendedByASourceOfSeveral) {
  Facts f = pipeline(1 / 0.018);
  f.cores = 2;
  f.stages[0].sequential = true;
  f.stages[0].label = "from_generator#0";
  f.stages[0].op = "from_generator";
  f.stages[0].user_code = true;
  f.stages[0].executor = "thread";
  f.stages[0].calls = f.stages[0].elements;
  f.stages[0].busy_s = f.stages[0].gil_hold_s = 0.01 * f.elements;
  f.stages[0].gil_held_s = 0;
  f.stages[1].op = "prefetch";
  f.stages[1].prefetch = 0;
  f.stages[1].user_code = false;
  f.stages[1].executor = "";
  f.consumer_wait_s = 0.01 * f.elements;
  f.consumer_think_s = 0.008 * f.elements;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "no-prefetch");
}

TEST(Doctor, DataWithoutAnIndexGetsALargerWindow) {
  Facts f = pipeline(1000);
  f.stages[0].cardinality = 100'000;
  f.stages[1].op = "shuffle";
  f.stages[1].window = 100;
  f.stages[1].in_order_source = true;
  const Diagnosis windowed = diagnose(Model(f));
  ASSERT_NE(find(windowed, "shuffle-window"), nullptr);
  EXPECT_EQ(find(windowed, "shuffle-window")->fix_code, ".shuffle(10000)");
  f.stages[0].indexed = true;
  const Diagnosis global = diagnose(Model(f));
  EXPECT_EQ(find(global, "shuffle-window")->fix_code, ".shuffle(ps.GLOBAL)");
}

TEST(Doctor, AFunctionThatDoesNotPickleIsNotSentToProcessesAsItIs) {
  Facts f = pipeline(1000);
  f.stages[1].busy_s = 40;
  f.stages[1].gil_hold_s = 10;
  f.stages[1].gil_wait_s = 30;
  f.stages[1].cpu_s = 10;
  f.stages[1].stays = "a lock does not pickle";
  f.stages[1].pickles = false;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_NE(find(d, "python-gil"), nullptr);
  EXPECT_TRUE(find(d, "python-gil")->fix.starts_with("make the object inside"));
}

TEST(Doctor, LargerBatchesAreMadeByTheSameCall) {
  Facts f = pipeline(1000);
  f.stages[1].op = "padded_batch";
  f.stages[1].executor = "";
  f.stages[1].user_code = false;
  f.stages[1].batch_size = 2;
  f.stages[1].arguments = ", drop_remainder=True";
  f.stages[1].busy_s = f.stages[1].cpu_s = 9.9;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_NE(find(d, "batch-size"), nullptr);
  EXPECT_EQ(find(d, "batch-size")->fix_code,
            ".padded_batch(64, drop_remainder=True)");
}

// 500 elements, again and again through a native map on all cores.
Facts repeated() {
  Facts f = pipeline(100);
  f.stages[0].cardinality = 500;
  f.stages[0].elements_ever = 500;
  StageFacts repeat = f.stages[0];
  repeat.label = "repeat#1";
  repeat.op = "repeat";
  repeat.source = false;
  repeat.inputs = {0};
  repeat.repeats = -1;
  repeat.cardinality = -1;
  f.stages.insert(f.stages.begin() + 1, repeat);
  StageFacts& map = f.stages[2];
  map.label = "map#2";
  map.inputs = {1};
  map.executor = "native";
  map.cardinality = -1;
  map.elements_ever = 500;
  map.spec_bytes = 8;
  map.busy_s = map.cpu_s = 40;
  f.output = 2;
  return f;
}

TEST(Doctor, ACostlyStageBehindARepeatIsCachedInFrontOfIt) {
  Facts f = repeated();
  const Diagnosis d = diagnose(Model(f));
  ASSERT_NE(find(d, "cache-missing"), nullptr);
  EXPECT_EQ(find(d, "cache-missing")->stage, 2);
  EXPECT_EQ(find(d, "cache-missing")->fix_code, ".map(...).cache().repeat()");
  f.stages[2].random = true;
  EXPECT_EQ(find(diagnose(Model(f)), "cache-missing"), nullptr);
}

TEST(Doctor, CallsThatCostMoreThanTheyDoAreNotCachedButMended) {
  Facts f = repeated();
  StageFacts& map = f.stages[2];
  map.executor = "process";
  map.executor_forced = true;
  map.cpu_s = 15;
  map.worker_cpu_s = 24;
  map.work_s = 1;
  f.own_cpu_s = 39;
  f.run_delay_s = 0.5;
  const Diagnosis d = diagnose(Model(f));
  EXPECT_NE(find(d, "process-overhead"), nullptr);
  EXPECT_EQ(find(d, "cache-missing"), nullptr);
  f.stages[2].work_s = 22;
  EXPECT_NE(find(diagnose(Model(f)), "cache-missing"), nullptr);
}

TEST(Doctor, SleepersThatWaitForTheGilOfOthersDoNotHoldIt) {
  // As ps.report sees them: nobody looked who has the GIL.
  Facts f = pipeline(400);
  f.stages[1].parallel_calls = 2;
  f.stages[1].blocking = true;
  f.stages[1].busy_s = 20;
  f.stages[1].gil_hold_s = 16;
  f.stages[1].gil_wait_s = 3;
  f.stages[1].cpu_s = 0.4;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "parallelism-capped");
}

TEST(Doctor, OneCallAtATimeTakesNoTurnsForTheGil) {
  Facts f = pipeline(250);
  f.stages[1].parallel_calls = 1;
  f.stages[1].busy_s = f.stages[1].cpu_s = 10;
  f.stages[1].gil_hold_s = f.stages[1].gil_held_s = 10;
  f.gil_busy = 1;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "serial-stage");
  EXPECT_NEAR(*d.findings.front().speedup, 4, 0.3);  // in processes, by itself
}

TEST(Doctor, AStepThatWaitsForTheGilHasANoisyNeighbour) {
  // 8 ms of calls and 10 of a step take turns.
  Facts f = pipeline(1 / 0.018);
  f.cores = 2;
  StageFacts& map = f.stages[1];
  map.busy_s = map.gil_hold_s = 8;
  map.cpu_s = map.gil_held_s = 0.008 * f.elements;
  map.stays = "shared is a list, which it may write";
  f.gil_busy = 0.95;
  f.consumer_given = true;
  f.consumer_wait_s = 1;
  f.consumer_think_s = 9;
  f.consumer_cpu_s = 0.01 * f.elements;
  f.step_alone_s = f.step_alone_cpu_s = 0.01;
  f.step_beside_s = 0.0162;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_NE(find(d, "noisy-neighbour"), nullptr);
  EXPECT_EQ(find(d, "noisy-neighbour")->stage, 1);
  f.bounded = true;
  const Diagnosis behind = diagnose(Model(f));
  EXPECT_EQ(behind.findings.front().code, "noisy-neighbour");
  EXPECT_NEAR(*behind.findings.front().speedup, 1.8, 0.1);  // and python-gil
  EXPECT_NEAR(*find(behind, "python-gil")->speedup, 1.8, 0.1);
  f.gil_busy = 0.4;
  EXPECT_EQ(find(diagnose(Model(f)), "noisy-neighbour"), nullptr);
}

TEST(Doctor, AnExplicitOneIsNearerThanWhatKeepsAFunctionFromBeingNative) {
  Facts f = pipeline(250);
  f.cores = 2;
  StageFacts& map = f.stages[1];
  map.parallel_calls = 1;
  map.busy_s = map.cpu_s = map.gil_hold_s = 9.9;
  map.gil_held_s = 0.1;
  map.refusal = "has an if on data";
  map.refusal_fixable = true;
  map.native_left = 0.4;
  f.gil_busy = 0.02;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "serial-stage");
  EXPECT_EQ(find(d, "trace-refused"), nullptr);
  f.stages[1].parallel_calls = 0;
  f.stages[1].busy_s = f.stages[1].cpu_s = f.stages[1].gil_hold_s = 19.8;
  EXPECT_NE(find(diagnose(Model(f)), "trace-refused"), nullptr);
}

TEST(Doctor, ThreadsOfAFunctionThatLeaveCoresIdleAreWorthThoseCores) {
  Facts f = short_waits(100);
  f.foreign_cpu_s = 25;
  f.own_cpu_s = 26;
  f.foreign_threads = 8;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_NE(find(d, "oversubscribed"), nullptr);
  EXPECT_NEAR(*find(d, "oversubscribed")->speedup, 4 / 2.6, 0.1);
  f.other_cpu = 1.4;  // which others use
  EXPECT_NEAR(*find(diagnose(Model(f)), "oversubscribed")->speedup, 1, 0.01);
}

TEST(Doctor, BehindAPrefetchAnExplicitNumberIsRaisedNotLeftOut) {
  // Two outputs ahead allow three calls without a number.
  Facts f = one_sleeper();
  f.stages[1].parallel_calls = 8;
  f.stages[1].busy_s = f.stages[1].gil_hold_s = 80;
  StageFacts prefetch = f.stages[1];
  prefetch.label = "prefetch#2";
  prefetch.op = "prefetch";
  prefetch.inputs = {1};
  prefetch.user_code = false;
  prefetch.executor = "";
  prefetch.parallel_calls = 0;
  prefetch.busy_s = prefetch.cpu_s = prefetch.gil_hold_s = 0;
  prefetch.prefetch = 2;
  f.stages.push_back(prefetch);
  f.output = 2;
  f.bounded = true;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_NE(find(d, "parallelism-capped"), nullptr);
  EXPECT_NEAR(*find(d, "parallelism-capped")->speedup, 2, 0.05);
  EXPECT_EQ(find(d, "parallelism-capped")->fix_code,
            ".map(fn, num_parallel_calls=16)");
  f.stages[2].prefetch = 31;
  EXPECT_NEAR(*find(diagnose(Model(f)), "parallelism-capped")->speedup, 4, 0.1);
}

TEST(Doctor, WhatRanAheadOfALateFilterWasNotDroppedByIt) {
  Facts f = one_sleeper();
  StageFacts filter = f.stages[1];
  filter.op = "filter";
  filter.label = "filter#2";
  filter.inputs = {1};
  filter.filter_could_pass = 1;
  filter.calls = 1.05 * filter.elements;  // it keeps nearly all
  f.stages[1].parallel_calls = 0;
  f.stages[0].elements = f.stages[1].elements = f.stages[1].calls *= 100;
  f.stages.push_back(filter);
  f.output = 2;
  for (const Finding& finding : diagnose(Model(f)).findings) {
    EXPECT_NE(finding.code, "late-filter");
  }
}

TEST(Doctor, CallsThatWaitAreNotSentToAFewProcesses) {
  Facts f = crossing();
  f.stages[1].worker_cpu_s = 0.2;
  f.stages[1].cpu_s = 0.1;
  f.stages[1].work_s = 39;
  f.own_cpu_s = 0.5;
  const Diagnosis d = diagnose(Model(f));
  const Finding* found = find(d, "process-overhead");
  ASSERT_NE(found, nullptr);
  EXPECT_GT(*found->speedup, 8);
  EXPECT_NE(found->cause.find("wait"), std::string::npos);
  // Those that lack a core do not wait.
  f.stages[1].worker_cpu_s = 18;
  f.own_cpu_s = f.run_delay_s = 20;
  f.other_cpu = 2;
  EXPECT_EQ(find(diagnose(Model(f)), "process-overhead"), nullptr);
}

TEST(Doctor, BatchesOfEightAreNotTooSmall) {
  const auto found = [](std::int64_t size) {
    Facts f = pipeline(1e6);
    f.stages[1].op = "batch";
    f.stages[1].executor = "";
    f.stages[1].batch_size = size;
    f.stages[1].busy_s = f.stages[1].cpu_s = 9.9;
    return find(diagnose(Model(f)), "batch-size") != nullptr;
  };
  EXPECT_TRUE(found(4));
  EXPECT_FALSE(found(8));
}

// Calls of a map that sleep, 16 at most, with a native filter behind it that
// hands over.
Facts filtered(double rate, double waits) {
  Facts f = pipeline(rate);
  f.stages[1].blocking = true;
  f.stages[1].width = 16;
  f.stages[1].busy_s = 40;
  f.stages[1].gil_hold_s = 40;
  f.stages[1].gil_held_s = 0.1;
  f.stages[1].cpu_s = 0.1;
  f.gil_busy = 0.01;
  StageFacts filter = f.stages[1];
  filter.label = "filter#2";
  filter.op = "filter";
  filter.inputs = {1};
  filter.executor = "native";
  filter.busy_s = 8;
  filter.gil_hold_s = filter.gil_held_s = 0;
  filter.wait_order_s = waits;
  f.stages.push_back(filter);
  f.output = 2;
  return f;
}

TEST(Doctor, AStragglerInFrontOfANativeFilterIsTheMap) {
  const Diagnosis d = diagnose(Model(filtered(100, 200)));
  ASSERT_NE(find(d, "head-of-line"), nullptr);
  EXPECT_EQ(find(d, "head-of-line")->stage, 1);
}

TEST(Doctor, CallsThatTakeTheSameTimeAreNoStragglers) {
  EXPECT_EQ(find(diagnose(Model(filtered(100, 50))), "head-of-line"), nullptr);
}

TEST(Doctor, AnExplicitOneInsideANestedDatasetIsFound) {
  Facts f = pipeline(100);
  f.stages[1].op = "flat_map";
  f.stages[1].label = "flat_map#1";
  f.stages[1].executor = "";
  StageFacts inner = one_sleeper().stages[1];
  inner.label = "flat_map#1.map#1";
  inner.parent = 1;
  inner.inputs = {};
  f.stages.push_back(inner);
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "serial-stage");
  EXPECT_EQ(d.findings.front().stage, 2);
}

TEST(Doctor, ZstdIsNotMendedByZstd) {
  for (const char* compression : {"GZIP", "ZSTD"}) {
    Facts f = pipeline(100);
    f.stages[0].compression = compression;
    f.stages[0].sequential = true;
    f.stages[0].busy_s = f.stages[0].cpu_s = 10;
    f.stages[0].inflate_s = 8;
    const Diagnosis d = diagnose(Model(f));
    ASSERT_NE(find(d, "compression"), nullptr);
    const bool proposed =
        find(d, "compression")->fix_code.find("ZSTD") != std::string::npos;
    EXPECT_EQ(proposed, compression == std::string("GZIP"));
  }
}

TEST(Doctor, ABranchThatNothingReadsIsLeftOutOfItsZip) {
  Facts f = pipeline(100);
  f.stages[1].label = "zip#1[1].map#1";
  f.stages[1].busy_s = 40;
  f.stages[1].cpu_s = 40;
  f.stages[1].unused_share = 1;
  f.stages[1].unused_what = "branch 1";
  f.stages[1].unused_in = 2;
  f.next_s = 1e-4;
  StageFacts zip = f.stages[0];
  zip.label = "zip#1";
  zip.op = "zip";
  zip.source = false;
  zip.inputs = {0, 1};
  f.stages.push_back(zip);
  f.output = 2;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_NE(find(d, "unused-result"), nullptr);
  EXPECT_EQ(find(d, "unused-result")->fix, "leave branch 1 out of zip#1");
}

}  // namespace
}  // namespace penstock::doctor
