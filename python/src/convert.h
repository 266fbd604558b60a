// Elements as Python values and back. Everything here requires the GIL.
//
// Python gets NumPy arrays over the engine's memory, without a copy; a capsule
// keeps the buffer alive. Writable is an array only if it was written for this
// element and nobody else refers to it. The other way, an array is adopted if
// only the caller refers to it and it owns its data, else copied.
#pragma once

#include <Python.h>

#include "penstock/base/status.h"
#include "penstock/memory/element.h"
#include "penstock/memory/spec.h"

namespace penstock::python {

/// How from_python may treat arrays.
enum class Arrays : std::uint8_t {
  kAdopt,  // the value is a fresh result: adopt what only we refer to
  kShare,  // keep the memory of any array; the user promises not to write
  kCopy,
};

/// A new reference, or null with a Python error set.
PyObject* to_python(const Element& element);
/// One component; leaves begin at `leaf`.
PyObject* to_python(const Structure* structure, const Tensor* leaf);
PyObject* tensor_to_python(const Tensor& tensor);
/// Calls of a function spread the components of a tuple.
bool spreads(const Structure* structure);

/// `value` as an element. InvalidArgument says what has no conversion; a
/// Python error that its conversion raised becomes part of the message.
///
/// If `wanted` is known, Python's own numbers and lists, which have no dtype,
/// get the one it says, and dicts its order. Whether the rest is as it says,
/// the caller checks.
StatusOr<Element> from_python(PyObject* value, Arrays arrays,
                              const Spec* wanted = nullptr);

/// Nested TensorSpec objects and back. Null with a Python error set if the
/// specification is wrong.
PyObject* spec_to_python(const Spec& spec);
StatusOr<Spec> spec_from_python(PyObject* spec);

/// The NumPy dtype of `dtype`, borrowed; null for kObject and kInvalid.
PyObject* numpy_dtype(DType dtype);
/// kInvalid if there is none.
DType dtype_from_numpy(PyObject* descr);

/// Takes the classes that Python code defines: TensorSpec, Ragged and so on.
void set_python_types(PyObject* types);
/// One of them, borrowed.
PyObject* python_type(const char* name);

/// The pending Python error as text, "ValueError: message"; clears it.
std::string take_python_error();

}  // namespace penstock::python
