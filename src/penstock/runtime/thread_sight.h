// What the kernel says about another thread of this process, or a process.
//
// A call that uses little CPU may block, or it may have lost its core to
// somebody else's work. Only the kernel can tell the two apart. A look costs
// some 10 us, the delay alone half of it: for suspects only.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace penstock {

struct ThreadSight {
  /// It runs or could run: it waits for nothing but a core.
  bool runnable = false;
  /// Nanoseconds it has waited for a core so far, the wait under way excepted.
  std::int64_t run_delay_ns = 0;
};

/// Zeros where the kernel does not tell, or when there is no such thread.
ThreadSight look_at_thread(pid_t tid);
std::int64_t run_delay_of_thread(pid_t tid);
/// The same of the main thread of another process.
ThreadSight look_at_process(pid_t pid);
std::int64_t run_delay_of_process(pid_t pid);
/// CPU time of all its threads; 0 when there is no such process.
std::int64_t cpu_time_of_process(pid_t pid);

/// Whether a thread of this process waits for a word of this memory (a futex):
/// for a lock that lies there.
bool waits_in_memory(pid_t tid, std::uintptr_t begin, std::uintptr_t end);

}  // namespace penstock
