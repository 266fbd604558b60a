// NumPy's numbers with more attributes, that arithmetic keeps.
//
// penstock.tf hands out subclasses of np.int64 and its kin. Their operators are
// NumPy's own; what these give is of NumPy's class and fresh, so it is given
// the class of ours in place, which costs a comparison or two. Results that are
// no numbers (arrays, truth values) go through a function of Python's.

#include <array>

#include "bindings.h"
#include "interpreter.h"
#include "numpy_api.h"
#include "text.h"

namespace penstock::python {
namespace {

struct Kept {
  PyTypeObject* from = nullptr;  // NumPy's, static
  PyTypeObject* to = nullptr;    // ours
};

struct Numbers {
  std::array<Kept, 16> kept;
  std::size_t count = 0;
  PyObject* wrap = nullptr;  // for anything else of NumPy's
  PyObject* like = nullptr;  // gives what is no tensor the dtype of one
  PyObject* yes = nullptr;   // what a comparison gives
  PyObject* no = nullptr;
};

Numbers& numbers() {
  static Numbers numbers;
  return numbers;
}

PyObject* positive(PyObject* a);

/// NumPy's class behind a value of ours; null if it is none of ours.
PyTypeObject* base_of(PyObject* value) {
  // Our classes, and what somebody derives from them, have our operators.
  PyTypeObject* type = Py_TYPE(value);
  const auto ours = [](const PyTypeObject* t) {
    return t->tp_as_number != nullptr &&
           t->tp_as_number->nb_positive == &positive;
  };
  if (!ours(type)) return nullptr;
  do {
    type = type->tp_base;
  } while (ours(type));
  return type;
}

/// Takes over `result`, and gives it as ours.
PyObject* keep(PyObject* result) {
  if (result == nullptr) return nullptr;
  const Numbers& all = numbers();
  PyTypeObject* const type = Py_TYPE(result);
  for (std::size_t i = 0; i < all.count; ++i) {
    if (all.kept[i].to == type) return result;
    if (all.kept[i].from != type) continue;
    if (Py_REFCNT(result) != 1) break;
    // The layouts are equal and NumPy's class is static: only ours counts.
    Py_INCREF(all.kept[i].to);
    Py_SET_TYPE(result, all.kept[i].to);
    return result;
  }
  if (type == &PyBoolArrType_Type) {
    PyObject* const known = result == PyArrayScalar_True ? all.yes : all.no;
    Py_INCREF(known);
    Py_DECREF(result);
    return known;
  }
  if (PyArray_CheckExact(result) || PyArray_IsScalar(result, Generic)) {
    PyObject* const made = PyObject_CallOneArg(all.wrap, result);
    Py_DECREF(result);
    return made;
  }
  return result;
}

/// A value of ours as NumPy's own, any other as it is; a new reference.
PyObject* plain(PyObject* value) {
  PyTypeObject* const base = base_of(value);
  if (base != nullptr) {
    return PyObject_CallOneArg(reinterpret_cast<PyObject*>(base), value);
  }
  Py_INCREF(value);
  return value;
}

/// The operator `op` of both operands as NumPy's: for operands that NumPy
/// leaves to each other.
template <class Op>
PyObject* on_plain(PyObject* a, PyObject* b, Op op) {
  const Owned x(plain(a));
  const Owned y(plain(b));
  if (x.get() == nullptr || y.get() == nullptr) return nullptr;
  return keep(op(x.get(), y.get()));
}

/// Whether an operand takes the dtype of ours: lists, arrays and NumPy's own
/// numbers do, Python's numbers as NumPy says.
bool takes_dtype(PyObject* value) {
  if (PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
      base_of(value) != nullptr) {
    return false;
  }
  return PyList_Check(value) || PyTuple_Check(value) ||
         PyArray_CheckExact(value) || PyArray_IsScalar(value, Generic);
}

/// The operator `op` where one operand is to take the other's dtype; null
/// without an error where none is.
template <class Op>
PyObject* on_alike(PyObject* a, PyObject* b, Op op) {
  const bool first = base_of(a) != nullptr;
  if (!takes_dtype(first ? b : a)) return nullptr;
  const Owned like(PyObject_CallFunctionObjArgs(numbers().like, first ? a : b,
                                                first ? b : a, nullptr));
  if (like.get() == nullptr) return nullptr;
  if (takes_dtype(like.get())) {  // has no number's dtype
    return first ? on_plain(a, like.get(), op) : on_plain(like.get(), b, op);
  }
  return first ? op(a, like.get()) : op(like.get(), b);
}

template <binaryfunc PyNumberMethods::*kSlot, binaryfunc kGeneric>
PyObject* binary(PyObject* a, PyObject* b) {
  if (PyObject* const made = on_alike(a, b, kGeneric);
      made != nullptr || PyErr_Occurred() != nullptr) {
    return made;
  }
  PyTypeObject* base = base_of(a);
  if (base == nullptr) base = base_of(b);
  PyObject* const result = (base->tp_as_number->*kSlot)(a, b);
  if (result != Py_NotImplemented) return keep(result);
  Py_DECREF(result);
  return on_plain(a, b, kGeneric);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulo) {
  const auto op = [modulo](PyObject* x, PyObject* y) {
    return PyNumber_Power(x, y, modulo);
  };
  if (PyObject* const made = on_alike(a, b, op);
      made != nullptr || PyErr_Occurred() != nullptr) {
    return made;
  }
  PyTypeObject* base = base_of(a);
  if (base == nullptr) base = base_of(b);
  PyObject* const result = base->tp_as_number->nb_power(a, b, modulo);
  if (result != Py_NotImplemented) return keep(result);
  Py_DECREF(result);
  return on_plain(a, b, op);
}

template <unaryfunc PyNumberMethods::*kSlot>
PyObject* unary(PyObject* a) {
  return keep((base_of(a)->tp_as_number->*kSlot)(a));
}

PyObject* positive(PyObject* a) {
  return keep(base_of(a)->tp_as_number->nb_positive(a));
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  // A number is no text, which NumPy's versions say in several ways.
  if ((PyUnicode_Check(b) || PyBytes_Check(b)) &&
      (op == Py_EQ || op == Py_NE)) {
    PyObject* const known = op == Py_EQ ? numbers().no : numbers().yes;
    Py_INCREF(known);
    return known;
  }
  const auto again = [op](PyObject* x, PyObject* y) {
    return PyObject_RichCompare(x, y, op);
  };
  if (PyObject* const made = on_alike(a, b, again);
      made != nullptr || PyErr_Occurred() != nullptr) {
    return made;
  }
  return keep(base_of(a)->tp_richcompare(a, b, op));
}

/// What NumPy's does, without the search for it that a derived class makes.
void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

template <class F>
void* pointer(F* function) {
  return reinterpret_cast<void*>(function);
}

/// A class `name` that extends `base`, a number's of NumPy.
nb::object number_type(const std::string& name, nb::handle base) {
  Numbers& all = numbers();
  auto* const from = reinterpret_cast<PyTypeObject*>(base.ptr());
  if (!PyType_Check(base.ptr()) ||
      !PyType_IsSubtype(from, &PyNumberArrType_Type) ||
      all.count == all.kept.size()) {
    throw nb::type_error("number_type: base must be a number's of NumPy");
  }
  using N = PyNumberMethods;
#define PENSTOCK_BINARY(name, Name) \
  {Py_nb_##name, pointer(&binary<&N::nb_##name, &PyNumber_##Name>)}
  PyType_Slot slots[] = {PENSTOCK_BINARY(add, Add),
                         PENSTOCK_BINARY(subtract, Subtract),
                         PENSTOCK_BINARY(multiply, Multiply),
                         PENSTOCK_BINARY(true_divide, TrueDivide),
                         PENSTOCK_BINARY(floor_divide, FloorDivide),
                         PENSTOCK_BINARY(remainder, Remainder),
                         PENSTOCK_BINARY(and, And),
                         PENSTOCK_BINARY(or, Or),
                         PENSTOCK_BINARY(xor, Xor),
                         PENSTOCK_BINARY(lshift, Lshift),
                         PENSTOCK_BINARY(rshift, Rshift),
                         {Py_nb_power, pointer(&power)},
                         {Py_nb_negative, pointer(&unary<&N::nb_negative>)},
                         {Py_nb_positive, pointer(&positive)},
                         {Py_nb_absolute, pointer(&unary<&N::nb_absolute>)},
                         {Py_nb_invert, pointer(&unary<&N::nb_invert>)},
                         {Py_tp_dealloc, pointer(&dealloc)},
                         {Py_tp_richcompare, pointer(&compare)},
                         // Inherited only where the comparison is.
                         {Py_tp_hash, pointer(from->tp_hash)},
                         {0, nullptr}};
#undef PENSTOCK_BINARY
  // For ever: a class keeps the pointer (CPython 3.10), and so do we the class.
  const char* const kept_name = (new std::string(name))->c_str();
  PyType_Spec spec = {.name = kept_name,
                      .basicsize = 0,
                      .itemsize = 0,
                      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      .slots = slots};
  const nb::tuple bases = nb::make_tuple(base);
  PyObject* const made = PyType_FromSpecWithBases(&spec, bases.ptr());
  if (made == nullptr) throw nb::python_error();
  auto* const to = reinterpret_cast<PyTypeObject*>(made);
  if (to->tp_basicsize != from->tp_basicsize) {
    Py_DECREF(made);
    throw nb::type_error("number_type: the class is larger than its base");
  }
  Py_INCREF(made);  // for the table
  all.kept[all.count++] = {from, to};
  return nb::steal(made);
}

}  // namespace

void bind_number_types(nb::module_& m) {
  m.def("number_type", &number_type, nb::arg("name"), nb::arg("base"));
  m.def(
      "set_number_results",
      [](nb::callable wrap, nb::callable like, nb::object yes, nb::object no) {
        Numbers& all = numbers();
        all.like = like.release().ptr();
        all.wrap = wrap.release().ptr();
        all.yes = yes.release().ptr();
        all.no = no.release().ptr();
      },
      nb::arg("wrap"), nb::arg("like"), nb::arg("yes"), nb::arg("no"));
}

}  // namespace penstock::python
