// Python functions as the engine calls them, on its own threads.
//
// A function is called once per element with the GIL held over a block (see
// Gil::breathe). Tuple elements are spread over the arguments.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gil_watch.h"
#include "interpreter.h"
#include "nested_functions.h"
#include "penstock/dataset.h"
#include "penstock/ops/function.h"

namespace penstock::python {

/// What a stage makes of a function's result.
enum class Result : std::uint8_t {
  kElement,    // map
  kPredicate,  // filter, take_while: its truth
  kNumber,     // keys, classes, lengths: a whole number
};

/// Lines of a function on which worker processes were seen, while somebody
/// samples: "line\tname\tfile" and how often. Thread-safe.
class HotLines {
 public:
  /// What a worker wrote: "count\tline\tname\tfile\n" for each.
  void add(std::string_view text);
  std::map<std::string, std::int64_t> read() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> seen_;
};

/// Cost of the GIL to one Python stage, over all its iterators.
struct StageCounters {
  std::atomic<std::int64_t> calls{0};
  std::atomic<std::int64_t> wait_ns{0};
  std::atomic<std::int64_t> hold_ns{0};
  // In worker processes: inside the function, and CPU time of whole calls.
  std::atomic<std::int64_t> work_ns{0};
  std::atomic<std::int64_t> worker_cpu_ns{0};
  GilLooks looks;  // while a doctor watches
  HotLines lines;
  NestedFunctions nested;  // of the datasets that it opens
};

struct AutoState;
struct ProcessControls;

/// A function as Python code holds it; stages share it.
struct FunctionHandle {
  FunctionRef ref;
  std::shared_ptr<StageCounters> counters;  // null: not Python
  std::string executor;                     // "thread", "process", "native"
  std::shared_ptr<ProcessControls> controls = nullptr;  // process only
  std::shared_ptr<AutoState> automatic = nullptr;       // may move to processes
};
struct DatasetFunctionHandle {
  DatasetFunctionRef ref;
  std::shared_ptr<StageCounters> counters;
  std::string executor;
};

/// The function of a scan that runs natively.
struct ScanHandle {
  ScanFunction fn;
};

/// Random key of the element that this thread computes now.
struct CurrentElement {
  bool active = false;
  std::uint64_t key = 0;
  std::uint64_t draws = 0;
};
CurrentElement& current_element();

FunctionHandle make_python_function(PyRef fn, Result result, Spec declared,
                                    std::string identity);
DatasetFunctionHandle make_python_dataset_function(PyRef fn, Spec declared,
                                                   std::string identity);
/// The function of a scan; `declared` is the spec of its outputs.
ScanFunction make_python_scan(PyRef fn, Spec state_spec, Spec declared);
/// `fn()` gives an iterator.
SequentialFactory make_python_generator(PyRef fn, Spec declared);
std::function<StatusOr<Element>(std::int64_t)> make_python_getitem(
    PyRef object, Spec declared);
std::function<std::int64_t(std::int64_t)> make_python_number_function(PyRef fn);

/// fn(*element), a new reference; null with a Python error set. `first`
/// (borrowed, may be null) comes before the element.
PyObject* call_on_element(PyObject* fn, PyObject* first,
                          const Element& element);
/// A result as `result` wants it, and an element as `declared` does.
StatusOr<Element> convert_result(PyObject* value, Result result,
                                 const Spec* declared = nullptr);

}  // namespace penstock::python
