// Python functions inside datasets that a function opens: interleave, flat_map.
//
// Each opening makes functions of its own, which count for themselves. Here
// they are known by the stage that they have in every one of those datasets.
#pragma once

#include <Python.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "interpreter.h"

namespace penstock::python {

struct StageCounters;

/// Sums of StageCounters.
struct PythonCosts {
  std::int64_t calls = 0;
  std::int64_t wait_ns = 0;
  std::int64_t hold_ns = 0;
  std::int64_t work_ns = 0;
  std::int64_t worker_cpu_ns = 0;
  std::int64_t looks = 0;
  std::int64_t held = 0;

  void add(const PythonCosts& other);
};
PythonCosts costs_of(const StageCounters& counters);

/// Thread-safe.
class NestedFunctions {
 public:
  /// One stage in all datasets that were opened.
  struct Stage {
    PythonCosts costs;
    std::string executor;  // of the last one
    std::string name;
    std::int64_t parallel_calls = 0;  // asked for; 0: AUTOTUNE
    PyRef fn;                         // a weak reference to it, or null
  };

  /// Notes the functions of a Python Dataset. Requires the GIL.
  void add(PyObject* dataset);
  /// By the stage in the nested dataset, as "map#1"; "interleave#1.map#1" for
  /// those that are opened inside it.
  std::map<std::string, Stage> read() const;

 private:
  struct Entry {
    Stage stage;  // with the costs of those that are gone
    std::vector<std::shared_ptr<StageCounters>> live;
  };
  using Entries = std::map<std::string, Entry>;

  void note(PyObject* lowered);
  static void fold(Entries& entries, const std::string& stage);

  mutable std::mutex mutex_;
  Entries entries_;
};

}  // namespace penstock::python
