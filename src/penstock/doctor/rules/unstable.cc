// unstable: the rate varies, and something outside of the pipeline varies with
// it: other load, or the quota of a container.
#include <algorithm>
#include <cmath>

#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void unstable(const Model& model, Findings& out) {
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
  f.fix_code = quota ? "ds = ds.with_options(ps.Options(cpu_budget=1))" : "";
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
