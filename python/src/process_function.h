// Functions that run in worker processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "functions.h"
#include "workers.h"

namespace penstock::python {

/// What Python code may change while it runs, and read.
struct ProcessControls {
  WorkerShare workers;
  std::atomic<std::int64_t> timeout_ns{0};  // for one call; 0: none
  /// Calls that wait need no core, and as many run at once as the stage may
  /// have. Not while AUTO decides where they run.
  bool may_wait = false;
};

/// `pickled` is the function, as the worker's loads() takes it.
FunctionRef make_process_function(std::string pickled, Result result,
                                  Spec declared, std::string identity,
                                  std::shared_ptr<StageCounters> counters,
                                  std::shared_ptr<ProcessControls> controls);

/// Serves calls until the socket closes. Runs in a worker, with the GIL.
/// `loads` unpickles functions, `dump_failure` pickles exceptions, `sampler`
/// sees hot lines (penstock._worker).
void serve(int socket, int arena, std::uint64_t reserved, std::uint64_t slot,
           PyObject* loads, PyObject* dump_failure, PyObject* sampler);

}  // namespace penstock::python
