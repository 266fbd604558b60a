// Memory of long strings that becomes `bytes` in place, without a copy.
//
// Made without the GIL, by the engine's readers; turned into an object when the
// string is handed to Python, once. The engine keeps a reference of its own as
// long as it refers to the memory, so a cache may give the same object again.
#pragma once

#include <Python.h>

#include <string_view>

namespace penstock::python {

/// Offers it to the engine, unless this interpreter's allocator is not the
/// plain one (PYTHONMALLOC, tracemalloc from the start): strings are copied
/// then. Requires the GIL.
void offer_bytes_memory();

/// A new reference to the object that lies around `value`; null, without an
/// error, if `value` is no such memory. Requires the GIL, and a handle to the
/// tensor that `value` is of.
PyObject* bytes_in_place(std::string_view value);

}  // namespace penstock::python
