// Worker processes with faults, for tests: they die, answer late, or cannot be
// started, by a plan that a seed fixes.
#pragma once

#include <cstdint>
#include <memory>

#include "workers.h"

namespace penstock::python {

/// How often what happens, each 0 to 1.
struct WorkerFaults {
  std::uint64_t seed = 0;
  double die_before_call = 0;  // the call is not sent
  double die_in_call = 0;      // it is sent, and no answer comes
  double answer_late = 0;      // by up to 10 ms
  double fail_to_start = 0;
  double start_late = 0;  // seconds by which each starts later
};

std::shared_ptr<WorkerTransport> faulty_transport(
    WorkerFaults faults, std::shared_ptr<WorkerTransport> real);

}  // namespace penstock::python
