// Failures across the border: statuses to exceptions of penstock, exceptions
// of the user's functions through the engine and back.
#pragma once

#include <Python.h>

#include <exception>
#include <string>

#include "interpreter.h"
#include "penstock/base/status.h"
#include "penstock/base/status_exception.h"
#include "penstock/error.h"
#include "penstock/memory/error.h"

namespace penstock::python {

/// What a Python function raised, on its way through the engine.
class PythonError final : public StatusException {
 public:
  /// Takes the pending Python error. Requires the GIL. `function` tells whose
  /// calls these are: of one exception object the last has the note.
  static PythonError take(const void* function,
                          const char* executor = "thread");
  /// Of an exception object (taken over).
  static PythonError of(PyObject* exception, const void* function,
                        const char* executor);

  const char* what() const noexcept override { return text_.c_str(); }
  PyObject* exception() const { return exception_.get(); }
  const void* function() const { return function_; }
  const char* executor() const { return executor_; }
  Status status() const override;
  /// KeyboardInterrupt, SystemExit: whatever is no Exception.
  bool ends_program() const { return ends_program_; }

 private:
  PyRef exception_;
  std::string text_;
  const void* function_ = nullptr;
  const char* executor_ = "thread";
  bool ends_program_ = false;
};

/// The pending Python error in a message behind `what`. One that ends the
/// program is thrown as it is.
Status python_failure(std::string_view what);

/// Sets the Python error that `error` means: the user's own exception with a
/// note that names stage, element and executor, or one of penstock's.
void set_python_error(const ElementError& error);
void set_python_error(const Status& status, const std::exception_ptr& cause);

}  // namespace penstock::python
