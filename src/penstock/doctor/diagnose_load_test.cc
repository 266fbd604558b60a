// The rules on made-up facts of a machine that others use, too.
#include <gtest/gtest.h>

#include "penstock/doctor/diagnose.h"
#include "tests/support/made_up_facts.h"

namespace penstock::doctor {
namespace {

TEST(Doctor, WhatReadAheadGainsIsTheSameBesideOtherLoad) {
  // By turns: 50 ms of computing on one of two cores, 50 ms of a step.
  const auto gain = [](double delay) {
    Facts f = pipeline(1 / (0.1 + delay));
    f.cores = 2;
    f.stages[1].executor = "native";
    f.stages[1].parallel_calls = 1;
    f.stages[1].sequential = true;
    f.stages[1].prefetch = 0;
    f.stages[1].cpu_s = 0.05 * f.elements;
    f.stages[1].busy_s = (0.05 + delay) * f.elements;
    f.consumer_wait_s = f.stages[1].busy_s;
    f.consumer_think_s = 0.05 * f.elements;
    f.run_delay_s = delay * f.elements;
    f.other_cpu = delay > 0 ? 1.5 : 0;
    f.own_cpu_s = f.stages[1].cpu_s;
    for (const Finding& finding : diagnose(Model(f)).findings) {
      if (finding.code == "no-prefetch") return *finding.speedup;
    }
    return 0.0;
  };
  EXPECT_NEAR(gain(0), 2, 0.1);
  EXPECT_NEAR(gain(0.15), 2, 0.1);
}

TEST(Doctor, TurnsThatGainLittleBesideOtherLoadAreNamedAllTheSame) {
  // 5 ms of computing, for which 40 ms were waited, and 100 ms of a step.
  Facts f = pipeline(1 / 0.14);
  f.cores = 2;
  f.stages[1].executor = "native";
  f.stages[1].prefetch = 0;
  f.stages[1].cpu_s = 0.005 * f.elements;
  f.stages[1].busy_s = f.consumer_wait_s = 0.04 * f.elements;
  f.consumer_think_s = 0.1 * f.elements;
  f.run_delay_s = 0.035 * f.elements;
  f.other_cpu = 1.8;
  f.own_cpu_s = f.stages[1].cpu_s;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "no-prefetch");
  f.consumer_think_s *= 10;  // it is fed
  EXPECT_TRUE(diagnose(Model(f)).findings.empty());
}

TEST(Doctor, CrossingCostsMoreThanTinyCallsBesideOtherLoadToo) {
  Facts f = crossing();
  EXPECT_EQ(diagnose(Model(f)).findings.front().code, "process-overhead");
  // A third of the work was done; calls waited for a core inside of workers.
  for (StageFacts& s : f.stages) {
    s.elements /= 3;
    s.calls /= 3;
    s.cpu_s /= 3;
    s.worker_cpu_s /= 3;
  }
  f.elements /= 3;
  f.own_cpu_s /= 3;
  f.stages[1].work_s = 15;
  f.other_cpu = 2.7;
  f.run_delay_s = 30;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "process-overhead");
}

TEST(Doctor, AConsumerThatHelpsIsNoOtherLoad) {
  Facts f = pipeline(50);  // 10 ms of work, then 10 of the consumer
  f.cores = 2;
  f.stages[1].prefetch = 0;
  f.stages[1].executor = "native";
  f.consumer_wait_s = f.consumer_think_s = 5;
  // It computes while it waits, so three threads share two cores.
  f.stages[1].busy_s = 15;
  f.stages[1].cpu_s = 10;
  f.own_cpu_s = 10;
  f.run_delay_s = 5;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "no-prefetch");
  EXPECT_NEAR(*d.findings.front().speedup, 2, 0.2);
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
    if (unstable) {
      EXPECT_EQ(d.findings.front().stage, 1);
    }
    for (const Finding& x : d.findings) EXPECT_NE(x.code, "python-gil");
  }
}

TEST(Doctor, CallsWithoutACoreAreNoStragglers) {
  for (const auto& [delay, found] :
       {std::pair<double, bool>{0, true}, {7.5, false}}) {
    Facts f = pipeline(100);
    f.stages[1].parallel_calls = 8;
    f.stages[1].busy_s = 8;
    f.stages[1].gil_hold_s = 8;
    f.stages[1].gil_held_s = 0;
    f.stages[1].cpu_s = 0.4;
    f.stages[1].wait_order_s = 50;
    f.run_delay_s = delay;
    f.other_cpu = 0.4 * delay;
    bool said = false;
    for (const Finding& finding : diagnose(Model(f)).findings) {
      said = said || finding.code == "head-of-line";
    }
    EXPECT_EQ(said, found) << delay;
  }
}

TEST(Doctor, CoresThatOthersTakeAreNoSaturation) {
  Facts f = pipeline(500);
  f.stages[0].busy_s = 15;  // blocks begin here, mostly without a core
  f.stages[0].cpu_s = 0.5;
  f.stages[1].executor = "native";
  f.stages[1].busy_s = 25;
  f.stages[1].cpu_s = 12;
  f.own_cpu_s = 13;
  f.run_delay_s = 27;
  f.other_cpu = 2.7;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "unstable");
  EXPECT_EQ(d.findings.front().stage, 1);
  EXPECT_NEAR(*d.findings.front().speedup, 3.1, 0.2);
}

TEST(Doctor, CoresThatThePipelineUsesItselfAreSaturated) {
  Facts f = pipeline(500);
  f.stages[0].cpu_s = f.stages[0].busy_s = 0.5;
  f.stages[1].executor = "native";
  f.stages[1].busy_s = 40;
  f.stages[1].cpu_s = 38;
  f.own_cpu_s = 39;
  f.run_delay_s = 1.5;
  f.other_cpu = 0.1;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings.front().code, "cpu-saturated");
  EXPECT_EQ(d.findings.front().stage, 1);
  EXPECT_TRUE(d.healthy);
}

TEST(Doctor, LoadOfOthersIsNoFaultBesideOneOfThePipelinesOwn) {
  Facts f = native_map();
  f.stages[0].in_order_source = true;
  f.stages[0].cardinality = 100'000;
  f.stages[1].op = "shuffle";
  f.stages[1].in_order_source = true;
  f.stages[1].window = 10;
  for (std::size_t i = 0; i < 12; i += 2) {
    f.windows[i].elements *= 0.4;
    f.windows[i].other_cpu = 2;
  }
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "shuffle-window");
  for (const Finding& x : d.findings) EXPECT_NE(x.code, "unstable");
}

TEST(Doctor, APipelineThatGetsNextToNoCoreIsStarved) {
  for (const auto& [other, found] :
       {std::pair<double, bool>{3.6, true}, {1.5, false}}) {
    Facts f = native_map();
    f.stages[1].busy_s = 60;
    f.stages[1].cpu_s = f.own_cpu_s = 4;
    f.run_delay_s = 50;
    f.other_cpu = other;
    f.windows.clear();
    const Diagnosis d = diagnose(Model(f));
    bool said = false;
    for (const Finding& x : d.findings) said = said || x.code == "unstable";
    EXPECT_EQ(said, found) << other;
  }
}

TEST(Doctor, CoresThatOthersLeaveAreSaturated) {
  Facts f = native_map();
  f.stages[1].busy_s = 30;
  f.stages[1].cpu_s = f.own_cpu_s = 24;
  f.run_delay_s = 10;
  f.other_cpu = 1.2;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings.front().code, "cpu-saturated");
  EXPECT_TRUE(d.healthy);
}

TEST(Doctor, LanesOfCallsThatComputeStandStillWithoutACore) {
  for (const auto& [other, found] :
       {std::pair<double, bool>{0.1, true}, {3, false}}) {
    Facts f = pipeline(20);
    f.stages[1].executor = "process";
    f.stages[1].width = f.stages[1].max_parallelism = 12;
    f.stages[1].blocking = true;
    f.stages[1].busy_s = 26;
    f.stages[1].work_s = 24;
    f.stages[1].worker_cpu_s = 8;
    f.stages[1].wait_order_s = 150;
    f.own_cpu_s = 8;
    f.run_delay_s = 8;
    f.other_cpu = other;
    bool said = false;
    for (const Finding& x : diagnose(Model(f)).findings) {
      said = said || x.code == "head-of-line";
    }
    EXPECT_EQ(said, found) << other;
  }
}

TEST(Doctor, AStepThatSleepsAndWakesBesideTheGilHasANoisyNeighbour) {
  // 0.1 ms of calls that keep up, beside a step of 1 ms that takes 2.
  Facts f = pipeline(500);
  f.cores = 2;
  StageFacts& map = f.stages[1];
  map.elements = map.calls = 9 * f.elements;  // ahead
  map.busy_s = map.gil_hold_s = 9.5;
  map.cpu_s = map.gil_held_s = 9;
  map.stays = "shared is a list, which it may write";
  f.gil_busy = 0.95;
  f.consumer_given = true;
  f.consumer_wait_s = 0.1;
  f.consumer_think_s = 9.9;
  f.consumer_cpu_s = 0.1;
  f.step_alone_s = 0.001;
  f.step_alone_cpu_s = 0.00005;
  f.step_beside_s = 0.002;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.bound, "consumer");
  EXPECT_EQ(d.findings.front().code, "noisy-neighbour");
  EXPECT_EQ(d.findings.front().stage, 1);
  EXPECT_NEAR(*d.findings.front().speedup, 1.98, 0.1);
  EXPECT_NE(d.findings.front().fix_code.find("process"), std::string::npos);
  f.step_alone_s = 0.0014;  // late by a little
  EXPECT_TRUE(diagnose(Model(f)).healthy);
  f.step_alone_s = 0.001;
  f.other_cpu = 0.5;  // it may have no core
  EXPECT_TRUE(diagnose(Model(f)).healthy);
  f.other_cpu = 0;
  f.gil_busy = 0.5;
  EXPECT_TRUE(diagnose(Model(f)).healthy);
}

TEST(Doctor, OthersTakeTheirPartOfTheCoreThatIsLeftToTheStep) {
  const auto gain = [](double others) {
    Facts f = pipeline(50);
    f.cores = 2;
    f.stages[1].executor = "native";
    f.stages[1].elements = 4 * f.elements;  // far ahead
    f.stages[1].busy_s = f.stages[1].cpu_s = 10;
    f.consumer_given = true;
    f.consumer_wait_s = 0;
    f.consumer_think_s = 10;
    f.step_alone_s = f.step_alone_cpu_s = 0.01;
    f.step_beside_s = 0.02;
    f.other_cpu = others;
    const Diagnosis d = diagnose(Model(f));
    const Finding* found = find(d, "noisy-neighbour");
    return found == nullptr ? 0.0 : *found->speedup;
  };
  EXPECT_NEAR(gain(0), 2, 0.01);
  EXPECT_NEAR(gain(0.4), 1.6, 0.01);
}

}  // namespace
}  // namespace penstock::doctor
