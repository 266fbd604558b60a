// unstable: the rate varies, and something outside of the pipeline varies with
// it: other load, or the quota of a container. Or others take the cores all of
// the time, which from inside looks like calls that wait.
#include <algorithm>
#include <cmath>

#include "penstock/doctor/rule.h"

namespace penstock::doctor {

namespace {

constexpr char kLookAgain[] =
    "report = ps.doctor(ds, seconds=10)  # again, without the other load";

// Something outside of the pipeline varies with the rate.
void varies(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  if (facts.windows.size() < 6) return;
  std::vector<Window> windows = facts.windows;
  const auto rate = [](const Window& w) {
    return w.seconds > 0 ? w.elements / w.seconds : 0;
  };
  std::sort(
      windows.begin(), windows.end(),
      [&](const Window& a, const Window& b) { return rate(a) < rate(b); });
  // Few elements per window vary by themselves.
  if (facts.elements / static_cast<double>(windows.size()) < 8) return;
  const std::size_t third = windows.size() / 3;
  double slow = 0;
  double fast = 0;
  double slow_other = 0;
  double fast_other = 0;
  double throttled = 0;
  for (std::size_t i = 0; i < third; ++i) {
    slow += rate(windows[i]);
    slow_other += windows[i].other_cpu;
    const Window& top = windows[windows.size() - 1 - i];
    fast += rate(top);
    fast_other += top.other_cpu;
  }
  for (const Window& w : windows) throttled += w.throttled_s;
  const auto n = static_cast<double>(third);
  slow /= n;
  fast /= n;
  slow_other /= n;
  fast_other /= n;
  if (slow <= 0 || fast / slow < 1.8) return;
  const bool other = slow_other - fast_other > 0.35 * facts.cores;
  const bool quota = throttled > 0.1 * facts.seconds;
  if (!other && !quota) return;
  Finding f;
  f.code = "unstable";
  f.stage = model.pipeline().stage >= 0 ? model.pipeline().stage : facts.output;
  f.speedup = fast / facts.rate();
  f.secondary = true;
  f.cause = quota ? "the rate varies because the CPU quota runs out"
                  : "the rate varies with the load of other processes";
  f.evidence = {
      {"elements/s in the slowest third", slow, "1/s"},
      {"elements/s in the fastest third", fast, "1/s"},
      {"cores others used in the slowest third", slow_other, "cores"},
      {"cores others used in the fastest third", fast_other, "cores"}};
  if (quota) f.evidence.push_back({"throttled", throttled, "s"});
  f.fix = quota ? "raise the CPU quota, or set cpu_budget to what it allows"
                : "keep other processes off these cores";
  f.fix_code =
      quota ? "ds = ds.with_options(ps.Options(cpu_budget=1))" : kLookAgain;
  out.push_back(std::move(f));
}

/// The stage whose work takes the cores, and so lacks them; -1: none does.
int most_cpu(const Facts& facts) {
  int most = -1;
  double cpu = 0;
  for (std::size_t i = 0; i < facts.stages.size(); ++i) {
    const StageFacts& stage = facts.stages[i];
    if (stage.cpu_s + stage.worker_cpu_s > cpu) {
      cpu = stage.cpu_s + stage.worker_cpu_s;
      most = static_cast<int>(i);
    }
  }
  return most;
}

// Others keep our threads from their cores for all of the time: the rate need
// not vary for it.
void starved(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  const double busy = busy_cores(model);
  const double cpu = busy * facts.seconds;
  if (facts.run_delay_s < 0 || cpu <= 0) return;
  const double delayed = facts.run_delay_s / (facts.run_delay_s + cpu);
  // Threads that wake and sleep all the time are late by nature, and some load
  // of others is on every machine.
  const double left = std::max(0.0, facts.cores - facts.other_cpu);
  if (busy < std::min(0.2 * facts.cores, 0.5 * left) || delayed < 0.4 ||
      facts.other_cpu < 0.5 * facts.cores) {
    return;
  }
  // All cores are taken, by us and by others.
  const double used = facts.own_cpu_s / std::max(facts.seconds, 1e-9);
  if (used + facts.other_cpu < 0.85 * facts.cores) return;
  Finding f;
  f.code = "unstable";
  f.stage = most_cpu(facts);
  if (f.stage < 0) f.stage = facts.output;
  f.speedup = std::max(1.0, std::min(model.residual(), facts.cores / used));
  f.secondary = true;
  f.cause = "other processes use the cores that this pipeline could use";
  f.evidence = {{"cores that others used", facts.other_cpu, "cores"},
                {"cores that this process used", used, "cores"},
                {"threads could run but had no core", 100 * delayed, "%"}};
  f.fix = "keep other processes off these cores, and look again";
  f.fix_code = kLookAgain;
  out.push_back(std::move(f));
}

}  // namespace

void unstable(const Model& model, Findings& out) {
  const std::size_t before = out.size();
  varies(model, out);
  if (out.size() == before) starved(model, out);
}

}  // namespace penstock::doctor
