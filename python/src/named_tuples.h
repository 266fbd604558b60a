// Named tuples: a structure's tag names the class of the tuple.
#pragma once

#include <Python.h>

#include <string>

namespace penstock::python {

/// The tag of the class of `tuple`, remembered; empty for a plain tuple.
std::string named_tuple_tag(PyObject* tuple);
/// `tuple` (taken over) as an instance of the class; itself if the class is
/// not known in this process.
PyObject* make_named_tuple(const std::string& tag, PyObject* tuple);

}  // namespace penstock::python
