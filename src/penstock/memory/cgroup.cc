#include "penstock/memory/cgroup.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "penstock/base/status.h"

namespace penstock {
namespace {

constexpr std::string_view kMounted = "/sys/fs/cgroup";

/// Numbers that a file begins with: two, one, or none ("max").
struct Numbers {
  std::optional<double> first;
  std::optional<double> second;
};
Numbers read_numbers(const std::string& path) {
  Numbers numbers;
  std::ifstream file(path);
  double number = 0;
  if (file >> number) numbers.first = number;
  if (file >> number) numbers.second = number;
  return numbers;
}

/// Bytes of files that a group's use counts but that the kernel lets go when
/// somebody wants memory: who reads a data set soon has his whole limit in use.
double cached_files(const std::string& folder, std::string_view prefix) {
  std::ifstream file(absl::StrCat(folder, "/memory.stat"));
  double bytes = 0;
  std::string name;
  for (double value = 0; file >> name >> value;) {
    if (!std::string_view(name).starts_with(prefix)) continue;
    const std::string_view kind = std::string_view(name).substr(prefix.size());
    if (kind == "active_file" || kind == "inactive_file") bytes += value;
  }
  return bytes;
}

/// `visit` gets the folder of the group that this process is in under
/// `controller`, or for "" in version 2, and of each group around it. In a
/// container the path may be the host's, of which only the last part, the root
/// of what is mounted, is there.
void visit_groups(const std::string& root, std::string_view controller,
                  const std::function<void(const std::string& folder)>& visit) {
  std::ifstream file(absl::StrCat(root, "/proc/self/cgroup"));
  const std::string wanted = absl::StrCat(",", to_absl(controller), ",");
  std::string own;
  for (std::string line; std::getline(file, line);) {
    // "4:cpu,cpuacct:/path", in version 2 "0::/path".
    const std::size_t names = line.find(':') + 1;
    const std::size_t path = line.find(':', names) + 1;
    if (names == 0 || path == 0) continue;
    const std::string_view all = line;
    const std::string list =
        absl::StrCat(",", to_absl(all.substr(names, path - names - 1)), ",");
    if (list.find(wanted) != std::string::npos) {
      own = line.substr(path);
      break;
    }
  }
  std::string mounted = absl::StrCat(root, to_absl(kMounted));
  if (!controller.empty()) absl::StrAppend(&mounted, "/", to_absl(controller));
  while (!own.empty()) {
    if (own != "/") visit(absl::StrCat(mounted, own));
    own.resize(
        own.find_last_of('/') == std::string::npos ? 0 : own.find_last_of('/'));
  }
  visit(mounted);
}

}  // namespace

double cgroup_cores(const std::string& root) {
  double cores = 0;
  const auto add = [&](std::optional<double> quota,
                       std::optional<double> period) {
    if (!quota || !period || *quota <= 0 || *period <= 0) return;
    const double allowed = *quota / *period;
    cores = cores > 0 ? std::min(cores, allowed) : allowed;
  };
  visit_groups(root, "", [&](const std::string& folder) {
    const Numbers max = read_numbers(absl::StrCat(folder, "/cpu.max"));
    add(max.first, max.second);
  });
  visit_groups(root, "cpu", [&](const std::string& folder) {
    add(read_numbers(absl::StrCat(folder, "/cpu.cfs_quota_us")).first,
        read_numbers(absl::StrCat(folder, "/cpu.cfs_period_us")).first);
  });
  return cores;
}

std::int64_t cgroup_memory(const std::string& root) {
  std::int64_t left = -1;
  const auto add = [&](std::optional<double> limit, std::optional<double> used,
                       double cached) {
    if (!limit || !used || *limit <= 0) return;
    // Version 1 has a number near 2^63 where there is none.
    const double most =
        std::clamp(*limit - std::max(0.0, *used - cached), 0.0, 0x1p62);
    const auto free = static_cast<std::int64_t>(most);
    left = left < 0 ? free : std::min(left, free);
  };
  visit_groups(root, "", [&](const std::string& folder) {
    add(read_numbers(absl::StrCat(folder, "/memory.max")).first,
        read_numbers(absl::StrCat(folder, "/memory.current")).first,
        cached_files(folder, ""));
  });
  visit_groups(root, "memory", [&](const std::string& folder) {
    add(read_numbers(absl::StrCat(folder, "/memory.limit_in_bytes")).first,
        read_numbers(absl::StrCat(folder, "/memory.usage_in_bytes")).first,
        cached_files(folder, "total_"));
  });
  return left;
}

}  // namespace penstock
