#include "penstock/runtime/cpu_budget.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "penstock/memory/cgroup.h"

namespace penstock {
int detect_cpu_budget() {
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t set;
  CPU_ZERO(&set);
  // Of the main thread: that is the one which `taskset -p` changes.
  if (sched_getaffinity(getpid(), sizeof(set), &set) == 0) {
    cores = CPU_COUNT(&set);
  }
  const double quota = cgroup_cores();
  if (quota > 0) cores = std::min(cores, static_cast<int>(std::ceil(quota)));
  return std::max(1, cores);
}

}  // namespace penstock
