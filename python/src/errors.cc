#include "errors.h"

#include "convert.h"
#include "text.h"

namespace penstock::python {
namespace {

const char* class_of(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return "InvalidArgumentError";
    case StatusCode::kNotFound:
      return "NotFoundError";
    case StatusCode::kAlreadyExists:
      return "AlreadyExistsError";
    case StatusCode::kDataLoss:
      return "DataLossError";
    case StatusCode::kOutOfRange:
      return "OutOfRangeError";
    case StatusCode::kResourceExhausted:
      return "ResourceExhaustedError";
    case StatusCode::kCancelled:
      return "CancelledError";
    case StatusCode::kFailedPrecondition:
      return "FailedPreconditionError";
    case StatusCode::kUnimplemented:
      return "UnimplementedError";
    case StatusCode::kUnavailable:
      return "UnavailableError";
    case StatusCode::kPermissionDenied:
      return "PermissionDeniedError";
    case StatusCode::kAborted:
      return "WorkerError";
    case StatusCode::kInternal:
      return "InternalError";
    default:
      return "Error";
  }
}

void set_text(PyObject* object, const char* name, const std::string& text) {
  if (text.empty()) return;
  PyObject* value = message_str_of(text);
  if (value == nullptr || PyObject_SetAttrString(object, name, value) < 0) {
    PyErr_Clear();
  }
  Py_XDECREF(value);
}

/// An attribute of `object`, given `fresh` (taken over) if it has none.
PyObject* attribute(PyObject* object, const char* name, PyObject* fresh) {
  PyObject* found = PyObject_GetAttrString(object, name);
  if (found != nullptr) {
    Py_XDECREF(fresh);
    return found;
  }
  PyErr_Clear();
  if (fresh != nullptr) PyObject_SetAttrString(object, name, fresh);
  return fresh;
}

/// Adds a note, where the interpreter has notes (3.11), or a plain list of them
/// where it has not. Replaces the one of another call of the same function,
/// which may raise one exception object again and again.
void add_note(PyObject* exception, const void* function,
              const std::string& note) {
  const Owned text(message_str_of(note));
  const Owned notes(attribute(exception, "__notes__", PyList_New(0)));
  const Owned ours(attribute(exception, "_penstock_notes", PyDict_New()));
  const Owned key(PyLong_FromVoidPtr(const_cast<void*>(function)));
  if (text.get() != nullptr && notes.get() != nullptr &&
      PyList_Check(notes.get()) && ours.get() != nullptr &&
      key.get() != nullptr) {
    PyObject* old = PyDict_GetItem(ours.get(), key.get());
    const Py_ssize_t at =
        old == nullptr ? -1 : PySequence_Index(notes.get(), old);
    if (at >= 0) PySequence_DelItem(notes.get(), at);
    PyErr_Clear();
    PyList_Append(notes.get(), text.get());
    PyDict_SetItem(ours.get(), key.get(), text.get());
  }
  PyErr_Clear();
}

/// The message of an exception that is Penstock's: an operation that the
/// function called says there what was wrong with which shape or file. A note
/// comes last, and the last line is what people read first.
std::string message_of_ours(PyObject* exception) {
  if (PyObject_IsInstance(exception, python_type("Error")) != 1) {
    PyErr_Clear();
    return "";
  }
  const Owned text(PyObject_Str(exception));
  std::string message;
  if (!bytes_of(text.get(), message)) PyErr_Clear();
  return message;
}

/// A StopIteration would end the loop of whoever iterates: a RuntimeError that
/// it is the cause of; any other exception as it is.
Owned raisable(PyObject* exception) {
  if (PyErr_GivenExceptionMatches(exception, PyExc_StopIteration) == 0) {
    Py_INCREF(exception);
    return Owned(exception);
  }
  PyObject* made = PyObject_CallFunction(PyExc_RuntimeError, "s",
                                         "the function raised StopIteration");
  if (made != nullptr) {
    Py_INCREF(exception);
    PyException_SetCause(made, exception);
  }
  return Owned(made);
}

void raise_user_error(const PythonError& error, const ElementError& at) {
  const Owned raised = raisable(error.exception());
  PyObject* exception = raised.get();
  if (exception == nullptr) return;  // no memory
  if (!at.stage.empty()) {
    std::string note = absl::StrCat("penstock: in ", at.stage, ",");
    if (!at.element.empty()) {
      absl::StrAppend(&note, " element ", at.element, ",");
    }
    absl::StrAppend(&note, " executor ", error.executor());
    if (at.others > 0) {
      absl::StrAppend(&note, " (and ", at.others, " more error",
                      at.others > 1 ? "s" : "", " in this batch)");
    }
    if (!at.not_skipped.empty()) {
      absl::StrAppend(&note, " (not skipped: ", at.not_skipped, ")");
    }
    const std::string own = message_of_ours(exception);
    if (!own.empty()) absl::StrAppend(&note, ": ", own);
    add_note(exception, error.function(), note);
  }
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(exception));
  Py_INCREF(type);
  Py_INCREF(exception);
  PyErr_Restore(type, exception, PyException_GetTraceback(exception));
}

}  // namespace

PythonError PythonError::take(const void* function, const char* executor) {
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
  return of(value, function, executor);
}

PythonError PythonError::of(PyObject* exception, const void* function,
                            const char* executor) {
  PythonError error;
  error.function_ = function;
  error.executor_ = executor;
  error.ends_program_ =
      PyErr_GivenExceptionMatches(exception, PyExc_Exception) == 0;
  error.text_ = Py_TYPE(exception)->tp_name;
  const Owned message(PyObject_Str(exception));
  std::string text;
  if (bytes_of(message.get(), text) && !text.empty()) {
    absl::StrAppend(&error.text_, ": ", text);
  }
  PyErr_Clear();
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
  const PythonError error = PythonError::take(nullptr);
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
  const Owned message(message_str_of(to_std(status.message())));
  if (message.get() == nullptr) return;
  PyObject* exception =
      PyObject_CallFunctionObjArgs(type, message.get(), nullptr);
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
