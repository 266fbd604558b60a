// penstock._penstock: the engine for the Python package. Nothing here is
// public; python/penstock is.
#define PENSTOCK_IMPORT_NUMPY
#include <cstdlib>

#include "bindings.h"
#include "bytes_memory.h"
#include "compiled_function.h"
#include "convert.h"
#include "numpy_api.h"
#include "penstock/element_failure.h"

namespace nb = nanobind;
using namespace penstock::python;

namespace {

int import_numpy() {
  import_array1(-1);
  return 0;
}

/// Batches of large `bytes` are malloc'ed and freed as a whole. Until a program
/// has freed something large, the C library gives all of that back to the
/// system each time, and clears it again for the next batch: a third of the
/// speed. It adapts to the first large piece it sees, so it sees one, which is
/// not touched.
void keep_memory_of_batches() {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  void* volatile piece = std::malloc(kBytes);
  std::free(piece);
}

}  // namespace

NB_MODULE(_penstock, m) {
  if (import_numpy() < 0) throw nb::python_error();
  keep_memory_of_batches();
  offer_bytes_memory();
  remember_main_thread();
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const penstock::ElementFailure& e) {
      set_python_error(e.error());
    } catch (const penstock::Error& e) {
      set_python_error(e.status(), e.cause());
    } catch (const PythonError& e) {
      set_python_error(e.status(), p);
    }
  });
  m.def("set_types", [](nb::dict types) { set_python_types(types.ptr()); });
  bind_functions(m);
  bind_iterator(m);
  bind_records(m);
  bind_trace(m);
  bind_dataset(m);
  bind_expr(m);
  bind_arrow(m);
  bind_compiled(m);
  bind_number_types(m);
  bind_files(m);
  bind_doctor(m);
}
