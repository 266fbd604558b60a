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
#include <memory>
#include <set>
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
  };
  std::uint32_t kind = kCall;
  std::uint32_t function = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t out = 0;
  std::uint64_t capacity = 0;
  std::uint64_t result = 0;  // python::Result, for kFunction
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

class Worker {
 public:
  Worker(pid_t pid, int socket, Ref<Buffer> slot)
      : pid_(pid), socket_(socket), slot_(std::move(slot)) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool send(const Message& message);
  enum class Received { kMessage, kDied, kTimeout, kCancelled };
  /// Waits. `timeout_ns` (0: none) counts from the last change of row().
  Received receive(Message& message, std::int64_t timeout_ns,
                   const std::function<bool()>& cancelled);
  /// It has sent something, by which it was found ready.
  bool has_sent() const;
  /// The row it works on; -1 between calls.
  std::int64_t row() const {
    return progress()->load(std::memory_order_relaxed);
  }
  /// Ends it and says how it ended: "was killed by SIGSEGV".
  std::string kill();
  bool knows(std::uint32_t function) const {
    return functions_.contains(function);
  }
  void learned(std::uint32_t function) { functions_.insert(function); }
  pid_t pid() const { return pid_; }

 private:
  std::atomic<std::int64_t>* progress() const {
    return reinterpret_cast<std::atomic<std::int64_t>*>(slot_->data());
  }

  pid_t pid_;
  int socket_;
  Ref<Buffer> slot_;
  std::set<std::uint32_t> functions_;
  bool greeted_ = false;
};

class WorkerPool {
 public:
  /// The one of this process; the child of a fork gets a new one.
  static WorkerPool& instance();

  /// An idle worker, a new one while there are fewer than `most`, or one that
  /// is given back meanwhile. Cancelled if `cancelled` says so.
  StatusOr<std::unique_ptr<Worker>> acquire(
      int most, const std::function<bool()>& cancelled);
  void give_back(std::unique_ptr<Worker> worker);
  /// A worker that acquire() gave is no more.
  void lost();
  /// Starts workers up to `count`, without waiting for them.
  void warm(int count);
  int size() const;
  /// A worker has started and is idle.
  bool ready() const;
  /// Ends all idle workers; others end with their call.
  void shutdown();

 private:
  struct State;
  WorkerPool();
  State* state_;
  friend struct PoolReset;
};

}  // namespace penstock::python
