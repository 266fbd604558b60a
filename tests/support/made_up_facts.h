// Pipelines that were never run, for tests of the model and the rules.
#pragma once

#include <string>

#include "penstock/doctor/diagnose.h"
#include "penstock/doctor/facts.h"

namespace penstock::doctor {

// source#0 -> map#1, observed for ten seconds on four cores.
inline Facts pipeline(double rate) {
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
inline Facts one_sleeper() {
  Facts f = pipeline(100);
  f.stages[1].parallel_calls = 1;
  f.stages[1].busy_s = 10;
  f.stages[1].gil_hold_s = 10;
  f.stages[1].cpu_s = 0.05;
  f.stages[1].blocking = true;
  return f;
}

// Calls on all cores that wait without the GIL, too short to be found out.
inline Facts short_waits(double rate) {
  Facts f = pipeline(rate);
  f.stages[1].busy_s = 40;
  f.stages[1].gil_hold_s = 40;
  f.stages[1].gil_held_s = 0.1;
  f.stages[1].cpu_s = 0.1;
  f.gil_busy = 0.01;
  return f;
}

// Forced processes whose calls do next to nothing, on all cores.
inline Facts crossing() {
  Facts f = pipeline(1000);
  f.stages[1].executor = "process";
  f.stages[1].executor_forced = true;
  f.stages[1].busy_s = 40;
  f.stages[1].cpu_s = 15;
  f.stages[1].worker_cpu_s = 24;
  f.stages[1].work_s = 1;
  f.own_cpu_s = 39;
  f.run_delay_s = 0.5;
  return f;
}

// A native map on all four cores, of which others take their part.
inline Facts native_map() {
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

/// What was found with that code, or null.
inline const Finding* find(const Diagnosis& d, const std::string& code) {
  for (const Finding& finding : d.findings) {
    if (finding.code == code) return &finding;
  }
  return nullptr;
}

}  // namespace penstock::doctor
