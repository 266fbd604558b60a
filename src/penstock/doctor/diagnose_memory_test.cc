// The rules about memory on made-up facts.
#include <gtest/gtest.h>

#include "penstock/doctor/diagnose.h"
#include "tests/support/made_up_facts.h"

namespace penstock::doctor {
namespace {

TEST(Doctor, CallsWithoutRoomAreThoseOfTheMapInFrontOfANativeOne) {
  Facts f = one_sleeper();
  f.memory_budget = 16e6;
  f.stages[1].parallel_calls = 0;
  f.stages[1].spec_bytes = 4e6;
  StageFacts native = f.stages[1];
  native.label = "map#2";
  native.index = 2;
  native.inputs = {1};
  native.executor = "native";
  native.busy_s = native.cpu_s = 0.01;
  native.gil_hold_s = native.gil_held_s = 0;
  native.wait_memory_s = 9;
  f.stages.push_back(native);
  f.output = 2;
  const Diagnosis d = diagnose(Model(f));
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().code, "memory-budget");
  EXPECT_EQ(d.findings.front().stage, 1);
}

TEST(Doctor, WhatIsCostlyToMakeIsCachedAsItIs) {
  const auto inflated = [](double element_s, double budget, const char* op,
                           bool reads = false, bool decodes = false) {
    Facts f = pipeline(100);
    f.stages[1].reads = reads;
    f.stages[1].decodes = decodes;
    f.memory_budget = budget;
    f.stages[0].cardinality = f.stages[1].cardinality = 1000;
    f.stages[0].spec_bytes = 10'000;
    f.stages[1].spec_bytes = 100'000;
    f.stages[1].executor = "native";
    f.stages[1].elements_ever = 1000;
    f.stages[1].busy_ever_s = 1000 * element_s;
    StageFacts holder = f.stages[1];
    holder.label = "holder#2";
    holder.op = op;
    holder.executor = "";
    holder.window = op == std::string("shuffle") ? 500 : 0;
    holder.inputs = {1};
    f.stages.push_back(holder);
    f.output = 2;
    for (const Finding& finding : diagnose(Model(f)).findings) {
      if (finding.code == "early-inflate") return true;
    }
    return false;
  };
  EXPECT_TRUE(inflated(50e-6, 1e9, "cache"));    // a cast
  EXPECT_FALSE(inflated(500e-6, 1e9, "cache"));  // a picture
  // On a machine that decodes as fast as others cast.
  EXPECT_FALSE(inflated(50e-6, 1e9, "cache", false, true));
  EXPECT_TRUE(inflated(500e-6, 1e8, "cache"));  // which does not fit
  EXPECT_TRUE(inflated(500e-6, 1e9, "shuffle"));
  // A file is no larger form of its name, however long that is.
  EXPECT_FALSE(inflated(50e-6, 1e9, "cache", true));
}

}  // namespace
}  // namespace penstock::doctor
