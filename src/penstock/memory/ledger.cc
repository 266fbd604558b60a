#include "penstock/memory/ledger.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "penstock/memory/cgroup.h"

namespace penstock {
namespace {

std::int64_t available_from_meminfo() {
  std::FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return std::int64_t{4} << 30;
  char line[128];
  std::int64_t kib = -1;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::strncmp(line, "MemAvailable:", 13) == 0) {
      kib = std::strtoll(line + 13, nullptr, 10);
      break;
    }
  }
  std::fclose(file);
  return kib < 0 ? std::int64_t{4} << 30 : kib * 1024;
}

// Memory that the cgroup may still use, or the machine's.
std::int64_t available_memory() {
  const std::int64_t machine = available_from_meminfo();
  const std::int64_t group = cgroup_memory();
  return group < 0 ? machine : std::min(machine, group);
}

thread_local Settlement* t_settlement = nullptr;

}  // namespace

Settlement::Settlement(Account& account)
    : account_(account), outer_(std::exchange(t_settlement, this)) {}

Settlement::~Settlement() {
  t_settlement = outer_;
  account_.add(net_);
}

void Account::add(std::int64_t bytes) {
  if (bytes == 0) return;
  if (t_settlement != nullptr && &t_settlement->account_ == this) {
    t_settlement->net_ += bytes;
  } else {
    enter(bytes);
  }
}

void Account::enter(std::int64_t bytes) {
  const std::int64_t now =
      used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak &&
         !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  if (parent_) parent_->add(bytes);
}

std::int64_t Account::available() const {
  std::int64_t free = budget_ - used();
  if (parent_) free = std::min(free, parent_->available());
  return free;
}

Account& Account::process() {
  static auto* const account = new Account(
      std::max<std::int64_t>(std::int64_t{64} << 20, available_memory() / 4));
  return *account;
}

}  // namespace penstock
