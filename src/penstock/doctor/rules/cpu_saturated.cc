// cpu-saturated: all cores are busy with work that is needed. The honest limit.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void cpu_saturated(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  if (model.pipeline().limit != Limit::kCores) return;
  if (model.pipeline().stage < 0) return;
  double busy = 0;
  for (int i = 0; i < num_stages(model); ++i) busy += need_of(model, i).compute;
  busy = std::max(busy * facts.rate(), busy_cores(model));
  // Or those that others leave.
  const double left = facts.cores - facts.other_cpu;
  const bool shared = facts.other_cpu > 0.1 * facts.cores && busy >= 0.8 * left;
  if (busy < 0.75 * facts.cores && !shared) return;
  if (busy < 0.2 * facts.cores) return;
  std::vector<int> order(static_cast<std::size_t>(num_stages(model)));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return need_of(model, a).compute > need_of(model, b).compute;
  });
  Finding f;
  f.code = "cpu-saturated";
  f.stage = order.front();
  f.evidence = {
      {"cores at work", std::min<double>(busy, facts.cores), "cores"}};
  if (shared) {
    f.evidence.push_back(
        {"cores that other processes used", facts.other_cpu, "cores"});
  }
  std::string spent;
  for (std::size_t k = 0; k < order.size() && k < 3; ++k) {
    const double share = model.compute_share(order[k]);
    if (share < 0.05) break;
    f.evidence.push_back(
        {absl::StrCat("of which ", label(model, order[k])), 100 * share, "%"});
    absl::StrAppend(&spent, spent.empty() ? "" : ", ", label(model, order[k]),
                    " ", std::lround(100 * share), " %");
  }
  f.cause = absl::StrCat("all ", facts.cores, " cores work on what is needed (",
                         spent, ")");
  f.fix =
      "more cores, or less work per element: this is as fast as the "
      "machine goes";
  f.fix_code =
      absl::StrCat("ps.what_if(report, {\"", label(model, f.stage),
                   "\": {\"cache\": True}})  # less work, for example");
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
