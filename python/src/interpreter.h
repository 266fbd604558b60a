// The engine's threads and the interpreter: who may hold the GIL, and when.
//
// Every GIL acquisition of an engine thread goes through Gil, which refuses
// once the interpreter has begun to exit (close_gate): CPython ends threads
// that come later by pthread_exit. References that are dropped without the GIL
// go to a queue that the next holder drains. An engine thread keeps its Python
// thread state for life, so that taking the GIL creates nothing.
#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace penstock::python {

/// False once the interpreter has begun to exit.
bool gate_open();
/// No engine thread takes the GIL from now on. Waits for those that have it,
/// at most `timeout_ns`. Call without the GIL.
void close_gate(std::int64_t timeout_ns);

/// Gives back a reference: at once with the GIL, else later.
void drop_reference(PyObject* object);
/// Drops what others queued. Requires the GIL.
void drain_released();

/// An owned reference that may be copied and dropped without the GIL.
using PyRef = std::shared_ptr<PyObject>;
/// Takes over the reference that `object` carries.
inline PyRef adopt(PyObject* object) { return {object, drop_reference}; }
/// Adds a reference of its own.
inline PyRef share(PyObject* object) {
  Py_XINCREF(object);
  return adopt(object);
}

/// Calls that a Python stage made and what the GIL cost it.
struct GilCounters {
  std::int64_t calls = 0;
  std::int64_t wait_ns = 0;  // until the GIL was there
  std::int64_t hold_ns = 0;
};

/// Holds the GIL while it lives. ok() is false, and nothing is held, when the
/// interpreter exits.
class Gil {
 public:
  Gil();
  ~Gil();
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

  bool ok() const { return held_; }
  /// Between two calls: gives the GIL up for a moment when it was held for a
  /// millisecond, or a consumer waits for it. False when it did not come back
  /// because the interpreter exits.
  bool breathe();
  /// Time spent so far waiting and holding.
  std::int64_t wait_ns() const { return wait_ns_; }
  std::int64_t hold_ns() const;

 private:
  void take();
  void give();

  bool held_ = false;
  int state_ = 0;  // PyGILState_STATE
  std::int64_t since_ = 0;
  std::int64_t wait_ns_ = 0;
  std::int64_t hold_ns_ = 0;
};

/// Gives up the GIL of a Python thread while the engine works or waits for it;
/// engine threads that hold the GIL then make room when it wants it back.
/// Other threads than the main one do not come back once the gate is closed.
class WithoutGil {
 public:
  WithoutGil() : saved_(PyEval_SaveThread()) {}
  ~WithoutGil() noexcept(false);
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* saved_;
};

/// Gives up the GIL while an operation that Python called works. The engine's
/// monitor takes the wait to get it back for what it is, no blocking call.
class WorkingWithoutGil {
 public:
  WorkingWithoutGil() : saved_(PyEval_SaveThread()) {}
  ~WorkingWithoutGil() noexcept(false);
  WorkingWithoutGil(const WorkingWithoutGil&) = delete;
  WorkingWithoutGil& operator=(const WorkingWithoutGil&) = delete;

 private:
  PyThreadState* saved_;
};

/// Ends this thread's part in the program, for ever and in place: its stack
/// stays, because others of the engine may look at it.
[[noreturn]] void hang();

/// Runs code that enters the interpreter. CPython below 3.14 ends a thread that
/// comes back from a blocking call after the interpreter has gone by
/// pthread_exit(), which unwinds the stack; here the thread hangs instead.
template <class F>
auto in_interpreter(F&& fn) {
  try {
    return fn();
  } catch (const abi::__forced_unwind&) {
    hang();
  }
}

/// Owns a reference within a function that holds the GIL.
class Owned {
 public:
  explicit Owned(PyObject* object = nullptr) : p_(object) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { drop_reference(p_); }
  PyObject* get() const { return p_; }
  void reset(PyObject* object) {
    PyObject* old = std::exchange(p_, object);
    drop_reference(old);
  }

 private:
  PyObject* p_;
};

/// While somebody samples what Python functions do, engine threads hold the GIL
/// over several calls: given up only between calls, it would never be the
/// sampler's while one of them runs. Counts who asks.
void set_sampling(bool on);
bool sampling();

/// The thread that handles signals.
bool on_main_thread();
void remember_main_thread();

}  // namespace penstock::python
