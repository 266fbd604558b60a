#include "process_clocks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::python {
namespace {

std::string read_text(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char part[4096];
  ssize_t n = 0;
  while ((n = ::read(fd, part, sizeof(part))) > 0) {
    text.append(part, static_cast<std::size_t>(n));
  }
  close(fd);
  return text;
}

std::vector<int> numbers_in(const std::string& directory) {
  std::vector<int> found;
  DIR* dir = opendir(directory.c_str());
  if (dir == nullptr) return found;
  while (const dirent* entry = readdir(dir)) {
    const int number = std::atoi(entry->d_name);
    if (number > 0) found.push_back(number);
  }
  closedir(dir);
  return found;
}

// Of all that this process started, those that run functions for it; burning
// processes of the user's are others.
bool is_worker(int pid) {
  const std::string text = read_text(absl::StrCat("/proc/", pid, "/cmdline"));
  return text.find("penstock._worker") != std::string::npos;
}

void add_children(int pid, std::vector<int>& found, bool theirs_too) {
  const std::string tasks = absl::StrCat("/proc/", pid, "/task");
  for (const int task : numbers_in(tasks)) {
    const std::string text =
        read_text(absl::StrCat(tasks, "/", task, "/children"));
    const char* at = text.c_str();
    char* end = nullptr;
    for (long child = std::strtol(at, &end, 10); end != at;
         child = std::strtol(at, &end, 10)) {
      at = end;
      found.push_back(static_cast<int>(child));
      if (theirs_too) add_children(static_cast<int>(child), found, true);
    }
  }
}

/// User and system ticks behind the name of /proc/PID/stat.
double stat_ticks(const std::string& text) {
  const std::size_t name = text.rfind(')');
  if (name == std::string::npos) return 0;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  const int got = std::sscanf(
      text.c_str() + name + 1,
      " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
      &user, &system);
  return got == 2 ? static_cast<double>(user + system) : 0;
}

double machine_ticks() {
  cpu_set_t ours;
  CPU_ZERO(&ours);
  sched_getaffinity(0, sizeof(ours), &ours);
  const std::string text = read_text("/proc/stat");
  double ticks = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    int cpu = -1;
    // user nice system idle iowait irq softirq steal
    unsigned long long v[8] = {};
    const std::string line = text.substr(at, end - at);
    if (std::sscanf(
            line.c_str(), "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &cpu,
            &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) >= 8 &&
        cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &ours)) {
      ticks += static_cast<double>(v[0] + v[1] + v[2] + v[5] + v[6] + v[7]);
    }
    at = end + 1;
  }
  return ticks;
}

double throttled_s() {
  const std::string text = read_text("/sys/fs/cgroup/cpu.stat");
  const std::size_t at = text.find("throttled_usec ");
  if (at == std::string::npos) return 0;
  return 1e-6 * std::strtod(text.c_str() + at + 15, nullptr);
}

/// Nanoseconds with a core and without one; -1 when it cannot be read.
struct CoreTime {
  std::int64_t used = -1;
  std::int64_t delayed = -1;
};
CoreTime core_time(const std::string& schedstat) {
  CoreTime time;
  const std::string text = read_text(schedstat);
  if (std::sscanf(text.c_str(), "%" SCNd64 " %" SCNd64, &time.used,
                  &time.delayed) != 2) {
    return {};
  }
  return time;
}

bool is_engine(const std::string& name) {
  return name.rfind("ps-worker", 0) == 0 || name.rfind("ps-spare", 0) == 0;
}

bool is_watcher(const std::string& name) {
  return name.rfind("ps-monitor", 0) == 0 || name.rfind("ps-gil-watch", 0) == 0;
}

}  // namespace

ProcessClocks::Times ProcessClocks::read() {
  const double tick = static_cast<double>(sysconf(_SC_CLK_TCK));
  Times times;
  timespec own{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  times.own =
      static_cast<double>(own.tv_sec) + 1e-9 * static_cast<double>(own.tv_nsec);
  times.machine = machine_ticks() / tick;
  times.throttled = throttled_s();

  bool told = true;
  using Seen = std::unordered_map<int, std::int64_t>;
  const auto since = [&](Seen& seen, int id, std::int64_t now) {
    const auto [at, fresh] = seen.try_emplace(id, first_ ? now : 0);
    return std::max<std::int64_t>(0, now - std::exchange(at->second, now));
  };
  const auto add = [&](int id, const std::string& schedstat) {
    const std::int64_t delay = core_time(schedstat).delayed;
    if (delay < 0) {
      told = false;
      return;
    }
    run_delay_ns_ += since(delays_, id, delay);
  };
  const std::vector<int> tasks = numbers_in("/proc/self/task");
  times.threads = static_cast<int>(tasks.size());
  for (const int task : tasks) {
    const std::string path = absl::StrCat("/proc/self/task/", task);
    const std::string name = read_text(path + "/comm");
    if (is_engine(name)) {
      add(task, path + "/schedstat");
    } else if (is_watcher(name)) {
      const CoreTime time = core_time(path + "/schedstat");
      if (time.used >= 0) watching_ns_ += since(watchers_, task, time.used);
    }
  }
  std::vector<int> started;
  add_children(static_cast<int>(getpid()), started, false);
  std::vector<int> children;
  for (const int child : started) {
    const auto [at, fresh] = workers_.try_emplace(child, false);
    if (fresh) at->second = is_worker(child);
    if (!at->second) continue;
    children.push_back(child);
    add_children(child, children, true);
  }
  for (const int child : children) {
    const std::string path = absl::StrCat("/proc/", child);
    const double used = stat_ticks(read_text(path + "/stat")) / tick;
    times.own += used;
    add(child, path + "/schedstat");
    const std::int64_t main = core_time(path + "/schedstat").used;
    if (main >= 0) {
      times.beside += std::max(0.0, used - 1e-9 * static_cast<double>(main));
    }
    const auto all = static_cast<int>(numbers_in(path + "/task").size());
    times.threads += std::max(0, all - 1);
  }
  first_ = false;
  times.run_delay = told ? 1e-9 * static_cast<double>(run_delay_ns_) : -1;
  times.watching = 1e-9 * static_cast<double>(watching_ns_);
  return times;
}

}  // namespace penstock::python
