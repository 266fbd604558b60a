// Dtypes and specifications between NumPy, penstock.TensorSpec and the engine.
#include "convert.h"
#include "named_tuples.h"
#include "numpy_api.h"
#include "text.h"

namespace penstock::python {
namespace {

PyObject* g_types = nullptr;
PyObject* g_dtypes[kNumDTypes] = {};

constexpr struct {
  DType dtype;
  int number;
} kNumbers[] = {
    {DType::kBool, NPY_BOOL},       {DType::kInt8, NPY_INT8},
    {DType::kInt16, NPY_INT16},     {DType::kInt32, NPY_INT32},
    {DType::kInt64, NPY_INT64},     {DType::kUInt8, NPY_UINT8},
    {DType::kUInt16, NPY_UINT16},   {DType::kUInt32, NPY_UINT32},
    {DType::kUInt64, NPY_UINT64},   {DType::kFloat16, NPY_FLOAT16},
    {DType::kFloat32, NPY_FLOAT32}, {DType::kFloat64, NPY_FLOAT64},
};

PyObject* shape_to_python(const PartialShape& shape) {
  if (!shape.has_rank()) Py_RETURN_NONE;
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.rank()));
  for (std::size_t i = 0; tuple != nullptr && i < shape.rank(); ++i) {
    PyObject* dim = Py_None;
    if (shape[i] == kUnknownDim) {
      Py_INCREF(dim);
    } else {
      dim = PyLong_FromLongLong(shape[i]);
    }
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), dim);
  }
  return tuple;
}

PyObject* leaf_to_python(const LeafSpec& leaf) {
  if (leaf.dtype == DType::kObject) {
    return PyObject_CallNoArgs(python_type("DatasetSpec"));
  }
  PyObject* shape = shape_to_python(leaf.shape);
  if (shape == nullptr) return nullptr;
  PyObject* spec = PyObject_CallFunction(python_type("TensorSpec"), "Ns", shape,
                                         leaf.dtype == DType::kInvalid
                                             ? "unknown"
                                             : dtype_name(leaf.dtype).data());
  return spec;
}

PyObject* part_to_python(const Structure* s, const LeafSpec* leaf) {
  switch (s->kind()) {
    case Structure::Kind::kLeaf:
      return leaf_to_python(*leaf);
    case Structure::Kind::kAbsent:
      Py_RETURN_NONE;
    case Structure::Kind::kRagged: {
      PyObject* values = leaf_to_python(*leaf);
      if (values == nullptr) return nullptr;
      return PyObject_CallFunction(python_type("RaggedSpec"), "Ni", values,
                                   s->ragged_rank());
    }
    default:
      break;
  }
  const bool tuple = s->kind() == Structure::Kind::kTuple;
  const auto n = static_cast<Py_ssize_t>(s->children().size());
  PyObject* out = tuple ? PyTuple_New(n) : PyDict_New();
  for (Py_ssize_t i = 0; out != nullptr && i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    PyObject* child =
        part_to_python(s->children()[k], leaf + s->leaf_offset(k));
    if (child == nullptr) {
      Py_CLEAR(out);
    } else if (tuple) {
      PyTuple_SET_ITEM(out, i, child);
    } else {
      PyDict_SetItemString(out, s->keys()[k].c_str(), child);
      Py_DECREF(child);
    }
  }
  return s->tag().empty() ? out : make_named_tuple(s->tag(), out);
}

StatusOr<LeafSpec> leaf_from_python(PyObject* spec) {
  LeafSpec leaf;
  PyObject* shape = PyObject_GetAttrString(spec, "shape");
  PyObject* dtype = PyObject_GetAttrString(spec, "dtype");
  PyObject* name =
      dtype == nullptr ? nullptr : PyObject_GetAttrString(dtype, "name");
  if (shape != nullptr && name != nullptr && PyUnicode_Check(name)) {
    leaf.dtype = dtype_from_name(PyUnicode_AsUTF8(name));
    if (PyTuple_Check(shape)) {
      Shape dims;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
        PyObject* dim = PyTuple_GET_ITEM(shape, i);
        dims.push_back(dim == Py_None ? kUnknownDim : PyLong_AsLongLong(dim));
      }
      leaf.shape = PartialShape(dims);
    }
  }
  Py_XDECREF(shape);
  Py_XDECREF(name);
  Py_XDECREF(dtype);
  if (PyErr_Occurred()) return invalid_argument(take_python_error());
  return leaf;
}

StatusOr<const Structure*> read_spec(PyObject* spec,
                                     std::vector<LeafSpec>& leaves) {
  if (spec == Py_None) return Structure::absent();
  if (PyObject_IsInstance(spec, python_type("TensorSpec")) == 1) {
    PS_ASSIGN_OR_RETURN(LeafSpec leaf, leaf_from_python(spec));
    leaves.push_back(std::move(leaf));
    return Structure::leaf();
  }
  if (PyObject_IsInstance(spec, python_type("DatasetSpec")) == 1) {
    leaves.push_back({DType::kObject, PartialShape(Shape{})});
    return Structure::leaf();
  }
  if (PyObject_IsInstance(spec, python_type("RaggedSpec")) == 1) {
    PyObject* values = PyObject_GetAttrString(spec, "values");
    PyObject* rank = PyObject_GetAttrString(spec, "ragged_rank");
    if (values == nullptr || rank == nullptr) {
      Py_XDECREF(values);
      Py_XDECREF(rank);
      return invalid_argument(take_python_error());
    }
    auto leaf = leaf_from_python(values);
    const int levels = static_cast<int>(PyLong_AsLong(rank));
    Py_DECREF(values);
    Py_DECREF(rank);
    if (!leaf.ok()) return leaf.status();
    leaves.push_back(*std::move(leaf));
    for (int i = 0; i < levels; ++i) {
      leaves.push_back({DType::kInt64, PartialShape{kUnknownDim}});
    }
    return Structure::ragged(levels);
  }
  if (PyTuple_Check(spec)) {
    std::vector<const Structure*> children;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(spec); ++i) {
      PS_ASSIGN_OR_RETURN(const Structure* child,
                          read_spec(PyTuple_GET_ITEM(spec, i), leaves));
      children.push_back(child);
    }
    return Structure::tuple(std::move(children), named_tuple_tag(spec));
  }
  if (PyDict_Check(spec)) {
    std::vector<std::pair<std::string, const Structure*>> items;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(spec, &at, &key, &value) != 0;) {
      if (!PyUnicode_Check(key)) {
        return invalid_argument("the keys of a dict must be str, got ",
                                Py_TYPE(key)->tp_name);
      }
      PS_ASSIGN_OR_RETURN(const Structure* child, read_spec(value, leaves));
      items.emplace_back(PyUnicode_AsUTF8(key), child);
    }
    return Structure::dict(std::move(items));
  }
  return invalid_argument(
      "a specification is made of TensorSpec, tuples and dicts, not ",
      Py_TYPE(spec)->tp_name);
}

}  // namespace

PyObject* numpy_dtype(DType dtype) {
  PyObject*& slot = g_dtypes[static_cast<int>(dtype)];
  if (slot != nullptr) return slot;
  for (const auto& [known, number] : kNumbers) {
    if (known == dtype) {
      slot = reinterpret_cast<PyObject*>(PyArray_DescrFromType(number));
      return slot;
    }
  }
  if (dtype == DType::kBFloat16) {
    slot = PyObject_CallNoArgs(python_type("bfloat16_dtype"));
    return slot;
  }
  PyErr_Format(PyExc_TypeError, "dtype %s has no NumPy dtype",
               dtype_name(dtype).data());
  return nullptr;
}

DType dtype_from_numpy(PyObject* descr) {
  auto* d = reinterpret_cast<PyArray_Descr*>(descr);
  if (PyTypeNum_ISNUMBER(d->type_num) || PyTypeNum_ISBOOL(d->type_num)) {
    const auto size = static_cast<int>(PyDataType_ELSIZE(d));
    switch (d->kind) {
      case 'b':
        return DType::kBool;
      case 'i':
        return size == 1   ? DType::kInt8
               : size == 2 ? DType::kInt16
               : size == 4 ? DType::kInt32
                           : DType::kInt64;
      case 'u':
        return size == 1   ? DType::kUInt8
               : size == 2 ? DType::kUInt16
               : size == 4 ? DType::kUInt32
                           : DType::kUInt64;
      case 'f':
        return size == 2   ? DType::kFloat16
               : size == 4 ? DType::kFloat32
               : size == 8 ? DType::kFloat64
                           : DType::kInvalid;
      default:
        return DType::kInvalid;
    }
  }
  PyObject* bfloat = numpy_dtype(DType::kBFloat16);
  if (bfloat != nullptr && PyDataType_ELSIZE(d) == 2 &&
      PyArray_EquivTypes(d, reinterpret_cast<PyArray_Descr*>(bfloat))) {
    return DType::kBFloat16;
  }
  PyErr_Clear();
  return DType::kInvalid;
}

PyObject* spec_to_python(const Spec& spec) {
  if (!spec.known()) {
    PyObject* unknown = python_type("UNKNOWN");
    Py_XINCREF(unknown);
    return unknown;
  }
  return part_to_python(spec.structure(), spec.leaves().data());
}

StatusOr<Spec> spec_from_python(PyObject* spec) {
  if (spec == python_type("UNKNOWN")) return Spec();
  std::vector<LeafSpec> leaves;
  PS_ASSIGN_OR_RETURN(const Structure* structure, read_spec(spec, leaves));
  return Spec(structure, std::move(leaves));
}

void set_python_types(PyObject* types) {
  Py_INCREF(types);
  Py_XSETREF(g_types, types);
}

PyObject* python_type(const char* name) {
  PyObject* type =
      g_types == nullptr ? nullptr : PyDict_GetItemString(g_types, name);
  if (type == nullptr) {
    PyErr_Format(PyExc_SystemError, "penstock: %s is not set up", name);
  }
  return type;
}

std::string take_python_error() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return "";
  PyErr_NormalizeException(&type, &value, &traceback);
  std::string text = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  PyObject* message = value == nullptr ? nullptr : PyObject_Str(value);
  std::string said;
  if (bytes_of(message, said) && !said.empty()) text += ": " + said;
  PyErr_Clear();
  Py_XDECREF(message);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return text;
}

}  // namespace penstock::python
