// A Python function that starts in threads and moves to worker processes when
// the GIL is seen to limit it.
//
// Each block goes to one executor, chosen when it starts, so nothing is lost,
// doubled or reordered by a move. The judgement: at least two blocks ran at the
// same time, and together they used (or waited for) no more than one core, but
// not less either (that would be sleeping), so they waited for each other. When
// the workers turn out to sleep all the same, the function goes back, for good.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "functions.h"
#include "process_function.h"

namespace penstock::python {

/// What became of it, for explain() and stats().
struct AutoState {
  std::atomic<int> mode{0};  // 0 threads, 1 workers start, 2 processes, 3 stays
  std::mutex mutex;
  std::string reason;
};

/// `prepare` (Python, no arguments) gives the pickled function, or raises to
/// stay in threads.
FunctionHandle make_auto_function(PyRef fn, PyRef prepare, Result result,
                                  Spec declared, std::string identity,
                                  int workers);

}  // namespace penstock::python
