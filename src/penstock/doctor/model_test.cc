// The model on made-up facts.
#include "penstock/doctor/model.h"

#include <gtest/gtest.h>

#include "tests/support/made_up_facts.h"

namespace penstock::doctor {
namespace {

TEST(DoctorModel, PredictsThePipelineAsItIs) {
  const Model model(one_sleeper());
  EXPECT_EQ(model.now().limit, Limit::kWidth);
  EXPECT_EQ(model.now().stage, 1);
  EXPECT_NEAR(model.now().rate, 100, 1);
  EXPECT_NEAR(model.residual(), 1, 0.01);
}

TEST(DoctorModel, PredictsMoreCallsAtOnce) {
  const Model model(one_sleeper());
  EXPECT_NEAR(model.gain({{.stage = 1, .parallel_calls = 4}}), 4, 0.05);
  EXPECT_GT(model.gain({{.stage = 1, .cache = true}}), 100);
}

// Native code on two of four cores, where the rest is time that nobody saw.
Facts half_seen() {
  Facts f = pipeline(200);
  f.stages[1].executor = "native";
  f.stages[1].busy_s = 20;
  f.stages[1].cpu_s = 20;
  f.next_s = 1e-6;
  return f;
}

TEST(DoctorModel, TimeThatTheModelMissesGoesWithWhatLimits) {
  const Model model(half_seen());
  EXPECT_NEAR(model.now().rate, 400, 1);
  EXPECT_NEAR(model.residual(), 2, 0.01);
  // What is left of it takes as long against what was measured; and what is
  // left when it is gone is held against that, too.
  EXPECT_NEAR(model.gain({{.stage = 1, .compute = 0.25}}), 4, 0.01);
  EXPECT_NEAR(model.gain({{.stage = 1, .compute = 0}}), 1e6 / 200, 10);
}

TEST(DoctorModel, BesideOtherLoadNoTimeIsMissed) {
  Facts f = half_seen();
  f.other_cpu = 2;
  EXPECT_NEAR(Model(f).gain({{.stage = 1, .compute = 0}}), 1e6 / 400, 10);
}

TEST(DoctorModel, CpuTimeOutsideOfStagesTakesCoresToo) {
  Facts f = half_seen();
  f.engine_cpu_s = 20;
  EXPECT_NEAR(Model(f).now().rate, 200, 1);
  // Of a stage that runs ahead twice as far as is asked for, half is needed.
  for (StageFacts& s : f.stages) s.elements *= 2;
  EXPECT_NEAR(Model(f).now().rate, 400, 1);
}

TEST(DoctorModel, WhatWasTriedIsWhatAFixLeaves) {
  Facts f = half_seen();
  f.stages[1].cached = {100e-6, 150e-6};
  const Model model(f);
  EXPECT_NEAR(model.gain({{.stage = 1, .cache = true}}), 1e4 / 200, 0.1);
  // Other changes of the stage are others.
  EXPECT_NEAR(model.gain({{.stage = 1, .compute = 0.25}}), 4, 0.01);
  // Behind it only the loop was tried: what the stage needs comes on top.
  f.stages[1].free = {100e-6, 400e-6};
  EXPECT_NEAR(Model(f).gain({{.stage = 1, .compute = 0.01}}),
              4 / (400e-6 + 0.01 * 20e-3) / 200, 0.5);
}

TEST(DoctorModel, ThreadsInsteadOfProcessesAreTried) {
  Facts f = crossing();
  const std::vector<Change> threads = {{.stage = 1, .executor = "thread"}};
  f.stages[1].threads = {500e-6, 500e-6};
  EXPECT_NEAR(Model(f).gain(threads), 2, 0.01);
}

TEST(DoctorModel, InThreadsNobodyWaitsForTheCoresThatWorkersLacked) {
  const std::vector<Change> threads = {{.stage = 1, .executor = "thread"}};
  Facts f = crossing();  // 1 ms of computing per call, on two of four cores
  f.elements = f.stages[0].elements = f.stages[1].elements = f.stages[1].calls =
      2e4;
  f.stages[1].worker_cpu_s = 20;
  f.stages[1].cpu_s = 0.1;
  f.stages[1].busy_s = 40;
  f.stages[1].work_s = 39;  // others had the other half of the cores
  f.other_cpu = 2;
  f.own_cpu_s = f.run_delay_s = 20;
  EXPECT_NEAR(Model(f).with(threads).rate, 940, 60);
  // Or they slept: threads get wider than there are processes.
  f.other_cpu = f.run_delay_s = 0;
  f.own_cpu_s = f.stages[1].worker_cpu_s = 0.2;
  EXPECT_GT(Model(f).gain(threads), 8);
}

TEST(DoctorModel, MoreRoomIsTried) {
  Facts f = pipeline(50);
  f.stages[1].busy_s = 10;
  f.stages[1].blocking = true;
  f.stages[1].wait_memory_s = 9;
  const std::vector<Change> more = {{.stage = 1, .room = 4}};
  EXPECT_NEAR(Model(f).gain_over_measured(more), 4, 0.1);
  f.stages[1].roomy = {1.0 / 350, 0};  // more of it was not for the calls
  EXPECT_NEAR(Model(f).gain_over_measured(more), 7, 0.1);
}

TEST(DoctorModel, WhatWasTriedIsHeldAgainstWhatWasMeasuredBesideOthersToo) {
  Facts f = half_seen();
  f.stages[1].cached = {100e-6, 150e-6};
  f.other_cpu = 2;
  f.run_delay_s = f.own_cpu_s = 15;
  EXPECT_TRUE(Model(f).beside_others());
  EXPECT_NEAR(Model(f).gain({{.stage = 1, .cache = true}}), 1e4 / f.rate(),
              0.1);
}

TEST(DoctorModel, WhatWasTriedOfBatchesIsForBatchesOfThatSize) {
  Facts f = half_seen();
  f.stages[1].batch_size = 1;
  f.stages[1].batched = {1e-3, 1e-3};
  f.stages[1].batched_size = 64;
  const Model model(f);
  EXPECT_NEAR(model.gain({{.stage = 1, .batch = 64}}), 64 * 1e3 / 200, 0.1);
  EXPECT_LT(model.gain({{.stage = 1, .batch = 32}}), 64);
}

TEST(DoctorModel, WhatHeldNoGilInThreadsIsNoInterpreterInProcesses) {
  const auto gain = [](double held) {
    Facts f = crossing();
    f.stages[1].executor_forced = false;
    f.stages[1].work_s = f.stages[1].worker_cpu_s = 38;
    f.stages[1].cpu_s = 1;
    f.stages[1].gil_hold_s = 10;
    f.stages[1].gil_held_s = held;
    return Model(f).gain({{.stage = 1, .executor = "native"}});
  };
  EXPECT_NEAR(gain(10), 10, 0.5);
  EXPECT_NEAR(gain(0.5), 1, 0.1);
}

TEST(DoctorModel, TheConsumerIsALimitToo) {
  Facts f = one_sleeper();
  f.consumer_wait_s = 5;
  f.consumer_think_s = 5;  // 5 ms for each of 1,000
  const Model model(f);
  EXPECT_NEAR(model.gain({{.stage = 1, .parallel_calls = 16}}), 2, 0.05);
}

TEST(DoctorModel, AConsumerThatWaitsForTheGilTakesLessThanIsMade) {
  const auto gain = [](double taken) {
    Facts f = pipeline(taken);
    f.stages[0].elements = f.stages[1].elements = f.stages[1].calls = 940 * 10;
    f.stages[1].busy_s = 20;
    f.stages[1].gil_wait_s = 9;
    f.stages[1].gil_hold_s = 10.6;
    f.stages[1].gil_held_s = 9.4;
    f.stages[1].cpu_s = 9.4;
    f.cores = 2;
    f.gil_busy = 0.95;
    f.consumer_given = true;
    f.step_alone_s = 1e-4;
    f.consumer_wait_s = 1;
    f.consumer_think_s = 9;
    return Model(f).gain({{.stage = 1, .executor = "process"}});
  };
  EXPECT_NEAR(gain(800), gain(940), 0.05);
  EXPECT_LT(gain(800), 2.2);
}

TEST(DoctorModel, CallsThatShareTheGilDoNotDoubleTheirRate) {
  // Half of each call holds the GIL; one call at a time, on two cores.
  Facts f = one_sleeper();
  f.cores = 2;
  f.gil_busy = 0.5;
  f.stages[1].cpu_s = 10;
  f.stages[1].gil_held_s = 5;
  f.stages[1].blocking = false;
  f.stages[1].stays = "it has a lock";
  const std::vector<Change> side_by_side = {{.stage = 1, .parallel_calls = 0}};
  EXPECT_NEAR(Model(f).gain(side_by_side), 1.6, 0.1);
  // Nor do they when pipeline and consumer take turns.
  f.stages[1].prefetch = 0;
  EXPECT_NEAR(Model(f).gain(side_by_side), 1.6, 0.1);
  // All of it: nothing is gained.
  f.stages[1].gil_held_s = 10;
  EXPECT_NEAR(Model(f).gain(side_by_side), 1, 0.1);
}

// Batches of 16 rows on two cores, each made while the consumer waits for it,
// then 10 ms of the consumer.
Facts batches_by_turns(double compute_s, double wait_s) {
  const double turn = 10e-3 + wait_s;
  Facts f = pipeline(1 / turn);
  f.cores = 2;
  f.consumer_given = true;
  f.consumer_think_s = 10e-3 * f.elements;
  f.consumer_wait_s = wait_s * f.elements;
  StageFacts& map = f.stages[1];
  map.executor = "native";
  map.busy_s = map.cpu_s = compute_s * f.elements;
  f.stages[0].elements = map.elements = map.calls = map.blocks =
      16 * f.elements;
  StageFacts batch;
  batch.label = "batch#2";
  batch.op = "batch";
  batch.inputs = {1};
  batch.batch_size = 16;
  batch.elements = f.elements;
  StageFacts prefetch;
  prefetch.label = "prefetch#3";
  prefetch.op = "prefetch";
  prefetch.inputs = {2};
  prefetch.prefetch = 0;
  f.stages.push_back(batch);
  f.stages.push_back(prefetch);
  f.output = 3;
  return f;
}

TEST(DoctorModel, ByTurnsPipelineAndConsumerAddUp) {
  const Model model(batches_by_turns(8e-3, 4e-3));
  EXPECT_EQ(model.now().limit, Limit::kNone);
  EXPECT_NEAR(model.now().rate, 1 / 14e-3, 0.5);
  EXPECT_NEAR(model.residual(), 1, 0.01);
}

TEST(DoctorModel, CoresThatWaitForTheLastRowsAreNoNeedOfAStage) {
  const std::vector<Change> ahead = {{.stage = 3, .prefetch = -1}};
  // Two cores need 9 ms for 18 ms of work; it took 14, as one of them had
  // nothing to do at the end of each batch. Read-ahead gives it the next one,
  // and the consumer is the limit.
  const Model model(batches_by_turns(18e-3, 14e-3));
  EXPECT_NEAR(model.gain(ahead), 24e-3 / 10.7e-3, 0.1);
  // What stays by turns keeps such ends.
  const std::vector<Change> less = {{.stage = 1, .compute = 0.5}};
  EXPECT_NEAR(model.gain(less), 24e-3 / 17e-3, 0.02);
}

TEST(DoctorModel, LargeResultsOfNativeCodeAreCopiedIntoBatches) {
  const auto gain = [](double bytes) {
    Facts f = pipeline(100);
    f.stages[1].busy_s = f.stages[1].cpu_s = f.stages[1].gil_hold_s = 9.5;
    f.stages[1].gil_held_s = 9.5;
    f.stages[1].native_left = 0.1;
    f.stages[1].spec_bytes = bytes;
    StageFacts batch;
    batch.label = "batch#2";
    batch.op = "batch";
    batch.inputs = {1};
    batch.batch_size = 10;
    f.stages.push_back(batch);
    f.output = 2;
    f.stages[2].elements = f.elements /= 10;
    return Model(f).gain({{.stage = 1, .executor = "native"}});
  };
  EXPECT_GT(gain(1000), 2 * gain(25e6));
  EXPECT_GT(gain(25e6), 1);
}

TEST(DoctorModel, NeedsAreOfWhatTheConsumerTookNotOfWhatRanAhead) {
  Facts f = one_sleeper();
  f.stages[0].elements *= 50;
  f.stages[0].busy_s = 5;
  const Model model(f);
  EXPECT_NEAR(model.needs()[0].compute, 1e-4, 1e-5);
  EXPECT_EQ(model.pipeline().stage, 1);
}

TEST(DoctorModel, WhatRanAheadOfAFilterIsNoNeedOfIt) {
  Facts f = one_sleeper();
  StageFacts filter = f.stages[1];
  filter.op = "filter";
  filter.label = "filter#2";
  filter.inputs = {1};
  filter.calls = 2 * filter.elements;  // it keeps every other one
  f.stages[1].parallel_calls = 0;
  f.stages[1].blocking = true;
  f.stages[1].width = 64;
  f.stages[0].elements = f.stages[1].elements = f.stages[1].calls *= 100;
  f.stages[1].busy_s = 60 * f.seconds;
  f.stages.push_back(filter);
  f.output = 2;
  const Model model(f);
  EXPECT_EQ(model.per_output(1), 2);
  EXPECT_EQ(model.pipeline().stage, 2);
  EXPECT_GT(model.gain({{.stage = 2, .parallel_calls = 0}}), 15);
}

TEST(DoctorModel, CallsThatWaitOnAWorkersTimeShareTheWorkers) {
  Facts f = short_waits(100);
  EXPECT_EQ(Model(f).now().limit, Limit::kWait);
  EXPECT_NEAR(Model(f).now().rate, 100, 5);
  f.stages[1].blocking = true;
  f.stages[1].width = 64;
  EXPECT_NEAR(Model(f).now().rate, 1600, 50);
}

TEST(DoctorModel, AnExplicitNumberOfCallsIsObeyedByShortSleeps) {
  Facts f = one_sleeper();
  f.stages[1].elements *= 10;  // 1 ms each: nobody found out that they wait
  f.stages[1].calls *= 10;
  f.stages[0].elements *= 10;
  f.elements *= 10;
  f.stages[1].blocking = false;
  EXPECT_NEAR(Model(f).gain({{.stage = 1, .parallel_calls = 16}}), 16, 0.5);
}

TEST(DoctorModel, CallsThatMostlyWaitAreFoundOutHoweverShort) {
  const auto gain = [](double wait_s, double compute_s) {
    Facts f = pipeline(1 / (wait_s + compute_s));
    f.stages[0].op = "from_generator";
    f.stages[0].source = f.stages[0].sequential = f.stages[0].user_code = true;
    f.stages[0].busy_s = 9.9;
    f.stages[0].cpu_s = 9.9 * compute_s / (wait_s + compute_s);
    f.stages[1] = StageFacts();
    f.stages[1].label = "map#1";
    f.stages[1].op = "map";
    f.stages[1].executor = "native";
    f.stages[1].inputs = {0};
    f.stages[1].elements = f.elements;
    return Model(f).gain({{.stage = 0, .parallel_calls = 0}});
  };
  EXPECT_GT(gain(2e-3, 20e-6), 40);
  EXPECT_LT(gain(1e-3, 0.5e-3), 8);  // those may keep their worker
}

TEST(DoctorModel, ShortWaitsThatNobodyAskedMoreOfGetWideToo) {
  // Behind a limit of 2 calls of 12 ms, calls of 4 ms that nobody found out.
  Facts f = one_sleeper();
  f.stages[1].parallel_calls = 2;
  StageFacts before = f.stages[1];
  f.elements *= 2;
  for (StageFacts& s : f.stages) s.elements = s.calls = f.elements;
  before = f.stages[1];
  before.label = "map#2";
  before.inputs = {1};
  before.parallel_calls = 0;
  before.blocking = false;
  before.busy_s = 0.4 * f.stages[1].busy_s;
  before.gil_hold_s = before.busy_s;
  f.stages[1].busy_s *= 2;
  f.stages[1].gil_hold_s *= 2;
  f.stages.push_back(before);
  f.output = 2;
  EXPECT_GT(Model(f).gain({{.stage = 1, .parallel_calls = 0}}), 20);
}

TEST(DoctorModel, DatasetsThatRunAheadOfTheCycleAreLanes) {
  Facts f = pipeline(900);
  f.stages[1].op = "interleave";
  f.stages[1].label = "interleave#1";
  f.stages[1].cycle_length = 1;
  StageFacts inner;
  inner.label = "interleave#1.from_generator#0";
  inner.op = "from_generator";
  inner.parent = 1;
  inner.source = inner.sequential = inner.user_code = true;
  inner.elements = f.elements;
  inner.busy_s = 0.003 * f.elements;  // 2.7 at once
  inner.cpu_s = 0.05;
  f.stages.push_back(inner);
  EXPECT_NEAR(Model(f).gain({{.stage = 1, .parallel_calls = 0}}), 16 / 2.7,
              0.5);
}

TEST(DoctorModel, DatasetsThatFillBehindTheCycleAreNoLanes) {
  Facts f = pipeline(250);
  f.stages[1].op = "interleave";
  f.stages[1].label = "interleave#1";
  f.stages[1].cycle_length = 2;
  StageFacts inner;
  inner.label = "interleave#1.from_generator#0";
  inner.op = "from_generator";
  inner.parent = 1;
  inner.source = inner.sequential = inner.user_code = true;
  inner.elements = 3 * f.elements;  // two of three are of no use yet
  inner.busy_s = 0.008 * inner.elements;
  inner.cpu_s = 0.05;
  inner.blocking = true;
  f.stages.push_back(inner);
  const Model model(f);
  EXPECT_NEAR(model.residual(), 1, 0.05);
  EXPECT_NEAR(model.gain({{.stage = 1, .parallel_calls = 0}}), 8, 0.5);
}

TEST(DoctorModel, CallsInShortDatasetsDoNotGetWide) {
  const auto gain = [](double rows, const char* op) {
    Facts f = pipeline(200);
    f.stages[0].elements = f.elements / rows;
    f.stages[1].op = op;
    f.stages[1].label = "flat_map#1";
    StageFacts inner;
    inner.label = "flat_map#1.map#1";
    inner.op = "map";
    inner.index = 1;
    inner.parent = 1;
    inner.user_code = true;
    inner.executor = "thread";
    inner.parallel_calls = 1;
    inner.elements = inner.calls = f.elements;
    inner.busy_s = inner.gil_hold_s = 9.9;
    inner.cpu_s = 0.05;
    f.stages.push_back(inner);
    return Model(f).gain({{.stage = 2, .parallel_calls = 0}});
  };
  EXPECT_NEAR(gain(4, "flat_map"), 4, 0.5);
  EXPECT_NEAR(gain(100, "flat_map"), 20, 2);
  EXPECT_GT(gain(400, "interleave"), 50);
}

TEST(DoctorModel, ShortWaitsInOpenDatasetsAreFoundOut) {
  const auto gain = [](double call_s, const char* op) {
    Facts f = pipeline(1 / call_s);
    f.stages[1].op = "interleave";
    f.stages[1].label = "interleave#1";
    f.stages[1].parallel_calls = 1;
    f.stages[1].cycle_length = 8;
    StageFacts inner;
    inner.label = absl::StrCat("interleave#1.", op, "#0");
    inner.op = op;
    inner.parent = 1;
    inner.user_code = true;
    inner.source = inner.sequential = inner.op == "from_generator";
    inner.elements = f.elements;
    inner.busy_s = 9.9;
    inner.cpu_s = 0.05;
    f.stages.push_back(inner);
    return Model(f).gain({{.stage = 1, .parallel_calls = 0}});
  };
  EXPECT_NEAR(gain(4e-3, "from_generator"), 16, 1);
  EXPECT_NEAR(gain(0.5e-3, "from_generator"), 16, 1);
  EXPECT_NEAR(gain(4e-3, "map"), 16, 1);
  EXPECT_LT(gain(0.5e-3, "map"), 6);  // those keep their worker
}

TEST(DoctorModel, ResultsOfThreadsAreCopiedIntoBatches) {
  Facts f = pipeline(1000);
  f.stages[1].executor = "process";
  f.stages[1].executor_forced = true;
  f.stages[1].busy_s = 40;
  f.stages[1].work_s = 0.1;
  f.stages[1].worker_cpu_s = 20;
  f.stages[1].cpu_s = 18;
  const double small = Model(f).gain({{.stage = 1, .executor = "thread"}});
  f.stages[1].bytes = 100e9;  // 10 MB each
  const double large = Model(f).gain({{.stage = 1, .executor = "thread"}});
  EXPECT_GT(small, 50);
  EXPECT_LT(large, 5);
}

TEST(DoctorModel, GainsAreTheSameBesideOtherLoad) {
  Facts quiet = crossing();
  quiet.stages[1].native_left = 0.25;
  const std::vector<Change> native = {{.stage = 1, .executor = "native"}};
  // A tenth of the work was done, and threads mostly waited for a core.
  Facts loaded = quiet;
  loaded.elements /= 10;
  for (StageFacts& s : loaded.stages) {
    s.elements /= 10;
    s.calls /= 10;
    s.cpu_s /= 10;
    s.work_s /= 10;
    s.worker_cpu_s /= 10;
  }
  loaded.own_cpu_s /= 10;
  loaded.other_cpu = 3.6;
  loaded.run_delay_s = 60;
  EXPECT_NEAR(Model(loaded).gain(native), Model(quiet).gain(native), 0.4);
}

}  // namespace
}  // namespace penstock::doctor
