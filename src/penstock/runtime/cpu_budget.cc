#include "penstock/runtime/cpu_budget.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

namespace penstock {
namespace {

// Cores of a quota/period pair, or 0 when there is no limit.
double read_quota_v2(const char* path) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  double quota = 0;
  double period = 0;
  const int fields = std::fscanf(file, "%lf %lf", &quota, &period);
  std::fclose(file);
  return fields == 2 && period > 0 ? quota / period : 0;
}

double read_one(const char* path) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  double value = 0;
  const int fields = std::fscanf(file, "%lf", &value);
  std::fclose(file);
  return fields == 1 ? value : 0;
}

}  // namespace

int detect_cpu_budget() {
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t set;
  CPU_ZERO(&set);
  // Of the main thread: that is the one which `taskset -p` changes.
  if (sched_getaffinity(getpid(), sizeof(set), &set) == 0) {
    cores = CPU_COUNT(&set);
  }
  double quota = read_quota_v2("/sys/fs/cgroup/cpu.max");
  if (quota <= 0) {
    const double us = read_one("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    const double period = read_one("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (us > 0 && period > 0) quota = us / period;
  }
  if (quota > 0) cores = std::min(cores, static_cast<int>(std::ceil(quota)));
  return std::max(1, cores);
}

}  // namespace penstock
