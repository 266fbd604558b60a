// Recording what a pipeline does, and writing it as a timeline.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "penstock/runtime/iterator.h"
#include "penstock/runtime/trace.h"
#include "penstock/timeline/perfetto.h"
#include "text.h"

namespace penstock::python {
namespace {

/// What was recorded of one iterator.
struct PyTrace {
  Trace trace;
};

nb::list stage_events(const PyTrace& self) {
  nb::list out;
  for (const TraceEvent& e : self.trace.events) {
    out.append(nb::make_tuple(static_cast<int>(e.kind), e.thread, e.stage,
                              e.begin_ns - self.trace.begin_ns,
                              e.end_ns - self.trace.begin_ns, e.rows));
  }
  return out;
}

nb::list thread_names(const PyTrace& self) {
  nb::list out;
  for (const TraceThread& t : self.trace.thread_info) {
    out.append(nb::make_tuple(t.tid, t.name));
  }
  return out;
}

}  // namespace

void bind_trace(nb::module_& m) {
  nb::class_<PyTrace>(m, "RecordedTrace")
      .def_prop_ro("events", &stage_events)
      .def_prop_ro("threads", &thread_names)
      .def_prop_ro("stages", [](const PyTrace& t) { return t.trace.stages; })
      .def_prop_ro("lost", [](const PyTrace& t) { return t.trace.lost; })
      .def_prop_ro("duration_ns", [](const PyTrace& t) {
        return t.trace.end_ns - t.trace.begin_ns;
      });
  m.def("start_trace", [](PyIterator& iterator, std::int64_t events) {
    auto it = iterator.open();
    const WithoutGil waiting;
    return it->start_trace(events);
  });
  m.def("stop_trace", [](PyIterator& iterator) {
    auto it = iterator.open();
    PyTrace out;
    {
      const WithoutGil waiting;
      out.trace = it->stop_trace();
    }
    return out;
  });
  m.def("tracing", [](PyIterator& iterator) {
    return iterator.open()->core().run().tracing();
  });
  m.def("trace_new_iterators", &set_trace_new_runs);
  m.def("encode_timeline",
        [](const std::vector<std::pair<std::string, const PyTrace*>>& traces) {
          std::vector<TimelinePart> parts;
          parts.reserve(traces.size());
          for (const auto& [name, trace] : traces) {
            parts.push_back({name, trace->trace});
          }
          std::string bytes;
          {
            const WithoutGil waiting;
            bytes = encode_perfetto(parts);
          }
          return nb::bytes(bytes.data(), bytes.size());
        });
}

}  // namespace penstock::python
