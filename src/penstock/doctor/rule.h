// A rule looks at the facts and the model and finds one kind of fault.
//
// One file per rule under rules/, named after its code; rules.inc lists them. A
// rule states only what a counter or the graph shows, gives the figures, and
// asks the model what its fix would gain. Whether the consumer needs any of it
// is not its business: diagnose() drops speed findings of a pipeline that keeps
// its consumer fed, and gains that are too small to speak of.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "penstock/doctor/model.h"

namespace penstock::doctor {

struct Evidence {
  std::string what;
  double value = 0;
  std::string unit;  // "s", "bytes", "%", "1/s", "x", ...
};

struct Finding {
  std::string code;
  int stage = -1;
  std::string cause;
  std::vector<Evidence> evidence;
  std::string fix;
  std::string fix_code;
  /// None: not about speed.
  std::optional<double> speedup;
  /// What to do about it by the model's own terms, so that it can be verified.
  std::vector<Change> changes;
  /// Does not depend on whether the consumer waits.
  bool always = false;
  /// Says the same as another one of this stage, less exactly.
  bool secondary = false;
};

using Findings = std::vector<Finding>;
using Rule = void (*)(const Model& model, Findings& out);

#define PENSTOCK_RULE(name) void name(const Model& model, Findings& out);
#include "penstock/doctor/rules.inc"
#undef PENSTOCK_RULE

/// What a cache may hold, of the memory budget.
constexpr double kCacheFits = 0.5;

/// All of them.
const std::vector<Rule>& rules();

// --- for rules ------------------------------------------------------------

inline const StageFacts& stage_of(const Model& m, int i) {
  return m.facts().stages[static_cast<std::size_t>(i)];
}
inline const Need& need_of(const Model& m, int i) {
  return m.needs()[static_cast<std::size_t>(i)];
}
inline int num_stages(const Model& m) {
  return static_cast<int>(m.facts().stages.size());
}
/// Seconds of `total` per element of the stage.
inline double per_element(double total, const StageFacts& s) {
  return s.elements > 0 ? total / s.elements : 0;
}
/// The pipeline's limit is of this kind and lies here.
inline bool limits(const Model& m, int stage, Limit limit) {
  return m.pipeline().limit == limit && m.pipeline().stage == stage;
}
/// Wall time of one call per element, waiting for the GIL left out.
double service_s(const Model& m, int stage);
/// A Python call that takes less does next to nothing.
inline double tiny_call_s(const Facts& f) {
  return std::max(4 * f.call_overhead_s, 4e-6);
}
/// Crossing to worker processes and back, CPU seconds per call on both sides.
inline double crossing_s(const StageFacts& s) {
  const double packing = std::max(0.0, s.worker_cpu_s - s.work_s);
  return s.calls > 0 ? (packing + s.cpu_s) / s.calls : 0;
}
/// What the function of worker processes does in a call, calling it and waiting
/// for a core left out.
inline double work_s(const Model& m, const StageFacts& s) {
  const double inside = m.stretch() * s.work_s;
  return s.calls > 0
             ? std::max(0.0, inside / s.calls - m.facts().call_overhead_s)
             : 0;
}
/// Calling the stage's function costs more than the function does.
inline bool calling_costs_most(const Model& m, int stage) {
  const StageFacts& s = stage_of(m, stage);
  if (s.calls <= 0) return false;
  if (is_process(s)) {
    return s.executor_forced && crossing_s(s) >= work_s(m, s);
  }
  return is_thread(s) && s.gil_hold_s / s.calls < tiny_call_s(m.facts());
}
/// The lanes of a stage that are at work, of those there are.
inline double lanes_used(const Model& m, int stage) {
  const double lanes = need_of(m, stage).lanes;
  return m.parallelism(stage) / (lanes > 0 ? lanes : m.facts().cores);
}
/// Cores that the pipeline really kept busy, running ahead included.
inline double busy_cores(const Model& m) {
  double cpu = 0;
  for (const StageFacts& s : m.facts().stages) cpu += s.cpu_s + s.worker_cpu_s;
  return m.facts().seconds > 0 ? cpu / m.facts().seconds : 0;
}
/// A stage made clearly more than the consumer took: it has room.
inline bool runs_ahead(const Model& m, int stage) {
  return stage_of(m, stage).elements >
         1.2 * m.facts().elements * m.per_output(stage) + 64;
}
/// Elements of one epoch behind a stage, by the graph and what filters were
/// seen to keep; 0: not known. A repeat counts as one epoch. With `at_least`,
/// also by what was seen of sources and nested datasets.
double epoch_size(const Model& m, int stage, bool at_least = false);
/// Three figures, from 100 on whole: "0.531", "12.9", "1,438".
std::string number(double value);
/// "map#2" or "map#2:decode".
inline const std::string& label(const Model& m, int stage) {
  return stage_of(m, stage).label;
}

}  // namespace penstock::doctor
