// The two interfaces that a user's own source implements.
//
// A RandomAccessSource makes element i from i: it is read from all workers at
// once, gives random access to the whole chain behind it, and its state is one
// integer. A SequentialSource gives one element after the other: one worker at
// a time reads it. Both are user code to the runtime: a call may block or
// throw. Dataset::from_source() takes either.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/base/status.h"
#include "penstock/graph/cardinality.h"
#include "penstock/memory/element.h"
#include "penstock/memory/spec.h"

namespace penstock {

/// Elements by index.
///
/// Lifetime: shared by the datasets built on it and the iterators they run as;
/// destroyed with the last of them, on any thread.
class RandomAccessSource {
 public:
  virtual ~RandomAccessSource() = default;

  /// Number of elements, or Cardinality::kInfinite. Asked once, when the graph
  /// is built; must not change afterwards.
  virtual std::int64_t size() const = 0;

  /// Element `i`, 0 <= i < size(). The same element whenever it is asked for:
  /// restored iterators, at(i) and repetitions read it again.
  ///
  /// Thread safety: called from many threads at once, in any order.
  /// Blocking: allowed; while calls wait, more of them run at once.
  /// Errors: a failed status or an exception takes the place of element `i`
  /// alone.
  /// Cost: called once per element and reading; the engine adds about 0.2 us.
  virtual StatusOr<Element> read(std::int64_t i) const = 0;

  /// What the elements are, as far as that is known without reading one. Every
  /// element is checked against it. Asked once, when the graph is built.
  virtual Spec element_spec() const { return {}; }

  /// Reading in any order costs the same. False when reading in rising order is
  /// much cheaper (files on a disk): a shuffle window may then hold elements
  /// where it would hold positions.
  virtual bool in_memory() const { return true; }

  /// What tells this source from others of its type: part of the dataset's
  /// fingerprint, so that a state is refused by a pipeline over other data.
  virtual std::string identity() const { return ""; }
};

/// Elements one after the other; an object of it is one reading from the start.
///
/// Lifetime: made when an iterator asks for its first element, destroyed when
/// the source has ended, or with the iterator.
/// Thread safety: calls come from different threads, never two at once, and
/// each sees what the one before did: no lock is needed.
class SequentialSource {
 public:
  virtual ~SequentialSource() = default;

  /// The next element, or nothing at the end; not called again after that.
  ///
  /// Blocking: allowed; what is downstream goes on meanwhile.
  /// Errors: a failed status or an exception means that the cursor did not
  /// move: it is delivered once, in its place, and the dataset ends there. An
  /// error of one element that next() can go on behind is returned as
  /// element_error(status). An element that does not fit the declared spec is
  /// an error in its place, and the source goes on.
  /// Cost: called up to 50 us long before the elements are handed on, so that
  /// a slow source delivers promptly; the engine adds about 0.2 us per element.
  virtual StatusOr<std::optional<Element>> next() = 0;

  /// The cursor as bytes: where the next next() continues. Nothing (the
  /// default): not possible here; a restore then goes back to the last place
  /// that was saved, or to the start, and reads forward.
  ///
  /// Called between two next(), about once per 50 us of reading or once per
  /// element, whichever is less often: it must be cheap and must not block.
  virtual std::optional<std::string> save() const { return std::nullopt; }

  /// Continues where save() gave `state`. Called once, on a fresh object,
  /// before next(). Treat the bytes as untrusted.
  virtual Status restore(std::string_view state) {
    (void)state;
    return absl::UnimplementedError("the source has save() but no restore()");
  }
};

/// Makes a source that stands at its start. Called once for each iterator that
/// reads it, from a worker; several at once where several iterators run.
using SequentialFactory =
    std::function<StatusOr<std::unique_ptr<SequentialSource>>()>;

/// `status` as the error of one element: SequentialSource::next() has passed it
/// and can go on.
Status element_error(Status status);
/// Whether `status` was made by element_error().
bool cursor_advanced(const Status& status);

}  // namespace penstock
