#include "nested.h"

#include "bindings.h"
#include "convert.h"

namespace penstock::python {

PyObject* object_to_python(const Tensor& tensor) {
  if (dynamic_cast<DatasetObject*>(tensor.object()) == nullptr) {
    PyErr_SetString(PyExc_TypeError, "an engine object has no Python value");
    return nullptr;
  }
  nb::object native = nb::cast(Dataset::of(tensor));
  return PyObject_CallFunctionObjArgs(python_type("wrap_dataset"), native.ptr(),
                                      nullptr);
}

NodeRef node_of(PyObject* value) {
  static PyObject* const kDataset = python_type("Dataset");
  if (PyObject_IsInstance(value, kDataset) != 1) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* native = PyObject_GetAttrString(value, "_native");
  if (native == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  Dataset* dataset = nullptr;
  NodeRef node;
  if (nb::try_cast<Dataset*>(nb::handle(native), dataset) &&
      dataset != nullptr) {
    node = dataset->node();
  }
  Py_DECREF(native);
  return node;
}

}  // namespace penstock::python
