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

/// Adds a note once, where the interpreter has notes (3.11), or a plain list
/// of them where it has not.
void add_note(PyObject* exception, const std::string& note) {
  PyObject* text = PyUnicode_FromString(note.c_str());
  PyObject* notes = PyObject_GetAttrString(exception, "__notes__");
  if (notes == nullptr) {
    PyErr_Clear();
    notes = PyList_New(0);
    if (notes != nullptr) {
      PyObject_SetAttrString(exception, "__notes__", notes);
    }
  }
  if (text != nullptr && notes != nullptr && PyList_Check(notes) &&
      PySequence_Contains(notes, text) == 0) {
    PyList_Append(notes, text);
  }
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(notes);
}

void raise_user_error(const PythonError& error, const std::string& stage,
                      const std::string& element) {
  PyObject* exception = error.exception();
  if (!stage.empty()) {
    std::string note = "penstock: in " + stage;
    if (!element.empty()) note += ", element " + element;
    note += std::string(", executor ") + error.executor();
    add_note(exception, note);
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

void set_python_error(const Status& status, const std::exception_ptr& cause,
                      const std::string& stage, const std::string& element) {
  if (cause) {
    try {
      std::rethrow_exception(cause);
    } catch (const PythonError& error) {
      raise_user_error(error, stage, element);
      return;
    } catch (const std::exception&) {
      // The status says what it was.
    }
  }
  PyObject* type = python_type(class_of(status.code()));
  if (type == nullptr) return;
  PyObject* exception = PyObject_CallFunction(
      type, "s#", status.message().data(),
      static_cast<Py_ssize_t>(status.message().size()));
  if (exception == nullptr) return;
  set_text(exception, "stage", stage);
  set_text(exception, "element", element);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
}

void set_python_error(const ElementError& error) {
  set_python_error(error.to_status(), error.cause, error.stage, error.element);
}

}  // namespace penstock::python
