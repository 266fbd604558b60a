#include "named_tuples.h"

#include <unordered_map>

namespace penstock::python {
namespace {

// Both under the GIL; classes stay for the life of the process.
std::unordered_map<std::string, PyObject*>& classes() {
  static auto* map = new std::unordered_map<std::string, PyObject*>;
  return *map;
}
std::unordered_map<PyTypeObject*, std::string>& tags() {
  static auto* map = new std::unordered_map<PyTypeObject*, std::string>;
  return *map;
}

}  // namespace

std::string named_tuple_tag(PyObject* tuple) {
  PyTypeObject* type = Py_TYPE(tuple);
  if (type == &PyTuple_Type) return "";
  const auto known = tags().find(type);
  if (known != tags().end()) return known->second;
  auto* object = reinterpret_cast<PyObject*>(type);
  std::string tag;
  if (PyObject_HasAttrString(object, "_make") != 0) {
    PyObject* module = PyObject_GetAttrString(object, "__module__");
    PyObject* name = PyObject_GetAttrString(object, "__qualname__");
    if (module != nullptr && name != nullptr && PyUnicode_Check(module) &&
        PyUnicode_Check(name)) {
      tag =
          std::string(PyUnicode_AsUTF8(module)) + "." + PyUnicode_AsUTF8(name);
      Py_INCREF(object);
      PyObject*& slot = classes()[tag];
      Py_XSETREF(slot, object);
    }
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_Clear();
  }
  Py_INCREF(object);
  tags()[type] = tag;
  return tag;
}

PyObject* make_named_tuple(const std::string& tag, PyObject* tuple) {
  if (tuple == nullptr) return nullptr;
  const auto found = classes().find(tag);
  if (found == classes().end()) return tuple;
  PyObject* made = PyObject_CallMethod(found->second, "_make", "(O)", tuple);
  Py_DECREF(tuple);
  return made;
}

}  // namespace penstock::python
