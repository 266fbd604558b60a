// Who runs a Run's work: the process-wide executor, or a simulation.
//
// A Run offers work through claim/execute/complete (run.h); a Scheduler calls
// them from its workers. Both sides tell each other about changes through this
// interface only, so that a single-threaded simulation can stand in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "penstock/base/clock.h"
#include "penstock/base/status.h"

namespace penstock {

class Run;

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual const Clock& clock() const = 0;
  /// CPU workers at work at once.
  virtual int cpu_budget() const = 0;

  /// Fails where nobody could work for `run`.
  virtual Status add(std::shared_ptr<Run> run) = 0;
  /// No worker will take work of `run` any more. Does not wait.
  virtual void remove(Run* run) = 0;
  /// `run` may have work. Call without the run's lock.
  virtual void notify(Run* run) = 0;
  /// Blocks the calling thread until `done()` is true; it is evaluated under
  /// the run's lock and again after wake_waiters(). False when `timeout_ns`
  /// passed before; below zero there is none.
  virtual bool wait(Run* run, const std::function<bool()>& done,
                    std::int64_t timeout_ns) = 0;
  /// `done()` of a waiting consumer may have become true.
  virtual void wake_waiters(Run* run) = 0;

  /// Around code of the user that may block: `stage` identifies it to the
  /// monitor. Called by the thread that runs the code.
  virtual void user_code_begin(Run* run, void* stage) = 0;
  virtual void user_code_end() = 0;
  /// Set when the user's code of the calling thread has run for far longer than
  /// a block should, cleared by user_code_begin(); null when nobody looks.
  virtual const std::atomic<bool>* overdue() { return nullptr; }
};

/// Lives around a call of user code, if `called`: also one that throws.
class UserCall {
 public:
  UserCall(Scheduler& scheduler, bool called, Run* run, void* stage)
      : scheduler_(called ? &scheduler : nullptr) {
    if (called) scheduler.user_code_begin(run, stage);
  }
  ~UserCall() { end(); }
  UserCall(const UserCall&) = delete;
  UserCall& operator=(const UserCall&) = delete;
  void end() {
    if (Scheduler* s = std::exchange(scheduler_, nullptr)) s->user_code_end();
  }

 private:
  Scheduler* scheduler_;
};

/// The process-wide executor.
Scheduler& default_scheduler();

/// Lives while user code works elsewhere: the monitor does not take that for
/// blocking, the core it holds is in use. Of a call in another process the
/// monitor looks at that one: it may block as any other call.
class WorksElsewhere {
 public:
  WorksElsewhere();
  explicit WorksElsewhere(int process);
  ~WorksElsewhere();
  WorksElsewhere(const WorksElsewhere&) = delete;
  WorksElsewhere& operator=(const WorksElsewhere&) = delete;

 private:
  int outer_ = 0;
};

/// Lives while user code waits for something that is no call's fault and needs
/// no core, such as the start of a process to call: says nothing about calls.
class NoCallYet {
 public:
  NoCallYet();
  ~NoCallYet();
  NoCallYet(const NoCallYet&) = delete;
  NoCallYet& operator=(const NoCallYet&) = delete;

 private:
  int outer_ = 0;
};

/// Lives while user code waits for a lock that its calls take in turn, such as
/// an interpreter's. That is not blocking either, because more calls at once
/// would only wait for each other; nor is it work that a block is sized by.
class LockWait {
 public:
  /// A lock of that kind lies in this memory. A call that waits for it does not
  /// block, also where no LockWait says that it waits.
  static void lies_in(const void* begin, std::size_t bytes);

  LockWait();
  ~LockWait();
  LockWait(const LockWait&) = delete;
  LockWait& operator=(const LockWait&) = delete;
  /// Nanoseconds that the calling thread has spent so far.
  static std::int64_t total_ns();

 private:
  WorksElsewhere waiting_;
  std::int64_t since_;
};

}  // namespace penstock
