// What each file of bindings adds to the module.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "errors.h"
#include "functions.h"
#include "penstock/dataset.h"

namespace penstock::python {

namespace nb = nanobind;

void bind_arrow(nb::module_& m);
void bind_dataset(nb::module_& m);
void bind_doctor(nb::module_& m);
void bind_expr(nb::module_& m);
void bind_files(nb::module_& m);
void bind_file_sources(nb::class_<Dataset>& c);
void bind_functions(nb::module_& m);
void bind_iterator(nb::module_& m);
void bind_number_types(nb::module_& m);
void bind_records(nb::module_& m);
void bind_trace(nb::module_& m);

/// A dataset's running pipeline, as Python holds it.
class PyIterator {
 public:
  explicit PyIterator(std::shared_ptr<Iterator> iterator);
  PyIterator(const PyIterator&) = delete;
  PyIterator& operator=(const PyIterator&) = delete;
  ~PyIterator();

  /// Null once it is closed.
  std::shared_ptr<Iterator> get() const { return iterator_; }
  PyObject* next();
  /// The same with an error if it is closed.
  std::shared_ptr<Iterator> open() const;
  /// The counters at this moment, or the last ones once it is closed.
  IteratorStats stats() const;
  /// Stages whose functions still ran after a second, or none.
  std::vector<std::string> close();
  /// Closes this one and goes on with another.
  void replace(std::shared_ptr<Iterator> iterator);
  /// Called once, without arguments, when the data ends or before the iterator
  /// is closed, while its counters can still be read.
  void on_finish(nb::object callback);
  void finish();
  /// Time that next() took to get the GIL back.
  std::int64_t gil_wait_ns() const { return gil_wait_ns_.load(); }

 private:
  std::atomic<std::int64_t> gil_wait_ns_{0};
  std::shared_ptr<Iterator> iterator_;
  IteratorStats last_stats_;  // once it is closed
  std::vector<nb::object> on_finish_;
};

/// Cancels every iterator there is: the interpreter exits.
void cancel_all_iterators();

/// The reference of `object`, owned.
inline PyRef ref(nb::handle object) { return share(object.ptr()); }

/// Python's `index`: None where it can be.
inline UseIndex use_index(std::optional<bool> index) {
  if (!index) return UseIndex::kAuto;
  return *index ? UseIndex::kAlways : UseIndex::kNever;
}

/// Throws what the caller's arguments deserve.
template <class T>
T value_or_raise(StatusOr<T> value) {
  if (!value.ok()) throw Error(value.status());
  return *std::move(value);
}

}  // namespace penstock::python
