#include "penstock/doctor/diagnose.h"

#include <algorithm>
#include <cmath>

namespace penstock::doctor {
namespace {

// A consumer that waits less than this is fed.
constexpr double kFed = 0.05;
constexpr double kBalanced = 0.12;
// Smaller gains are not worth a line.
constexpr double kLeastGain = 1.1;
// Further apart, the model misses something.
constexpr double kTolerance = 0.10;
constexpr double kLeastElements = 5;

std::string percent(double share) {
  return absl::StrFormat("%.0f %%", 100 * share);
}

// A source that opens what it reads is one stage to its user: "tfrecord#0" for
// "tfrecord#0.tfrecord#0".
int users_stage(const Model& m, int stage) {
  const std::string& inner = label(m, stage);
  const std::string outer = inner.substr(0, inner.rfind('.'));
  for (int i = 0; i < num_stages(m); ++i) {
    if (i != stage && label(m, i) == outer && stage_of(m, i).source) return i;
  }
  return stage;
}

bool opens_datasets(const Model& m, int stage) {
  for (const StageFacts& s : m.facts().stages) {
    if (s.parent == stage) return true;
  }
  return false;
}

}  // namespace

std::string number(double value) {
  if (value < 100) return absl::StrFormat("%.3g", value);
  std::string text = absl::StrFormat("%.0f", value);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

double service_s(const Model& m, int stage) {
  const StageFacts& s = stage_of(m, stage);
  const double calls = std::max(s.elements, 1.0);
  return std::max(0.0, s.busy_s - s.gil_wait_s) / calls;
}

double epoch_size(const Model& m, int stage, bool at_least) {
  const StageFacts& s = stage_of(m, stage);
  if (s.op == "repeat") return epoch_size(m, s.inputs.front(), at_least);
  if (s.cardinality >= 0) return static_cast<double>(s.cardinality);
  if (s.source) {
    return at_least && s.epochs_ever > 0 ? s.elements_ever / s.epochs_ever : 0;
  }
  if (s.inputs.size() != 1) return 0;
  if (!at_least && opens_datasets(m, stage)) return 0;
  const int before = s.inputs.front();
  const double seen = stage_of(m, before).elements_ever;
  if (seen <= 0) return 0;
  return epoch_size(m, before, at_least) * s.elements_ever / seen;
}

const std::vector<Rule>& rules() {
  static const auto* all = new std::vector<Rule>{
#define PENSTOCK_RULE(name) name,
#include "penstock/doctor/rules.inc"
#undef PENSTOCK_RULE
  };
  return *all;
}

std::string severity(const Finding& finding) {
  if (finding.code == "cpu-saturated") return "info";
  if (!finding.speedup) return "warning";
  return *finding.speedup >= 2 ? "critical" : "warning";
}

Diagnosis diagnose(const Model& model) {
  const Facts& f = model.facts();
  Diagnosis d;
  d.predicted = model.now().rate;
  const double waits = f.wait_share();
  d.bound = waits <= kFed        ? "consumer"
            : waits <= kBalanced ? "balanced"
                                 : "pipeline";
  // A loop that takes elements as fast as it can has no time of its own.
  const bool fed = d.bound == "consumer";

  Findings found;
  for (const Rule rule : rules()) rule(model, found);
  for (Finding& finding : found) {
    finding.stage = users_stage(model, finding.stage);
    const bool speed = finding.speedup.has_value();
    if (speed && fed && !finding.always) continue;
    if (finding.code == "cpu-saturated" && fed) continue;
    if (speed && !finding.always && *finding.speedup < kLeastGain) continue;
    d.findings.push_back(std::move(finding));
  }
  // What says the same less exactly, only where nothing else was said.
  const bool primary =
      std::any_of(d.findings.begin(), d.findings.end(),
                  [](const Finding& x) { return x.speedup && !x.secondary; });
  if (primary) {
    std::erase_if(d.findings, [](const Finding& x) { return x.secondary; });
  }
  // What others do to the pipeline, only where nothing is wrong with itself.
  const bool own =
      std::any_of(d.findings.begin(), d.findings.end(), [](const Finding& x) {
        return x.code != "unstable" && x.code != "cpu-saturated";
      });
  if (own) {
    std::erase_if(d.findings,
                  [](const Finding& x) { return x.code == "unstable"; });
  }
  const bool speed =
      std::any_of(d.findings.begin(), d.findings.end(),
                  [](const Finding& x) { return x.speedup.has_value(); });
  if (speed) {
    std::erase_if(d.findings,
                  [](const Finding& x) { return x.code == "cpu-saturated"; });
  }
  // Largest gain first; the honest limit is no fault, and comes last.
  std::stable_sort(d.findings.begin(), d.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     const bool a_limit = a.code == "cpu-saturated";
                     const bool b_limit = b.code == "cpu-saturated";
                     if (a_limit != b_limit) return b_limit;
                     return a.speedup.value_or(0) > b.speedup.value_or(0);
                   });
  for (const Finding& x : d.findings) {
    if (x.code != "cpu-saturated") d.healthy = false;
  }

  const double residual = model.residual();
  const Finding* first = d.findings.empty() || !d.findings.front().speedup
                             ? nullptr
                             : &d.findings.front();
  const Finding* saturated =
      !d.findings.empty() && d.findings.front().code == "cpu-saturated"
          ? &d.findings.front()
          : nullptr;
  if (!fed) {
    d.limiting = first != nullptr       ? first->stage
                 : saturated != nullptr ? saturated->stage
                 : model.pipeline().stage >= 0
                     ? users_stage(model, model.pipeline().stage)
                     : -1;
  }
  if (f.elements < kLeastElements) {
    d.unsure = true;
    d.unsure_why = absl::StrCat("only ", f.elements, " elements were seen");
  } else if (d.bound == "pipeline" && std::abs(residual - 1) > kTolerance &&
             (first == nullptr ||
              (first->code != "head-of-line" &&
               first->code != "memory-budget" && first->code != "unstable"))) {
    d.unsure = true;
    d.unsure_why = absl::StrFormat(
        "the model gives %s elements/s for the pipeline as it is, measured "
        "were %s",
        number(model.now().rate), number(f.rate()));
  }

  if (fed) {
    d.verdict = absl::StrFormat(
        "The consumer is the limit: it takes %s elements/s and waits %s of the "
        "time.",
        number(f.rate()), percent(waits));
  } else if (d.bound == "balanced") {
    d.verdict = absl::StrFormat(
        "Pipeline and consumer are balanced at %s elements/s: the consumer "
        "waits %s of the time.",
        number(f.rate()), percent(waits));
  } else {
    std::string why;
    if (first != nullptr) {
      why = absl::StrCat(label(model, first->stage), ": ", first->cause);
    } else if (saturated != nullptr) {
      why = saturated->cause;
    } else if (d.limiting >= 0) {
      why = absl::StrCat(label(model, d.limiting), " takes most of the time");
    } else {
      why = "nothing stands out";
    }
    while (!why.empty() && why.back() == '.') why.pop_back();
    d.verdict = absl::StrFormat(
        "The pipeline is the limit at %s elements/s, the consumer waits %s of "
        "the time: %s.",
        number(f.rate()), percent(waits), why);
  }
  if (first != nullptr && fed) {
    d.verdict.pop_back();
    absl::StrAppend(&d.verdict, "; ", first->cause, ".");
  }
  return d;
}

}  // namespace penstock::doctor
