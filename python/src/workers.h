// Worker processes: spawned interpreters that share an arena with us.
//
// A pool for the whole process. Workers are started by one thread that lives as
// long as the process, because the kernel kills them with the thread that
// started them (PR_SET_PDEATHSIG); they also end when their socket closes. Only
// fixed-size messages cross the socket, payload lies in the arena. A worker
// serves one call at a time and is never shared by two threads.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arena.h"
#include "penstock/base/status.h"

namespace penstock::python {

/// What crosses the socket, in both directions.
struct Message {
  enum Kind : std::uint32_t {
    kFunction,  // to worker: a pickled function at `offset`
    kCall,      // to worker: rows at `offset`, results to `out`
    kGrant,     // to worker: more room for the results
    kDone,      // from worker: results of `length` bytes lie there
    kNeed,      // from worker: the results take `length` bytes
    kReady,     // from worker: it has started
    kForget,    // to worker: nobody has that function any more
  };
  std::uint32_t kind = kCall;
  std::uint32_t function = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t out = 0;
  std::uint64_t capacity = 0;
  std::uint64_t result = 0;  // python::Result, for kFunction
  // kCall: time after which the worker leaves the rows that follow the one at
  // hand to others; 0: it does not.
  std::int64_t patience_ns = 0;
  // kCall: 1 when hot lines are wanted. kDone: bytes behind the results that
  // tell of them (HotLines).
  std::uint64_t lines = 0;
  // kDone: time in the function, and of the CPU for the whole call.
  std::int64_t work_ns = 0;
  std::int64_t cpu_ns = 0;
};

/// How workers are started; set once by Python code.
struct WorkerProgram {
  std::vector<std::string> argv;
};
void set_worker_program(WorkerProgram program);

/// The way to one worker process: messages there and back.
class WorkerLink {
 public:
  enum class Received { kMessage, kDied, kTimeout, kCancelled };

  virtual ~WorkerLink() = default;
  /// False when the worker is gone.
  virtual bool send(const Message& message) = 0;
  /// Waits. `timeout_ns` (0: none) counts from the last change of row().
  virtual Received receive(Message& message, std::int64_t timeout_ns,
                           const std::function<bool()>& cancelled) = 0;
  /// It has sent something, by which it was found ready.
  virtual bool has_sent() const = 0;
  /// The row it works on; -1 between calls.
  virtual std::int64_t row() const = 0;
  /// Its number as a process.
  virtual int process() const = 0;
  /// Ends it and says how it ended: "was killed by SIGSEGV".
  virtual std::string kill() = 0;
};

/// Starts workers. The pool has one that spawns interpreters; a test puts
/// another one in front of it, with faults of its own.
class WorkerTransport {
 public:
  virtual ~WorkerTransport() = default;
  virtual StatusOr<std::unique_ptr<WorkerLink>> start() = 0;
  /// Spawned interpreters.
  static std::shared_ptr<WorkerTransport> processes();
};

/// A worker, and what it has been told.
class Worker {
 public:
  using Received = WorkerLink::Received;

  explicit Worker(std::unique_ptr<WorkerLink> link) : link_(std::move(link)) {}

  bool send(const Message& message) { return link_->send(message); }
  Received receive(Message& message, std::int64_t timeout_ns,
                   const std::function<bool()>& cancelled) {
    return link_->receive(message, timeout_ns, cancelled);
  }
  bool has_sent() const { return link_->has_sent(); }
  std::int64_t row() const { return link_->row(); }
  int process() const { return link_->process(); }
  std::string kill() { return link_->kill(); }
  bool knows(std::uint32_t function) const {
    return functions_.contains(function);
  }
  /// It has the function, until `life` has expired.
  void learned(std::uint32_t function, std::weak_ptr<const void> life) {
    functions_[function] = std::move(life);
  }
  /// Lets it drop the functions that nobody has any more.
  void forget_gone();
  /// Of the pool, when it was started.
  int generation = 0;

 private:
  std::unique_ptr<WorkerLink> link_;
  std::map<std::uint32_t, std::weak_ptr<const void>> functions_;
};

/// The workers of one stage.
struct WorkerShare {
  std::atomic<int> most{2};
  // Under the pool's lock.
  int at_work = 0;
  const void* pool = nullptr;  // that they are of: a fork's child has another
};

class WorkerPool {
 public:
  /// The one of this process; the child of a fork gets a new one.
  static WorkerPool& instance();

  /// An idle worker, a new one, or one that is given back meanwhile, when fewer
  /// than `share.most` work for this stage. Cancelled if `cancelled` says so.
  StatusOr<std::unique_ptr<Worker>> acquire(
      WorkerShare& share, const std::function<bool()>& cancelled);
  /// Until it has started, or died.
  void wait_until_started(const Worker& worker,
                          const std::function<bool()>& cancelled);
  void give_back(std::unique_ptr<Worker> worker, WorkerShare& share);
  /// Lets idle workers drop the functions that nobody has any more; others do
  /// when they are given back.
  void forget_gone();
  /// A worker that acquire() gave is no more.
  void lost(WorkerShare& share);
  /// Starts workers up to `count`, without waiting for them.
  void warm(int count);
  /// Where workers come from; idle ones of another transport are ended.
  void set_transport(std::shared_ptr<WorkerTransport> transport);
  int size() const;
  /// A worker has started and is idle.
  bool ready() const;
  /// Later calls get workers that are started from now on.
  void renew();
  /// Ends all idle workers; others end with their call.
  void shutdown();

 private:
  struct State;
  WorkerPool();
  State* state_;
  friend struct PoolReset;
};

}  // namespace penstock::python
