// CPU time of this process, its workers and the machine, and how long engine
// threads waited for a core: read from /proc in one go, without the GIL.
//
// In Python each of these files would give the GIL up and wait for it again,
// which beside a GIL-bound pipeline takes longer than what is measured.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace penstock::python {

class ProcessClocks {
 public:
  struct Times {
    double own = 0;        // this process and its workers
    double machine = 0;    // everybody, on the cores we may use
    double throttled = 0;  // of the container, by its quota
    /// Threads of the engine and worker processes could run but had no core;
    /// -1 where the kernel does not tell.
    double run_delay = -1;
    /// Of this process, and of its workers those beside their main threads.
    /// What a function starts has the name of the engine's thread that called
    /// it.
    int threads = 0;
    /// CPU time of worker processes beside their main threads, which call.
    double beside = 0;
    /// Threads that run no function: the engine's monitor, the GIL's watcher.
    double watching = 0;
  };
  /// So far; run_delay and watching since the first call of this object.
  Times read();

 private:
  std::unordered_map<int, std::int64_t> delays_;    // by thread
  std::unordered_map<int, std::int64_t> watchers_;  // CPU time
  std::unordered_map<int, bool> workers_;           // by child
  std::int64_t run_delay_ns_ = 0;
  std::int64_t watching_ns_ = 0;
  bool first_ = true;
};

}  // namespace penstock::python
