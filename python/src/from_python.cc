// Python values to elements: arrays, anything with __array__ or __dlpack__,
// scalars, str, bytes, lists, and tuples and dicts of them.
#include <nanobind/ndarray.h>

#include <array>
#include <cstring>

#include "convert.h"
#include "errors.h"
#include "interpreter.h"
#include "named_tuples.h"
#include "nested.h"
#include "numpy_api.h"
#include "penstock/memory/literal.h"
#include "penstock/memory/placement.h"
#include "penstock/memory/ragged.h"

namespace penstock::python {
namespace {

// A copy of less costs about what adopting does, and pins nothing.
constexpr npy_intp kAdoptBytes = 4096;
constexpr int kMaxDepth = 64;

PyArrayObject* as_array(PyObject* object) {
  return reinterpret_cast<PyArrayObject*>(object);
}

std::string type_name(PyObject* value) { return Py_TYPE(value)->tp_name; }

/// The bytes of a str (as UTF-8) or bytes object.
Status text_of(PyObject* value, std::string_view& out) {
  if (PyBytes_Check(value)) {
    out = {PyBytes_AS_STRING(value),
           static_cast<std::size_t>(PyBytes_GET_SIZE(value))};
    return absl::OkStatus();
  }
  if (PyUnicode_Check(value)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr) return python_failure("a str is not UTF-8: ");
    out = {text, static_cast<std::size_t>(size)};
    return absl::OkStatus();
  }
  return invalid_argument(
      "an array of objects may hold only str or bytes, "
      "not ",
      type_name(value));
}

Shape shape_of(PyArrayObject* array) {
  Shape shape;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    shape.push_back(PyArray_DIM(array, i));
  }
  return shape;
}

StatusOr<Tensor> strings_of(PyArrayObject* given) {
  // NumPy cuts trailing zero bytes off fixed-size strings; so does it here.
  Owned converted(PyArray_FROMANY(reinterpret_cast<PyObject*>(given),
                                  NPY_OBJECT, 0, 0, NPY_ARRAY_C_CONTIGUOUS));
  if (converted.get() == nullptr) return python_failure("");
  PyArrayObject* array = as_array(converted.get());
  auto** items = static_cast<PyObject**>(PyArray_DATA(array));
  std::vector<std::string_view> views(
      static_cast<std::size_t>(PyArray_SIZE(array)));
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (items[i] == nullptr) continue;
    PS_RETURN_IF_ERROR(text_of(items[i], views[i]));
  }
  return Tensor::strings(views, shape_of(array));
}

StatusOr<Tensor> dense_of(PyArrayObject* given, DType dtype, Arrays arrays) {
  if (PyArray_NDIM(given) > 32) {
    return invalid_argument("an array has ", PyArray_NDIM(given),
                            " dimensions, more than 32");
  }
  const bool plain = PyArray_IS_C_CONTIGUOUS(given) &&
                     PyArray_ISBEHAVED_RO(given) && PyArray_ISNOTSWAPPED(given);
  Owned copy(nullptr);
  if (!plain) {
    copy.reset(PyArray_FromArray(
        given, PyArray_DescrNewByteorder(PyArray_DESCR(given), NPY_NATIVE),
        NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_ENSURECOPY));
    if (copy.get() == nullptr) return python_failure("");
    given = as_array(copy.get());
  }
  const Shape shape = shape_of(given);
  const auto* data = static_cast<const std::byte*>(PyArray_DATA(given));
  if (shape.rank() == 0) return Tensor::scalar_bytes(dtype, data);
  const npy_intp bytes = PyArray_NBYTES(given);
  auto* object = reinterpret_cast<PyObject*>(given);
  const bool ours = !plain || arrays == Arrays::kShare ||
                    (arrays == Arrays::kAdopt && Py_REFCNT(object) == 1 &&
                     PyArray_CHKFLAGS(given, NPY_ARRAY_OWNDATA));
  const Placement* place = current_placement();
  const bool placed = place != nullptr && !place->taken &&
                      place->dtype == dtype && place->shape == shape;
  if (ours && !placed && (bytes >= kAdoptBytes || arrays == Arrays::kShare)) {
    return Tensor::from_buffer(
        dtype, shape,
        Buffer::external(
            data, static_cast<std::size_t>(bytes), [array = share(object)] {},
            arrays == Arrays::kAdopt),
        data);
  }
  PS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, shape));
  if (bytes > 0) {
    std::memcpy(tensor.mutable_data(), data, static_cast<std::size_t>(bytes));
  }
  return tensor;
}

StatusOr<Tensor> array_to_tensor(PyArrayObject* array, Arrays arrays) {
  const auto* descr = PyArray_DESCR(array);
  switch (descr->kind) {
    case 'O':
    case 'S':
    case 'U':
    case 'T':
      return strings_of(array);
    default:
      break;
  }
  const DType dtype =
      dtype_from_numpy(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
  if (dtype == DType::kInvalid) {
    Owned text(PyObject_Str(reinterpret_cast<PyObject*>(PyArray_DESCR(array))));
    return invalid_argument("dtype ",
                            text.get() ? PyUnicode_AsUTF8(text.get()) : "?",
                            " is not supported");
  }
  return dense_of(array, dtype, arrays);
}

/// What a mask hides would come out as if it were not hidden.
Status check_unmasked(PyObject* array) {
  if (type_name(array) != "MaskedArray") return absl::OkStatus();
  Owned mask(PyObject_GetAttrString(array, "mask"));
  if (mask.get() == nullptr) return python_failure("");
  Owned any(PyObject_CallMethod(mask.get(), "any", nullptr));
  if (any.get() == nullptr) return python_failure("");
  if (PyObject_IsTrue(any.get()) != 1) return absl::OkStatus();
  return invalid_argument(
      "an array has masked values; give it filled: array.filled(value)");
}

StatusOr<Tensor> integer(PyObject* value) {
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) {
    if (v == -1 && PyErr_Occurred()) return python_failure("");
    return Tensor::scalar<std::int64_t>(v);
  }
  const unsigned long long u = PyLong_AsUnsignedLongLong(value);
  if (u == static_cast<unsigned long long>(-1) && PyErr_Occurred()) {
    PyErr_Clear();
    return invalid_argument("an int does not fit into 64 bits");
  }
  return Tensor::scalar<std::uint64_t>(u);
}

/// What a declaration says of one component; nothing without one.
struct Wanted {
  const Spec* spec = nullptr;
  const Structure* structure = nullptr;
  std::size_t leaf = 0;

  Wanted child(std::size_t i) const {
    return {spec, structure->children()[i], leaf + structure->leaf_offset(i)};
  }
  DType dtype() const {
    return structure == Structure::leaf() ? spec->leaves()[leaf].dtype
                                          : DType::kInvalid;
  }
};

class Reader {
 public:
  explicit Reader(Arrays arrays) : arrays_(arrays) {}

  Element::Leaves leaves;

  StatusOr<const Structure*> read(PyObject* value, const Wanted& wanted) {
    if (value == Py_None) return Structure::absent();
    if (PyTuple_Check(value)) return tuple(value, wanted);
    if (PyDict_Check(value)) return dict(value, wanted);
    static PyObject* const kRagged = python_type("Ragged");
    if (Py_TYPE(value) == reinterpret_cast<PyTypeObject*>(kRagged)) {
      return ragged(value);
    }
    PS_ASSIGN_OR_RETURN(Tensor tensor, leaf(value, wanted.dtype()));
    leaves.push_back(std::move(tensor));
    return Structure::leaf();
  }

  StatusOr<Tensor> leaf(PyObject* value, DType wanted) {
    if (PyArray_Check(value)) {
      if (!PyArray_CheckExact(value)) PS_RETURN_IF_ERROR(check_unmasked(value));
      return array_to_tensor(as_array(value), arrays_);
    }
    if (PyBool_Check(value)) return Tensor::scalar<bool>(value == Py_True);
    if (PyBytes_Check(value) || PyUnicode_Check(value)) {
      std::string_view text;
      PS_RETURN_IF_ERROR(text_of(value, text));
      if (arrays_ == Arrays::kShare &&
          text.size() >= static_cast<std::size_t>(kAdoptBytes)) {
        return Tensor::string_view_of(
            text, Buffer::external(
                      reinterpret_cast<const std::byte*>(text.data()),
                      text.size(), [object = share(value)] {}, false));
      }
      return Tensor::string(text);
    }
    if (PyArray_CheckScalar(value)) return numpy_scalar(value);
    if (PyLong_Check(value)) {
      PS_ASSIGN_OR_RETURN(Tensor number, integer(value));
      return as_wanted(std::move(number), wanted);
    }
    if (PyFloat_Check(value)) {
      return as_wanted(Tensor::scalar<double>(PyFloat_AS_DOUBLE(value)),
                       wanted);
    }
    if (PyByteArray_Check(value) || PyMemoryView_Check(value)) {
      return buffer(value);
    }
    if (PyList_Check(value)) return list(value, wanted);
    if (NodeRef node = node_of(value)) {
      return Tensor::object(make_ref<DatasetObject>(std::move(node)));
    }
    return foreign(value);
  }

 private:
  // What somebody else's container holds, somebody else refers to.
  class ContainerScope {
   public:
    ContainerScope(Reader& reader, PyObject* container)
        : reader_(reader), before_(reader.arrays_) {
      if (before_ == Arrays::kAdopt && Py_REFCNT(container) > 1) {
        reader.arrays_ = Arrays::kCopy;
      }
    }
    ~ContainerScope() { reader_.arrays_ = before_; }
    ContainerScope(const ContainerScope&) = delete;
    ContainerScope& operator=(const ContainerScope&) = delete;

   private:
    Reader& reader_;
    Arrays before_;
  };

  static Tensor as_wanted(Tensor number, DType wanted) {
    if (wanted == DType::kInvalid) return number;
    return literal_as(number, wanted).value_or(number);
  }

  static StatusOr<Tensor> numpy_scalar(PyObject* value) {
    PyArray_Descr* descr = PyArray_DescrFromScalar(value);
    if (descr == nullptr) return python_failure("");
    const DType dtype = dtype_from_numpy(reinterpret_cast<PyObject*>(descr));
    if (dtype == DType::kInvalid || dtype_size(dtype) == 0) {
      Owned name(PyObject_Str(reinterpret_cast<PyObject*>(descr)));
      Py_DECREF(descr);
      return invalid_argument("dtype ",
                              name.get() ? PyUnicode_AsUTF8(name.get()) : "?",
                              " is not supported");
    }
    Py_DECREF(descr);
    alignas(16) std::byte bytes[16] = {};
    PyArray_ScalarAsCtype(value, bytes);
    return Tensor::scalar_bytes(dtype, bytes);
  }

  static StatusOr<Tensor> buffer(PyObject* value) {
    if (PyMemoryView_Check(value)) {
      Owned array(PyArray_FROM_O(value));
      if (array.get() == nullptr) return python_failure("");
      return array_to_tensor(as_array(array.get()), Arrays::kCopy);
    }
    return Tensor::string(
        {PyByteArray_AS_STRING(value),
         static_cast<std::size_t>(PyByteArray_GET_SIZE(value))});
  }

  /// As its first value tells, however deep that lies.
  static bool holds_text(PyObject* value, int depth) {
    if (PyBytes_Check(value) || PyUnicode_Check(value)) return true;
    if (PyArray_Check(value)) {
      const char kind = PyArray_DESCR(as_array(value))->kind;
      return kind == 'O' || kind == 'S' || kind == 'U' || kind == 'T';
    }
    const bool sequence = PyList_Check(value) || PyTuple_Check(value);
    return sequence && depth < 32 && PySequence_Fast_GET_SIZE(value) > 0 &&
           holds_text(PySequence_Fast_GET_ITEM(value, 0), depth + 1);
  }

  StatusOr<Tensor> list(PyObject* value, DType wanted) const {
    // As objects, so that NumPy does not cut bytes at trailing zeros.
    const bool text = holds_text(value, 0);
    Owned array(text ? PyArray_FROM_OT(value, NPY_OBJECT)
                     : PyArray_FROM_O(value));
    if (array.get() == nullptr) return python_failure("a list is no array: ");
    const char kind = PyArray_DESCR(as_array(array.get()))->kind;
    // NumPy makes text of numbers beside text.
    if (!text && (kind == 'O' || kind == 'U' || kind == 'S')) {
      return invalid_argument("a list holds values that make no array");
    }
    if (wanted != DType::kInvalid &&
        takes(wanted, kind, PyArray_SIZE(as_array(array.get())))) {
      PyObject* descr =
          wanted == DType::kString
              ? reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_OBJECT))
              : Py_XNewRef(numpy_dtype(wanted));
      if (descr == nullptr) return python_failure("");
      // Raises where an int does not fit.
      array.reset(PyArray_FromAny(value,
                                  reinterpret_cast<PyArray_Descr*>(descr), 0, 0,
                                  NPY_ARRAY_DEFAULT, nullptr));
      if (array.get() == nullptr) return python_failure("a list is no array: ");
    }
    return array_to_tensor(as_array(array.get()), Arrays::kAdopt);
  }

  /// Whether a list that NumPy makes an array of `kind` may be `wanted`: as
  /// literal_as says, and anything if it is empty.
  static bool takes(DType wanted, char kind, npy_intp size) {
    if (size == 0) return wanted != DType::kObject;
    const bool floating =
        wanted == DType::kFloat16 || wanted == DType::kBFloat16 ||
        wanted == DType::kFloat32 || wanted == DType::kFloat64;
    if (kind == 'f') return floating;
    return (kind == 'i' || kind == 'u') &&
           (floating || (dtype_is_dense(wanted) && wanted != DType::kBool));
  }

  StatusOr<Tensor> foreign(PyObject* value) const {
    Owned array(nullptr);
    if (PyObject_HasAttrString(value, "__array__") != 0 ||
        PyObject_HasAttrString(value, "__array_interface__") != 0 ||
        PyObject_CheckBuffer(value) != 0) {
      array.reset(PyArray_FROM_O(value));
    } else if (PyObject_HasAttrString(value, "__dlpack__") != 0) {
      array.reset(PyObject_CallFunctionObjArgs(python_type("from_dlpack"),
                                               value, nullptr));
    } else if (PyIndex_Check(value)) {
      Owned number(PyNumber_Index(value));
      if (number.get() == nullptr) return python_failure("");
      return integer(number.get());
    } else if (PyComplex_Check(value)) {
      return invalid_argument("dtype complex128 is not supported");
    } else if (PyObject_HasAttrString(value, "__fspath__") != 0) {
      Owned path(PyOS_FSPath(value));
      if (path.get() == nullptr) return python_failure("");
      std::string_view text;
      PS_RETURN_IF_ERROR(text_of(path.get(), text));
      return Tensor::string(text);
    } else {
      return invalid_argument("a value of type ", type_name(value),
                              " cannot be an element");
    }
    if (array.get() == nullptr) {
      Status status = python_failure(
          absl::StrCat("a value of type ", type_name(value), ": "));
      // NumPy has no bfloat16, which DLPack has.
      StatusOr<Tensor> tensor = bfloat16_of(value);
      return tensor.ok() ? std::move(tensor) : std::move(status);
    }
    if (!PyArray_Check(array.get())) {
      // Rank 0 may come as a scalar.
      if (PyArray_CheckScalar(array.get())) return numpy_scalar(array.get());
      return invalid_argument("__array__ of ", type_name(value),
                              " gave no array");
    }
    // Views of foreign memory: others may write to it.
    return array_to_tensor(as_array(array.get()), Arrays::kCopy);
  }

  /// By DLPack, copied; an error if it is something else.
  static StatusOr<Tensor> bfloat16_of(PyObject* value) {
    nb::ndarray<nb::ro, nb::device::cpu> array;
    if (!nb::try_cast(nb::handle(value), array, false) ||
        array.dtype().code !=
            static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat) ||
        array.dtype().bits != 16) {
      PyErr_Clear();
      return absl::InvalidArgumentError("no bfloat16");
    }
    Shape shape;
    for (std::size_t i = 0; i < array.ndim(); ++i) {
      shape.push_back(static_cast<std::int64_t>(array.shape(i)));
    }
    PS_ASSIGN_OR_RETURN(Tensor tensor,
                        Tensor::allocate(DType::kBFloat16, shape));
    const auto* from = static_cast<const std::uint16_t*>(array.data());
    auto* to = reinterpret_cast<std::uint16_t*>(tensor.mutable_data());
    for (std::size_t at = 0; at < array.size(); ++at) {
      std::int64_t offset = 0;
      std::size_t rest = at;
      for (std::size_t i = array.ndim(); i-- > 0; rest /= array.shape(i)) {
        offset +=
            static_cast<std::int64_t>(rest % array.shape(i)) * array.stride(i);
      }
      to[at] = from[offset];
    }
    return tensor;
  }

  StatusOr<const Structure*> tuple(PyObject* value, const Wanted& wanted) {
    if (++depth_ > kMaxDepth) {
      return invalid_argument("nested more than ", kMaxDepth, " deep");
    }
    const ContainerScope scope(*this, value);
    const Py_ssize_t n = PyTuple_GET_SIZE(value);
    bool flat = true;
    absl::InlinedVector<const Structure*, 8> children;
    const bool declared =
        wanted.structure != nullptr &&
        wanted.structure->kind() == Structure::Kind::kTuple &&
        wanted.structure->children().size() == static_cast<std::size_t>(n);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PS_ASSIGN_OR_RETURN(
          const Structure* child,
          read(
              PyTuple_GET_ITEM(value, i),
              declared ? wanted.child(static_cast<std::size_t>(i)) : Wanted()));
      flat = flat && child == Structure::leaf();
      children.push_back(child);
    }
    --depth_;
    const bool named = Py_TYPE(value) != &PyTuple_Type;
    if (flat && !named && n < static_cast<Py_ssize_t>(kFlat)) {
      static const auto* flat_tuples = [] {
        auto* table = new std::array<const Structure*, kFlat>;
        for (std::size_t k = 0; k < kFlat; ++k) {
          (*table)[k] = Structure::leaves(k);
        }
        return table;
      }();
      return (*flat_tuples)[static_cast<std::size_t>(n)];
    }
    return Structure::tuple({children.begin(), children.end()},
                            named ? named_tuple_tag(value) : "");
  }

  StatusOr<const Structure*> dict(PyObject* value, const Wanted& wanted) {
    if (++depth_ > kMaxDepth) {
      return invalid_argument("nested more than ", kMaxDepth, " deep");
    }
    const ContainerScope scope(*this, value);
    std::vector<std::pair<std::string, const Structure*>> items;
    const bool declared = wanted.structure != nullptr &&
                          wanted.structure->kind() == Structure::Kind::kDict;
    PyObject* key = nullptr;
    PyObject* item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item) != 0;) {
      if (!PyUnicode_Check(key)) {
        return invalid_argument("the keys of a dict must be str, got ",
                                type_name(key));
      }
      std::string_view text;
      PS_RETURN_IF_ERROR(text_of(key, text));
      Wanted component;
      if (declared) {
        const std::size_t place = wanted.structure->find(text);
        if (place < wanted.structure->children().size()) {
          component = wanted.child(place);
        }
      }
      PS_ASSIGN_OR_RETURN(const Structure* child, read(item, component));
      items.emplace_back(text, child);
    }
    --depth_;
    return Structure::dict(std::move(items));
  }

  StatusOr<const Structure*> ragged(PyObject* value) {
    Owned values(PyObject_GetAttrString(value, "values"));
    Owned splits(PyObject_GetAttrString(value, "nested_row_splits"));
    if (values.get() == nullptr || splits.get() == nullptr ||
        !PyTuple_Check(splits.get())) {
      return python_failure("a ragged value: ");
    }
    const std::size_t first = leaves.size();
    PS_ASSIGN_OR_RETURN(Tensor v, leaf(values.get(), DType::kInvalid));
    leaves.push_back(std::move(v));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(splits.get()); ++i) {
      PS_ASSIGN_OR_RETURN(
          Tensor s, leaf(PyTuple_GET_ITEM(splits.get(), i), DType::kInvalid));
      leaves.push_back(std::move(s));
    }
    PS_RETURN_IF_ERROR(check_ragged(
        std::span<const Tensor>(leaves.data() + first, leaves.size() - first)));
    return Structure::ragged(static_cast<int>(PyTuple_GET_SIZE(splits.get())));
  }

  static constexpr std::size_t kFlat = 9;
  Arrays arrays_;
  int depth_ = 0;
};

}  // namespace

StatusOr<Element> from_python(PyObject* value, Arrays arrays,
                              const Spec* wanted) {
  Reader reader(arrays);
  const bool declared = wanted != nullptr && wanted->known();
  PS_ASSIGN_OR_RETURN(
      const Structure* structure,
      reader.read(value,
                  declared ? Wanted{wanted, wanted->structure()} : Wanted()));
  Element element(structure, std::move(reader.leaves));
  if (declared) element.order_like(wanted->structure());
  return element;
}

}  // namespace penstock::python
