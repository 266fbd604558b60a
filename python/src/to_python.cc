// Elements to Python: scalars, arrays over our memory, bytes, structures.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytes_memory.h"
#include "convert.h"
#include "interpreter.h"
#include "named_tuples.h"
#include "nested.h"
#include "numpy_api.h"

namespace penstock::python {
namespace {

constexpr const char* kCapsule = "penstock.buffer";

void release_tensor(PyObject* capsule) {
  delete static_cast<Tensor*>(PyCapsule_GetPointer(capsule, kCapsule));
}

template <class Object, class Value>
PyObject* number(PyTypeObject* type, const Tensor& tensor) {
  PyObject* object = type->tp_alloc(type, 0);
  if (object != nullptr) {
    std::memcpy(&reinterpret_cast<Object*>(object)->obval, tensor.data(),
                sizeof(Value));
  }
  return object;
}

PyObject* scalar(const Tensor& t) {
  switch (t.dtype()) {
    case DType::kBool:
      PyArrayScalar_RETURN_BOOL_FROM_LONG(t.data()[0] != std::byte{0});
    case DType::kInt8:
      return number<PyInt8ScalarObject, std::int8_t>(&PyInt8ArrType_Type, t);
    case DType::kInt16:
      return number<PyInt16ScalarObject, std::int16_t>(&PyInt16ArrType_Type, t);
    case DType::kInt32:
      return number<PyInt32ScalarObject, std::int32_t>(&PyInt32ArrType_Type, t);
    case DType::kInt64:
      return number<PyInt64ScalarObject, std::int64_t>(&PyInt64ArrType_Type, t);
    case DType::kUInt8:
      return number<PyUInt8ScalarObject, std::uint8_t>(&PyUInt8ArrType_Type, t);
    case DType::kUInt16:
      return number<PyUInt16ScalarObject, std::uint16_t>(&PyUInt16ArrType_Type,
                                                         t);
    case DType::kUInt32:
      return number<PyUInt32ScalarObject, std::uint32_t>(&PyUInt32ArrType_Type,
                                                         t);
    case DType::kUInt64:
      return number<PyUInt64ScalarObject, std::uint64_t>(&PyUInt64ArrType_Type,
                                                         t);
    case DType::kFloat16:
      return number<PyHalfScalarObject, std::uint16_t>(&PyHalfArrType_Type, t);
    case DType::kFloat32:
      return number<PyFloat32ScalarObject, float>(&PyFloat32ArrType_Type, t);
    case DType::kFloat64:
      return number<PyFloat64ScalarObject, double>(&PyFloat64ArrType_Type, t);
    default: {
      PyObject* descr = numpy_dtype(t.dtype());
      if (descr == nullptr) return nullptr;
      return PyArray_Scalar(const_cast<std::byte*>(t.data()),
                            reinterpret_cast<PyArray_Descr*>(descr), nullptr);
    }
  }
}

// Long strings of so many bytes together are copied without the GIL, and their
// pages taken at once: memory that malloc() got back from one batch is fresh
// for the next, where each page is a fault (batches of 100 MB: 3.1 GB/s,
// so 5.8).
constexpr std::int64_t kLargeStrings = 4 << 20;
constexpr std::int64_t kLongString = 4096;  // on average

// The memory of some of the bytes, which were mostly made one behind the other.
void take_pages([[maybe_unused]] PyObject* const* values,
                [[maybe_unused]] std::span<const std::int64_t> which) {
#ifdef MADV_POPULATE_WRITE
  constexpr std::uintptr_t kPage = 4096;
  const auto take = [](std::uintptr_t begin, std::uintptr_t end) {
    begin = (begin + kPage - 1) & ~(kPage - 1);
    end &= ~(kPage - 1);
    if (begin < end) {
      madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
    }
  };
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  for (const std::int64_t i : which) {
    PyObject* const value = values[i];
    const auto at = reinterpret_cast<std::uintptr_t>(value);
    if (at < end || at > end + kPage) {
      take(begin, end);
      begin = at;
    }
    end = at + sizeof(PyBytesObject) +
          static_cast<std::uintptr_t>(PyBytes_GET_SIZE(value));
  }
  take(begin, end);
#endif
}

PyObject* string_array(const Tensor& t) {
  npy_intp dims[NPY_MAXDIMS];
  for (std::size_t i = 0; i < t.rank(); ++i) dims[i] = t.shape()[i];
  PyObject* array =
      PyArray_SimpleNew(static_cast<int>(t.rank()), dims, NPY_OBJECT);
  if (array == nullptr) return nullptr;
  auto** out = static_cast<PyObject**>(
      PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
  const std::int64_t n = t.num_elements();
  const bool large = t.byte_size() >= std::max(kLargeStrings, n * kLongString);
  std::vector<std::int64_t> to_fill;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::string_view s = t.str(i);
    PyObject* value = bytes_in_place(s);
    if (value == nullptr) {
      // Bytes of one character are shared by all who have them.
      const bool later = large && s.size() > 1;
      value = PyBytes_FromStringAndSize(later ? nullptr : s.data(),
                                        static_cast<Py_ssize_t>(s.size()));
      if (later) to_fill.push_back(i);
    }
    if (value == nullptr) {
      Py_DECREF(array);
      return nullptr;
    }
    Py_XSETREF(out[i], value);
  }
  if (!to_fill.empty()) {
    Py_BEGIN_ALLOW_THREADS;
    take_pages(out, to_fill);
    for (const std::int64_t i : to_fill) {
      const std::string_view s = t.str(i);
      std::memcpy(PyBytes_AS_STRING(out[i]), s.data(), s.size());
    }
    Py_END_ALLOW_THREADS;
  }
  return array;
}

PyObject* dense_array(const Tensor& t) {
  PyObject* descr = numpy_dtype(t.dtype());
  if (descr == nullptr) return nullptr;
  npy_intp dims[NPY_MAXDIMS];
  for (std::size_t i = 0; i < t.rank(); ++i) dims[i] = t.shape()[i];
  // The capsule's handle is a second one: look before it is made.
  const bool writable = t.exclusive();
  Py_INCREF(descr);
  PyObject* array = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr*>(descr),
      static_cast<int>(t.rank()), dims, nullptr,
      const_cast<std::byte*>(t.data()),
      NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED |
          (writable ? NPY_ARRAY_WRITEABLE : 0),
      nullptr);
  if (array == nullptr) return nullptr;
  auto* owner = new Tensor(t);
  PyObject* capsule = PyCapsule_New(owner, kCapsule, release_tensor);
  if (capsule == nullptr) {
    delete owner;
    Py_DECREF(array);
    return nullptr;
  }
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), capsule) <
      0) {
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

PyObject* ragged(const Structure* s, const Tensor* leaf) {
  PyObject* type = python_type("Ragged");
  if (type == nullptr) return nullptr;
  PyObject* values = tensor_to_python(leaf[0]);
  if (values == nullptr) return nullptr;
  PyObject* splits = PyTuple_New(s->ragged_rank());
  for (int i = 0; splits != nullptr && i < s->ragged_rank(); ++i) {
    PyObject* split = tensor_to_python(leaf[1 + i]);
    if (split == nullptr) {
      Py_CLEAR(splits);
      break;
    }
    PyTuple_SET_ITEM(splits, i, split);
  }
  PyObject* result = nullptr;
  if (splits != nullptr) {
    result = PyObject_CallFunctionObjArgs(type, values, splits, nullptr);
  }
  Py_DECREF(values);
  Py_XDECREF(splits);
  return result;
}

// Keys as Python strings: made once for each structure, which live for ever.
PyObject* const* keys_of(const Structure* s) {
  static auto* cache =
      new std::unordered_map<const Structure*, std::vector<PyObject*>>;
  auto [at, added] = cache->try_emplace(s);
  if (added) {
    for (const std::string& key : s->keys()) {
      PyObject* text = PyUnicode_DecodeUTF8(
          key.data(), static_cast<Py_ssize_t>(key.size()), "surrogateescape");
      PyUnicode_InternInPlace(&text);
      at->second.push_back(text);
    }
  }
  return at->second.data();
}

}  // namespace

PyObject* tensor_to_python(const Tensor& t) {
  if (t.dtype() == DType::kString) {
    if (t.rank() > 0) return string_array(t);
    const std::string_view s = t.str();
    PyObject* const value = bytes_in_place(s);
    return value != nullptr ? value
                            : PyBytes_FromStringAndSize(
                                  s.data(), static_cast<Py_ssize_t>(s.size()));
  }
  if (t.dtype() == DType::kObject) return object_to_python(t);
  return t.rank() == 0 ? scalar(t) : dense_array(t);
}

bool spreads(const Structure* s) {
  return s->kind() == Structure::Kind::kTuple && s->tag().empty();
}

PyObject* to_python(const Structure* s, const Tensor* leaf) {
  switch (s->kind()) {
    case Structure::Kind::kLeaf:
      return tensor_to_python(*leaf);
    case Structure::Kind::kAbsent:
      Py_RETURN_NONE;
    case Structure::Kind::kRagged:
      return ragged(s, leaf);
    case Structure::Kind::kTuple: {
      const auto children = s->children();
      PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(children.size()));
      for (std::size_t i = 0; tuple != nullptr && i < children.size(); ++i) {
        PyObject* child = to_python(children[i], leaf + s->leaf_offset(i));
        if (child == nullptr) {
          Py_DECREF(tuple);
          return nullptr;
        }
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), child);
      }
      return s->tag().empty() ? tuple : make_named_tuple(s->tag(), tuple);
    }
    case Structure::Kind::kDict: {
      PyObject* dict = PyDict_New();
      if (dict == nullptr) return nullptr;
      PyObject* const* keys = keys_of(s);
      const auto children = s->children();
      for (std::size_t i = 0; i < children.size(); ++i) {
        PyObject* child = to_python(children[i], leaf + s->leaf_offset(i));
        const int failed =
            child == nullptr ? -1 : PyDict_SetItem(dict, keys[i], child);
        Py_XDECREF(child);
        if (failed != 0) {
          Py_DECREF(dict);
          return nullptr;
        }
      }
      return dict;
    }
  }
  Py_RETURN_NONE;
}

PyObject* to_python(const Element& element) {
  return to_python(element.structure(), element.leaves().data());
}

}  // namespace penstock::python
