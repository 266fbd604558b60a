#include "nested_functions.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "bindings.h"
#include "functions.h"

namespace penstock::python {
namespace {

std::string text_of(PyObject* object, const char* attribute) {
  const Owned value(PyObject_GetAttrString(object, attribute));
  const char* text =
      value.get() == nullptr ? nullptr : PyUnicode_AsUTF8(value.get());
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? std::string() : std::string(text);
}

// Above 0, or else 0.
std::int64_t number_of(PyObject* object, const char* attribute) {
  const Owned value(PyObject_GetAttrString(object, attribute));
  const std::int64_t number =
      value.get() == nullptr ? 0 : PyLong_AsLongLong(value.get());
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return std::max<std::int64_t>(0, number);
}

PyRef weak_reference(PyObject* object, const char* attribute) {
  const Owned value(PyObject_GetAttrString(object, attribute));
  PyObject* weak = value.get() == nullptr || value.get() == Py_None
                       ? nullptr
                       : PyWeakref_NewRef(value.get(), nullptr);
  if (weak == nullptr) PyErr_Clear();
  return weak == nullptr ? PyRef() : adopt(weak);
}

std::shared_ptr<StageCounters> counters_of(PyObject* handle) {
  FunctionHandle* function = nullptr;
  if (nb::try_cast(nb::handle(handle), function) && function != nullptr) {
    return function->counters;
  }
  DatasetFunctionHandle* opener = nullptr;
  if (nb::try_cast(nb::handle(handle), opener) && opener != nullptr) {
    return opener->counters;
  }
  return nullptr;
}

}  // namespace

void PythonCosts::add(const PythonCosts& other) {
  calls += other.calls;
  wait_ns += other.wait_ns;
  hold_ns += other.hold_ns;
  work_ns += other.work_ns;
  worker_cpu_ns += other.worker_cpu_ns;
  looks += other.looks;
  held += other.held;
}

PythonCosts costs_of(const StageCounters& counters) {
  return {counters.calls.load(),         counters.wait_ns.load(),
          counters.hold_ns.load(),       counters.work_ns.load(),
          counters.worker_cpu_ns.load(), counters.looks.looks.load(),
          counters.looks.held.load()};
}

void NestedFunctions::add(PyObject* dataset) {
  const Owned functions(PyObject_GetAttrString(dataset, "_functions"));
  if (functions.get() == nullptr || !PyDict_Check(functions.get())) {
    PyErr_Clear();
    return;
  }
  PyObject* key = nullptr;
  PyObject* lowered = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(functions.get(), &at, &key, &lowered) != 0) {
    note(lowered);
  }
}

void NestedFunctions::note(PyObject* lowered) {
  const Owned handle(PyObject_GetAttrString(lowered, "handle"));
  if (handle.get() == nullptr) {
    PyErr_Clear();
    return;
  }
  std::shared_ptr<StageCounters> counters = counters_of(handle.get());
  if (counters == nullptr) return;  // native
  Stage stage{.costs = {},
              .executor = text_of(handle.get(), "executor"),
              .name = text_of(lowered, "name"),
              .parallel_calls = number_of(lowered, "asked"),
              .fn = weak_reference(lowered, "fn")};
  const std::string label = text_of(lowered, "stage");
  const std::lock_guard lock(mutex_);
  fold(entries_, label);
  Entry& entry = entries_[label];
  stage.costs = entry.stage.costs;
  entry.stage = std::move(stage);
  // The same dataset may be opened many times.
  if (std::find(entry.live.begin(), entry.live.end(), counters) ==
      entry.live.end()) {
    entry.live.push_back(std::move(counters));
  }
}

// Those that nobody else has any more count no further.
void NestedFunctions::fold(Entries& entries, const std::string& label) {
  Entry& entry = entries[label];
  std::vector<std::shared_ptr<StageCounters>> live;
  live.swap(entry.live);
  for (std::shared_ptr<StageCounters>& counters : live) {
    if (counters.use_count() > 1) {
      entry.live.push_back(std::move(counters));
      continue;
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    entry.stage.costs.add(costs_of(*counters));
    for (auto& [inner, stage] : counters->nested.read()) {
      Stage& sum = entries[absl::StrCat(label, ".", inner)].stage;
      stage.costs.add(sum.costs);
      sum = std::move(stage);
    }
  }
}

std::map<std::string, NestedFunctions::Stage> NestedFunctions::read() const {
  std::map<std::string, Stage> found;
  const auto add = [&found](const std::string& label, Stage stage) {
    Stage& sum = found[label];
    stage.costs.add(sum.costs);
    sum = std::move(stage);
  };
  const std::lock_guard lock(mutex_);
  for (const auto& [label, entry] : entries_) {
    Stage stage = entry.stage;
    for (const std::shared_ptr<StageCounters>& counters : entry.live) {
      stage.costs.add(costs_of(*counters));
      for (auto& [inner, one] : counters->nested.read()) {
        add(absl::StrCat(label, ".", inner), std::move(one));
      }
    }
    add(label, std::move(stage));
  }
  return found;
}

}  // namespace penstock::python
