// From facts to a verdict: runs every rule, keeps what matters, best first.
#pragma once

#include <string>
#include <vector>

#include "penstock/doctor/rule.h"

namespace penstock::doctor {

struct Diagnosis {
  std::string bound;     // "pipeline", "consumer", "balanced"
  std::string verdict;   // one sentence with that word
  bool healthy = true;   // nothing found but cpu-saturated
  Findings findings;     // largest gain first
  int limiting = -1;     // stage that the verdict names; -1: the consumer
  double predicted = 0;  // output elements/s of the pipeline as it is
  bool unsure = false;
  std::string unsure_why;
};

Diagnosis diagnose(const Model& model);

/// "critical", "warning" or "info".
std::string severity(const Finding& finding);

}  // namespace penstock::doctor
