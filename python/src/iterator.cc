// The iterator type. `for x in ds` calls PyIterator::next through tp_iternext:
// while a block lasts, it takes no lock that anybody waits on, and keeps the
// GIL; between blocks it waits without it.
#include "penstock/runtime/iterator.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <set>

#include "bindings.h"
#include "convert.h"
#include "penstock/base/clock.h"
#include "text.h"
#include "workers.h"

namespace penstock::python {
namespace {

constexpr std::chrono::nanoseconds kCloseTimeout(1'000'000'000);

// Leaked: iterators may be destroyed while the process exits.
struct Live {
  std::mutex mutex;
  std::set<PyIterator*> iterators;
};
Live& live() {
  static Live* instance = new Live;
  return *instance;
}

PyObject* iterator_self(PyObject* self) {
  Py_INCREF(self);
  return self;
}

PyObject* iterator_next(PyObject* self) {
  return nb::inst_ptr<PyIterator>(self)->next();
}

PyType_Slot kSlots[] = {
    {Py_tp_iter, reinterpret_cast<void*>(iterator_self)},
    {Py_tp_iternext, reinterpret_cast<void*>(iterator_next)},
    {0, nullptr},
};

// Signals are handled on the main thread: a wait there is cut into pieces.
const std::function<bool()>& interruptions() {
  static const auto* always = new std::function<bool()>([] { return true; });
  static const auto* never = new std::function<bool()>();
  return on_main_thread() ? *always : *never;
}

std::shared_ptr<Iterator> start(const Dataset& dataset, nb::bytes state) {
  const std::string_view bytes(state.c_str(), state.size());
  const WithoutGil waiting;
  auto iterator = std::make_shared<Iterator>(dataset.iterator(bytes));
  // Arrays are writable then. Copies of what is kept are not, so that it does
  // not depend on the way an element took.
  if (!dataset.node()->kept) iterator->core().hand_over_memory();
  return iterator;
}

nb::dict stage_dict(const StageStats& s) {
  nb::dict d;
  d["stage"] = s.stage;
  d["elements"] = s.elements;
  d["bytes"] = s.bytes;
  d["errors"] = s.errors;
  d["blocks"] = s.blocks;
  d["busy_ns"] = s.busy_ns;
  d["cpu_ns"] = s.cpu_ns;
  d["cpu_samples"] = s.cpu_samples;
  d["parallelism"] = s.parallelism;
  d["max_parallelism"] = s.max_parallelism;
  d["blocking"] = s.blocking;
  d["width"] = s.width;
  d["sampled_rows"] = s.sampled_rows;
  d["sampled_bytes"] = s.sampled_bytes;
  d["opens"] = s.work.opens;
  d["open_ns"] = s.work.open_ns;
  d["read_ns"] = s.work.read_ns;
  d["read_bytes"] = s.work.read_bytes;
  d["inflate_ns"] = s.work.inflate_ns;
  d["decoded_pixels"] = s.work.decoded_pixels;
  d["resized_pixels"] = s.work.resized_pixels;
  return d;
}

nb::dict pipe_dict(const PipeStats& p) {
  nb::dict d;
  d["stages"] = p.stages;
  d["wait_input_ns"] = p.wait_input_ns;
  d["wait_output_ns"] = p.wait_output_ns;
  d["wait_memory_ns"] = p.wait_memory_ns;
  d["wait_order_ns"] = p.wait_order_ns;
  d["ready_bytes"] = p.ready_bytes;
  d["block_rows"] = p.block_rows;
  return d;
}

nb::dict stats_dict(const IteratorStats& s) {
  nb::dict d;
  nb::list stages;
  nb::list pipes;
  nb::list decisions;
  for (const StageStats& stage : s.stages) stages.append(stage_dict(stage));
  for (const PipeStats& pipe : s.pipes) pipes.append(pipe_dict(pipe));
  for (const Decision& decision : s.decisions) {
    nb::dict one;
    one["at_ns"] = decision.at_ns;
    one["stage"] = decision.stage;
    one["what"] = decision.what;
    one["reason"] = decision.reason;
    decisions.append(one);
  }
  d["stages"] = stages;
  d["pipes"] = pipes;
  d["decisions"] = decisions;
  d["elements"] = s.elements;
  d["consumer_wait_ns"] = s.consumer_wait_ns;
  d["consumer_think_ns"] = s.consumer_think_ns;
  d["elapsed_ns"] = s.elapsed_ns;
  d["bytes_held"] = s.bytes_held;
  d["bytes_peak"] = s.bytes_peak;
  d["memory_budget"] = s.memory_budget;
  d["cpu_budget"] = s.cpu_budget;
  nb::list quarantine;
  for (const QuarantinedError& error : s.quarantine) {
    nb::dict one;
    one["stage"] = error.stage;
    one["element"] = error.element;
    one["message"] = error.message;
    one["replaced"] = error.replaced;
    quarantine.append(one);
  }
  d["quarantine"] = quarantine;
  d["errors_skipped"] = s.errors_skipped;
  d["errors_replaced"] = s.errors_replaced;
  d["text"] = s.to_string();
  return d;
}

}  // namespace

PyIterator::PyIterator(std::shared_ptr<Iterator> iterator)
    : iterator_(std::move(iterator)) {
  Live& l = live();
  std::lock_guard lock(l.mutex);
  l.iterators.insert(this);
}

PyIterator::~PyIterator() {
  {
    Live& l = live();
    std::lock_guard lock(l.mutex);
    l.iterators.erase(this);
  }
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  close();
  PyErr_Restore(type, value, traceback);
}

std::shared_ptr<Iterator> PyIterator::open() const {
  if (!iterator_) {
    throw Error(absl::CancelledError("the iterator is closed"));
  }
  return iterator_;
}

IteratorStats PyIterator::stats() const {
  const std::shared_ptr<Iterator> it = iterator_;
  if (!it) return last_stats_;
  const WithoutGil waiting;
  return it->stats();
}

PyObject* PyIterator::next() {
  const std::shared_ptr<Iterator> it = iterator_;
  if (!it) {
    set_python_error(absl::CancelledError("the iterator is closed"), nullptr);
    return nullptr;
  }
  IteratorCore& core = it->core();
  Element element;
  ErrorRef error;
  IteratorCore::Next result{};
  if (core.take_scalars(element)) return to_python(element);
  if (!core.next_if_ready(element, error, result)) {
    for (;;) {
      std::int64_t returned = 0;
      {
        const WithoutGil waiting;
        result = core.next(element, error, interruptions());
        returned = Clock::real().now();
      }
      gil_wait_ns_.fetch_add(Clock::real().now() - returned,
                             std::memory_order_relaxed);
      drain_released();
      if (result != IteratorCore::Next::kInterrupted) break;
      if (PyErr_CheckSignals() != 0) return nullptr;
    }
  }
  switch (result) {
    case IteratorCore::Next::kElement:
      return to_python(element);
    case IteratorCore::Next::kError:
      set_python_error(*error);
      return nullptr;
    default:
      finish();
      return nullptr;  // the end
  }
}

void PyIterator::replace(std::shared_ptr<Iterator> iterator) {
  close();
  iterator_ = std::move(iterator);
}

void PyIterator::on_finish(nb::object callback) {
  on_finish_.push_back(std::move(callback));
}

void PyIterator::finish() {
  if (on_finish_.empty()) return;
  for (const nb::object& callback : std::exchange(on_finish_, {})) {
    PyObject* result = PyObject_CallNoArgs(callback.ptr());
    if (result == nullptr) PyErr_WriteUnraisable(callback.ptr());
    Py_XDECREF(result);
  }
}

std::vector<std::string> PyIterator::close() {
  if (iterator_) finish();
  std::shared_ptr<Iterator> it = std::move(iterator_);
  iterator_ = nullptr;
  std::vector<std::string> running;
  if (!it) return running;
  IteratorStats last;
  {
    const WithoutGil waiting;
    if (!it->close(kCloseTimeout)) {
      running = it->running_stages();
      last = it->stats();
      it->core().abandon();
    } else {
      last = it->stats();
    }
    // Another thread may wait in next(): the last of us frees it.
    it.reset();
  }
  last_stats_ = std::move(last);
  drain_released();
  return running;
}

void cancel_all_iterators() {
  std::vector<std::shared_ptr<Iterator>> iterators;
  {
    Live& l = live();
    std::lock_guard lock(l.mutex);
    for (PyIterator* it : l.iterators) {
      if (auto iterator = it->get()) iterators.push_back(std::move(iterator));
    }
  }
  const WithoutGil waiting;
  for (const auto& iterator : iterators) iterator->cancel();
  iterators.clear();
  close_gate(kCloseTimeout.count());
  WorkerPool::instance().shutdown();
}

void bind_iterator(nb::module_& m) {
  nb::class_<PyIterator>(m, "Iterator", nb::type_slots(kSlots),
                         nb::is_weak_referenceable())
      .def("__init__",
           [](PyIterator* self, const Dataset& dataset, nb::bytes state) {
             new (self) PyIterator(start(dataset, state));
           })
      .def("restart",
           [](PyIterator& self, const Dataset& dataset, nb::bytes state) {
             const Status status = IteratorCore::check_state(
                 *dataset.node(), {state.c_str(), state.size()});
             if (state.size() > 0 && !status.ok()) throw Error(status);
             // First: what it writes, a cache say, is free then.
             self.close();
             self.replace(start(dataset, state));
           })
      .def("state",
           [](PyIterator& self) {
             auto it = self.open();
             std::string state;
             {
               const WithoutGil waiting;
               state = it->state_dict();
             }
             return nb::bytes(state.data(), state.size());
           })
      .def("counters",
           [](PyIterator& self) {
             nb::dict d = stats_dict(self.stats());
             d["consumer_gil_wait_ns"] = self.gil_wait_ns();
             return d;
           })
      .def("explain",
           [](PyIterator& self) {
             auto it = self.open();
             const WithoutGil waiting;
             return it->explain();
           })
      .def("cancel",
           [](PyIterator& self) {
             auto it = self.open();
             const WithoutGil waiting;
             it->cancel();
           })
      .def("on_finish", &PyIterator::on_finish)
      .def("finish", &PyIterator::finish)
      .def("close", &PyIterator::close)
      .def_prop_ro("closed",
                   [](PyIterator& self) { return self.get() == nullptr; });
  m.def("shutdown", &cancel_all_iterators);
}

}  // namespace penstock::python
