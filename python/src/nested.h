// Datasets as values: windows, and what flat_map functions return.
#pragma once

#include <Python.h>

#include "penstock/base/status.h"
#include "penstock/graph/node.h"
#include "penstock/memory/tensor.h"

namespace penstock::python {

/// The value of an object tensor: a Dataset for a nested one.
PyObject* object_to_python(const Tensor& tensor);
/// The graph of a Python Dataset, or null if `value` is none.
NodeRef node_of(PyObject* value);

}  // namespace penstock::python
