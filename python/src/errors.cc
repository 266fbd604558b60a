#include "errors.h"

#include "convert.h"

namespace penstock::python {
namespace {

const char* class_of(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument: return "InvalidArgumentError";
    case StatusCode::kNotFound: return "NotFoundError";
    case StatusCode::kAlreadyExists: return "AlreadyExistsError";
    case StatusCode::kDataLoss: return "DataLossError";
    case StatusCode::kOutOfRange: return "OutOfRangeError";
    case StatusCode::kResourceExhausted: return "ResourceExhaustedError";
    case StatusCode::kCancelled: return "CancelledError";
    case StatusCode::kFailedPrecondition: return "FailedPreconditionError";
    case StatusCode::kUnimplemented: return "UnimplementedError";
    case StatusCode::kUnavailable: return "UnavailableError";
    case StatusCode::kPermissionDenied: return "PermissionDeniedError";
    case StatusCode::kAborted: return "WorkerError";
    case StatusCode::kInternal: return "InternalError";
    default: return "Error";
  }
}

void set_text(PyObject* object, const char* name, const std::string& text) {
  if (text.empty()) return;
  PyObject* value = PyUnicode_FromStringAndSize(
      text.data(), static_cast<Py_ssize_t>(text.size()));
  if (value == nullptr || PyObject_SetAttrString(object, name, value) < 0) {
    PyErr_Clear();
  }
  Py_XDECREF(value);
}

/// Takes out the notes that begin with `prefix`.
void remove_notes(PyObject* notes, const std::string& prefix) {
  for (Py_ssize_t i = PyList_GET_SIZE(notes); i-- > 0;) {
    PyObject* old = PyList_GET_ITEM(notes, i);
    const char* utf8 = PyUnicode_Check(old) ? PyUnicode_AsUTF8(old) : nullptr;
    if (utf8 != nullptr && std::string_view(utf8).starts_with(prefix)) {
      PySequence_DelItem(notes, i);
    }
  }
}

/// Adds the note `prefix + rest`, where the interpreter has notes (3.11), or a
/// plain list of them where it has not. Replaces those of other elements: a
/// function may raise one exception object again and again.
void add_note(PyObject* exception, const std::string& prefix,
              const std::string& rest) {
  PyObject* text = PyUnicode_FromString((prefix + rest).c_str());
  PyObject* notes = PyObject_GetAttrString(exception, "__notes__");
  if (notes == nullptr) {
    PyErr_Clear();
    notes = PyList_New(0);
    if (notes != nullptr) {
      PyObject_SetAttrString(exception, "__notes__", notes);
    }
  }
  if (text != nullptr && notes != nullptr && PyList_Check(notes)) {
    remove_notes(notes, prefix);
    PyList_Append(notes, text);
  }
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(notes);
}

void raise_user_error(const PythonError& error, const ElementError& at) {
  PyObject* exception = error.exception();
  if (!at.stage.empty()) {
    std::string rest;
    if (!at.element.empty()) absl::StrAppend(&rest, " element ", at.element, ",");
    absl::StrAppend(&rest, " executor ", error.executor());
    if (at.others > 0) {
      absl::StrAppend(&rest, " (and ", at.others, " more error",
                      at.others > 1 ? "s" : "", " in this batch)");
    }
    add_note(exception, "penstock: in " + at.stage + ",", rest);
  }
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(exception));
  if (PyErr_GivenExceptionMatches(exception, PyExc_StopIteration) != 0) {
    // Would end the loop of whoever iterates.
    PyErr_SetString(PyExc_RuntimeError, "the function raised StopIteration");
    PyObject* t = nullptr;
    PyObject* v = nullptr;
    PyObject* tb = nullptr;
    PyErr_Fetch(&t, &v, &tb);
    PyErr_NormalizeException(&t, &v, &tb);
    Py_INCREF(exception);
    PyException_SetCause(v, exception);
    PyErr_Restore(t, v, tb);
    return;
  }
  Py_INCREF(type);
  Py_INCREF(exception);
  PyErr_Restore(type, exception, PyException_GetTraceback(exception));
}

}  // namespace

PythonError PythonError::take(const char* executor) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value != nullptr && traceback != nullptr) {
    PyException_SetTraceback(value, traceback);
  }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return of(value, executor);
}

PythonError PythonError::of(PyObject* exception, const char* executor) {
  PythonError error;
  error.executor_ = executor;
  error.ends_program_ =
      PyErr_GivenExceptionMatches(exception, PyExc_Exception) == 0;
  error.text_ = Py_TYPE(exception)->tp_name;
  PyObject* message = PyObject_Str(exception);
  const char* utf8 = message == nullptr ? nullptr : PyUnicode_AsUTF8(message);
  if (utf8 != nullptr && *utf8 != '\0') {
    error.text_ += std::string(": ") + utf8;
  }
  PyErr_Clear();
  Py_XDECREF(message);
  error.exception_ = adopt(exception);
  return error;
}

Status PythonError::status() const {
  const std::string text = "the function raised " + text_;
  // KeyboardInterrupt, SystemExit: no policy may skip them.
  return ends_program_ ? absl::CancelledError(text)
                       : absl::InvalidArgumentError(text);
}

Status python_failure(std::string_view what) {
  const PythonError error = PythonError::take();
  if (error.ends_program()) throw error;
  return invalid_argument(to_absl(what), error.what());
}

void set_python_error(const ElementError& at) {
  if (at.cause) {
    try {
      std::rethrow_exception(at.cause);
    } catch (const PythonError& error) {
      raise_user_error(error, at);
      return;
    } catch (const std::exception&) {
      // The status says what it was.
    }
  }
  const Status status = at.to_status();
  PyObject* type = python_type(class_of(status.code()));
  if (type == nullptr) return;
  PyObject* exception = PyObject_CallFunction(
      type, "s#", status.message().data(),
      static_cast<Py_ssize_t>(status.message().size()));
  if (exception == nullptr) return;
  set_text(exception, "stage", at.stage);
  set_text(exception, "element", at.element);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
}

void set_python_error(const Status& status, const std::exception_ptr& cause) {
  ElementError error;
  error.status = status;
  error.cause = cause;
  set_python_error(error);
}

}  // namespace penstock::python
