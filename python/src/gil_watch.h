// Who has the GIL, by looking: time in which a Python function has given it up
// (it sleeps, reads, or NumPy computes) told from time in which it holds it.
//
// While somebody watches, one thread looks about every millisecond at all
// threads that are inside a Python call, without taking the GIL, and notes
// whether their thread state is the interpreter's current one. Nobody is
// stopped or slowed; a look costs some 10 us. With nobody watching, a call pays
// for two writes to its thread's own slot.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>

namespace penstock::python {

/// What was seen of a stage's calls while somebody watched.
struct GilLooks {
  std::atomic<std::int64_t> looks{0};  // a call was under way
  std::atomic<std::int64_t> held{0};   // ... and its thread had the GIL

  /// Calls hardly ever gave it up: others only get it when it is taken away.
  bool mostly_held() const {
    const std::int64_t n = looks.load(std::memory_order_relaxed);
    return n >= 20 && 5 * held.load(std::memory_order_relaxed) > n;
  }
};

/// The calling thread, which has a thread state, is inside a call while this
/// lives; what is seen of it goes to `looks` (may be null) at the end.
class GilWatched {
 public:
  explicit GilWatched(GilLooks* looks);
  ~GilWatched();
  GilWatched(const GilWatched&) = delete;
  GilWatched& operator=(const GilWatched&) = delete;

 private:
  GilLooks* looks_;
};

/// Since the first of those who watch now began: looks at the process, and how
/// many of them found the GIL taken by a call or by a thread that watches.
struct GilUse {
  std::int64_t looks = 0;
  std::int64_t taken = 0;
};

/// Counts who watches. A `consumer` is looked at too: the calling thread, which
/// ends the watch itself. Requires the GIL.
void watch_gil(bool on, bool consumer);
GilUse gil_use();

}  // namespace penstock::python
