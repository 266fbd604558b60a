// The model and the rules on made-up facts: just above and just below.
#include "penstock/doctor/diagnose.h"

#include <gtest/gtest.h>

#include <tuple>

namespace penstock::doctor {
namespace {

// source#0 -> map#1, observed for ten seconds on four cores.
Facts pipeline(double rate) {
  Facts f;
  f.cores = 4;
  f.seconds = 10;
  f.elements = rate * f.seconds;
  f.consumer_wait_s = 10;
  f.memory_budget = 1e9;
  f.output = 1;
  StageFacts source;
  source.label = "range#0";
  source.op = "range";
  source.source = true;
  source.elements = f.elements;
  StageFacts map;
  map.label = "map#1";
  map.op = "map";
  map.index = 1;
  map.inputs = {0};
  map.user_code = true;
  map.executor = "thread";
  map.elements = f.elements;
  map.calls = f.elements;
  f.stages = {source, map};
  return f;
}

// One call at a time waits for all of the time.
Facts one_sleeper() {
  Facts f = pipeline(100);
  f.stages[1].parallel_calls = 1;
  f.stages[1].busy_s = 10;
  f.stages[1].gil_hold_s = 10;
  f.stages[1].cpu_s = 0.05;
  f.stages[1].blocking = true;
  return f;
}

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

TEST(DoctorModel, TheConsumerIsALimitToo) {
  Facts f = one_sleeper();
  f.consumer_wait_s = 5;
  f.consumer_think_s = 5;  // 5 ms for each of 1,000
  const Model model(f);
  EXPECT_NEAR(model.gain({{.stage = 1, .parallel_calls = 16}}), 2, 0.05);
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

TEST(DoctorModel, NeedsAreOfWhatTheConsumerTookNotOfWhatRanAhead) {
  Facts f = one_sleeper();
  f.stages[0].elements *= 50;
  f.stages[0].busy_s = 5;
  const Model model(f);
  EXPECT_NEAR(model.needs()[0].compute, 1e-4, 1e-5);
  EXPECT_EQ(model.pipeline().stage, 1);
}

TEST(DoctorModel, CallsThatWaitOnAWorkersTimeShareTheWorkers) {
  Facts f = pipeline(100);
  f.stages[1].busy_s = 40;
  f.stages[1].gil_hold_s = 40;
  f.stages[1].gil_held_s = 0.1;
  f.stages[1].cpu_s = 0.1;
  f.gil_busy = 0.01;
  EXPECT_EQ(Model(f).now().limit, Limit::kWait);
  EXPECT_NEAR(Model(f).now().rate, 100, 5);
  f.stages[1].blocking = true;
  f.stages[1].width = 64;
  EXPECT_NEAR(Model(f).now().rate, 1600, 50);
}

// A native map on all four cores, of which others take their part.
Facts native_map() {
  Facts f = pipeline(400);
  f.stages[1].executor = "native";
  f.stages[1].busy_s = 39;
  f.stages[1].cpu_s = 39;
  f.own_cpu_s = 39;
  f.run_delay_s = 0.5;
  for (int i = 0; i < 12; ++i) {
    f.windows.push_back({.seconds = 10.0 / 12, .elements = 4000.0 / 12});
  }
  return f;
}

TEST(Doctor, ARateThatVariesWithOthersLoadIsUnstable) {
  for (const auto& [cores, found] :
       {std::pair<double, bool>{1.5, true}, {1.3, false}}) {
    Facts f = native_map();
    for (std::size_t i = 0; i < 12; i += 2) {
      f.windows[i].elements *= 0.4;
      f.windows[i].other_cpu = cores;
    }
    f.elements *= 0.7;
    for (StageFacts& s : f.stages) s.elements *= 0.7;
    const Diagnosis d = diagnose(Model(f));
    ASSERT_EQ(d.findings.size(), 1u);
    EXPECT_EQ(d.findings.front().code == "unstable", found) << cores;
  }
}

TEST(Doctor, ThreadsWithoutACoreAreStarvedNotSlow) {
  for (const auto& [delay, other, found] :
       {std::tuple<double, double, bool>{30, 2, true},
        {5, 2, false},        // hardly delayed
        {30, 0.5, false}}) {  // by our own threads
    Facts f = native_map();
    f.elements /= 2;
    f.stages[0].elements /= 2;
    f.stages[1].elements /= 2;
    f.stages[1].cpu_s /= 2;
    f.own_cpu_s = 20;
    f.run_delay_s = delay;
    f.other_cpu = other;
    f.windows.clear();
    const Diagnosis d = diagnose(Model(f));
    const bool unstable =
        !d.findings.empty() && d.findings.front().code == "unstable";
    EXPECT_EQ(unstable, found) << delay << " " << other;
    // The stage that works, not the one that the model finds the slowest.
    if (unstable) EXPECT_EQ(d.findings.front().stage, 1);
    for (const Finding& x : d.findings) EXPECT_NE(x.code, "python-gil");
  }
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

}  // namespace
}  // namespace penstock::doctor
