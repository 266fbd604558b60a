#include "penstock/runtime/thread_sight.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace penstock {
namespace {

constexpr char kThreads[] = "/proc/self/task";
constexpr char kProcesses[] = "/proc";

// The start of a file of FOLDER/ID; false when it cannot be read.
bool read_task_file(const char* folder, pid_t id, const char* name, char* text,
                    std::size_t size) {
  char path[64];
  std::snprintf(path, sizeof(path), "%s/%d/%s", folder, static_cast<int>(id),
                name);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, text, size - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  return true;
}

std::int64_t run_delay(const char* folder, pid_t id) {
  char text[128];  // "CPU_NS RUN_DELAY_NS SLICES"
  std::int64_t cpu = 0;
  std::int64_t delay = 0;
  if (!read_task_file(folder, id, "schedstat", text, sizeof(text)) ||
      std::sscanf(text, "%" SCNd64 " %" SCNd64, &cpu, &delay) != 2) {
    return 0;
  }
  return delay;
}

ThreadSight look(const char* folder, pid_t id) {
  ThreadSight sight;
  char text[512];
  // "TID (name) STATE ...": the name may contain anything but ends at the last
  // parenthesis.
  if (read_task_file(folder, id, "stat", text, sizeof(text))) {
    const char* end = std::strrchr(text, ')');
    sight.runnable = end != nullptr && end[1] == ' ' && end[2] == 'R';
  }
  sight.run_delay_ns = run_delay(folder, id);
  return sight;
}

}  // namespace

ThreadSight look_at_thread(pid_t tid) { return look(kThreads, tid); }
std::int64_t run_delay_of_thread(pid_t tid) { return run_delay(kThreads, tid); }
ThreadSight look_at_process(pid_t pid) { return look(kProcesses, pid); }
std::int64_t run_delay_of_process(pid_t pid) {
  return run_delay(kProcesses, pid);
}

std::int64_t cpu_time_of_process(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 ||
      clock_gettime(clock, &time) != 0) {
    return 0;
  }
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool waits_in_memory(pid_t tid, std::uintptr_t begin, std::uintptr_t end) {
  char text[256];  // "NUMBER 0xARGUMENT ...", or "running"
  long number = 0;
  std::uint64_t word = 0;
  return begin < end &&
         read_task_file(kThreads, tid, "syscall", text, sizeof(text)) &&
         std::sscanf(text, "%ld 0x%" SCNx64, &number, &word) == 2 &&
         number == SYS_futex && word >= begin && word < end;
}

}  // namespace penstock
