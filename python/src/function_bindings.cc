// Functions and the random key of the current element.
#include <dlfcn.h>
#include <link.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <sys/prctl.h>

#include <csignal>

#include "auto_function.h"
#include "bindings.h"
#include "convert.h"
#include "faulty_transport.h"
#include "penstock/runtime/scheduler.h"
#include "process_function.h"
#include "text.h"
#include "workers.h"

namespace penstock::python {
namespace {

Result result_kind(const std::string& kind) {
  if (kind == "predicate") return Result::kPredicate;
  if (kind == "number") return Result::kNumber;
  return Result::kElement;
}

Spec declared(nb::handle spec) {
  if (spec.is_none()) return {};
  return value_or_raise(spec_from_python(spec.ptr()));
}

nb::dict costs_dict(const PythonCosts& costs) {
  nb::dict d;
  d["calls"] = costs.calls;
  d["gil_wait_ns"] = costs.wait_ns;
  d["gil_hold_ns"] = costs.hold_ns;
  d["work_ns"] = costs.work_ns;
  d["worker_cpu_ns"] = costs.worker_cpu_ns;
  d["gil_looks"] = costs.looks;
  d["gil_held_looks"] = costs.held;
  return d;
}

nb::dict counters_dict(const std::shared_ptr<StageCounters>& counters) {
  return counters ? costs_dict(costs_of(*counters)) : nb::dict();
}

nb::dict nested_dict(const std::shared_ptr<StageCounters>& counters) {
  nb::dict found;
  if (!counters) return found;
  for (const auto& [label, stage] : counters->nested.read()) {
    nb::dict d;
    d["counters"] = costs_dict(stage.costs);
    d["executor"] = stage.executor;
    d["name"] = stage.name;
    d["parallel_calls"] = stage.parallel_calls;
    PyObject* fn =
        stage.fn ? PyObject_CallNoArgs(stage.fn.get()) : Py_NewRef(Py_None);
    if (fn == nullptr) throw nb::python_error();
    d["fn"] = nb::steal(fn);
    found[label.c_str()] = d;
  }
  return found;
}

/// Calls that wait for the GIL are not taken for calls that block. It lies in
/// the interpreter's state, whose layout is its own.
void tell_where_the_gil_lies() {
  void* state = dlsym(RTLD_DEFAULT, "_PyRuntime");
  Dl_info info{};
  void* entry = nullptr;
  if (state == nullptr || dladdr1(state, &info, &entry, RTLD_DL_SYMENT) == 0 ||
      entry == nullptr || info.dli_saddr != state) {
    return;
  }
  LockWait::lies_in(state, static_cast<const ElfW(Sym)*>(entry)->st_size);
}

}  // namespace

void bind_functions(nb::module_& m) {
  tell_where_the_gil_lies();
  nb::class_<FunctionHandle>(m, "Function")
      .def_prop_ro("executor",
                   [](const FunctionHandle& f) -> std::string {
                     if (f.automatic && f.automatic->mode.load() == 2) {
                       return "process";
                     }
                     return f.executor;
                   })
      .def_prop_ro("reason",
                   [](const FunctionHandle& f) -> std::string {
                     if (!f.automatic) return "";
                     std::lock_guard lock(f.automatic->mutex);
                     return f.automatic->reason;
                   })
      .def_prop_ro("identity",
                   [](const FunctionHandle& f) { return f.ref->identity(); })
      .def("counters",
           [](const FunctionHandle& f) { return counters_dict(f.counters); })
      // {"line\tname\tfile": how often}, as seen in worker processes
      .def("hot_lines",
           [](const FunctionHandle& f) {
             return f.counters ? f.counters->lines.read()
                               : std::map<std::string, std::int64_t>();
           })
      .def_prop_rw(
          "workers",
          [](const FunctionHandle& f) {
            return f.controls ? f.controls->workers.most.load() : 0;
          },
          [](const FunctionHandle& f, int workers) {
            if (f.controls) f.controls->workers.most.store(workers);
          })
      .def("set_timeout", [](const FunctionHandle& f, double seconds) {
        if (f.controls) {
          f.controls->timeout_ns.store(
              static_cast<std::int64_t>(seconds * 1e9));
        }
      });
  nb::class_<DatasetFunctionHandle>(m, "DatasetFunction")
      .def_ro("executor", &DatasetFunctionHandle::executor)
      .def_prop_ro(
          "identity",
          [](const DatasetFunctionHandle& f) { return f.ref->identity(); })
      .def("counters",
           [](const DatasetFunctionHandle& f) {
             return counters_dict(f.counters);
           })
      // Python functions of the datasets that it opened, by their stage there:
      // counters, executor, name, and fn while one is in use.
      .def("nested", [](const DatasetFunctionHandle& f) {
        return nested_dict(f.counters);
      });
  nb::class_<ScanHandle>(m, "ScanFunction")
      .def_prop_ro("executor", [](const ScanHandle&) { return "native"; })
      .def("counters", [](const ScanHandle&) { return nb::dict(); });
  m.def(
      "python_function",
      [](nb::callable fn, const std::string& kind, nb::object spec,
         std::string identity) {
        return make_python_function(ref(fn), result_kind(kind), declared(spec),
                                    std::move(identity));
      },
      nb::arg("fn"), nb::arg("kind"), nb::arg("spec").none(),
      nb::arg("identity"));
  m.def(
      "python_dataset_function",
      [](nb::callable fn, nb::object spec, std::string identity) {
        return make_python_dataset_function(ref(fn), declared(spec),
                                            std::move(identity));
      },
      nb::arg("fn"), nb::arg("spec").none(), nb::arg("identity"));
  m.def(
      "process_function",
      [](nb::bytes pickled, const std::string& kind, nb::object spec,
         std::string identity, int workers) {
        auto counters = std::make_shared<StageCounters>();
        auto controls = std::make_shared<ProcessControls>();
        controls->workers.most.store(workers);
        controls->may_wait = true;
        FunctionRef made = make_process_function(
            std::string(pickled.c_str(), pickled.size()), result_kind(kind),
            declared(spec), std::move(identity), counters, controls);
        return FunctionHandle{std::move(made), std::move(counters), "process",
                              std::move(controls)};
      },
      nb::arg("pickled"), nb::arg("kind"), nb::arg("spec").none(),
      nb::arg("identity"), nb::arg("workers"));
  m.def(
      "auto_function",
      [](nb::callable fn, nb::callable prepare, const std::string& kind,
         nb::object spec, std::string identity, int workers) {
        return make_auto_function(ref(fn), ref(prepare), result_kind(kind),
                                  declared(spec), std::move(identity), workers);
      },
      nb::arg("fn"), nb::arg("prepare"), nb::arg("kind"),
      nb::arg("spec").none(), nb::arg("identity"), nb::arg("workers"));
  // Workers that run another program are used no more.
  m.def("set_worker_program", [](std::vector<std::string> argv) {
    set_worker_program({std::move(argv)});
    WorkerPool::instance().renew();
  });
  m.def("set_sampling", &set_sampling, nb::arg("on"));
  m.def("watch_gil", &watch_gil, nb::arg("on"), nb::arg("consumer"));
  m.def("gil_use", [] {
    const GilUse use = gil_use();
    return std::pair(use.looks, use.taken);
  });
  m.def("die_with_parent", [] { prctl(PR_SET_PDEATHSIG, SIGKILL); });
  m.def("worker_count", [] { return WorkerPool::instance().size(); });
  m.def("warm_workers", [](int count) { WorkerPool::instance().warm(count); });
  // For tests: workers that die, answer late or do not start, by a plan.
  m.def(
      "plan_worker_faults",
      [](std::uint64_t seed, double die_before_call, double die_in_call,
         double answer_late, double fail_to_start, double start_late) {
        WorkerPool::instance().set_transport(
            faulty_transport({seed, die_before_call, die_in_call, answer_late,
                              fail_to_start, start_late},
                             WorkerTransport::processes()));
      },
      nb::arg("seed"), nb::arg("die_before_call") = 0.0,
      nb::arg("die_in_call") = 0.0, nb::arg("answer_late") = 0.0,
      nb::arg("fail_to_start") = 0.0, nb::arg("start_late") = 0.0);
  m.def("end_worker_faults", [] {
    WorkerPool::instance().set_transport(WorkerTransport::processes());
  });
  m.def("serve",
        [](int socket, int arena, std::uint64_t reserved, std::uint64_t slot,
           nb::object loads, nb::object dump_failure, nb::object sampler) {
          serve(socket, arena, reserved, slot, loads.ptr(), dump_failure.ptr(),
                sampler.ptr());
        });
  // (key, draw) of the element that the calling thread computes; None outside.
  m.def("next_draw",
        []() -> std::optional<std::pair<std::uint64_t, std::uint64_t>> {
          CurrentElement& current = current_element();
          if (!current.active) return std::nullopt;
          return std::pair(current.key, current.draws++);
        });
  // A value as an element and back: what a stage would hand on.
  m.def(
      "normalize",
      [](nb::object value, nb::object spec) {
        const Spec wanted = declared(spec);
        Element element =
            value_or_raise(from_python(value.ptr(), Arrays::kCopy, &wanted));
        PyObject* out = to_python(element);
        if (out == nullptr) throw nb::python_error();
        return nb::steal(out);
      },
      nb::arg().none(), nb::arg().none() = nb::none());
  m.def("spec_of", [](nb::object value) {
    Element element = value_or_raise(from_python(value.ptr(), Arrays::kShare));
    PyObject* out = spec_to_python(Spec::of(element));
    if (out == nullptr) throw nb::python_error();
    return nb::steal(out);
  });
}

}  // namespace penstock::python
