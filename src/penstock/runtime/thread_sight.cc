#include "penstock/runtime/thread_sight.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace penstock {
namespace {

// The start of a file of /proc/self/task/TID; false when it cannot be read.
bool read_task_file(pid_t tid, const char* name, char* text, std::size_t size) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/%s",
                static_cast<int>(tid), name);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, text, size - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  return true;
}

}  // namespace

ThreadSight look_at_thread(pid_t tid) {
  ThreadSight sight;
  char text[512];
  // "TID (name) STATE ...": the name may contain anything but ends at the last
  // parenthesis.
  if (read_task_file(tid, "stat", text, sizeof(text))) {
    const char* end = std::strrchr(text, ')');
    sight.runnable = end != nullptr && end[1] == ' ' && end[2] == 'R';
  }
  sight.run_delay_ns = run_delay_of_thread(tid);
  return sight;
}

std::int64_t run_delay_of_thread(pid_t tid) {
  char text[128];  // "CPU_NS RUN_DELAY_NS SLICES"
  std::int64_t cpu = 0;
  std::int64_t delay = 0;
  if (!read_task_file(tid, "schedstat", text, sizeof(text)) ||
      std::sscanf(text, "%" SCNd64 " %" SCNd64, &cpu, &delay) != 2) {
    return 0;
  }
  return delay;
}

}  // namespace penstock
