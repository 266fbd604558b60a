#include "penstock/io/file_cache.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>

namespace penstock {
namespace {

// A count and no common list: a lock that all caches share could be held where
// the process forks.
std::atomic<std::size_t> g_held{0};

std::size_t most_held() {
  constexpr rlim_t kLeast = 64;
  constexpr rlim_t kMost = 2048;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = kLeast;
  return static_cast<std::size_t>(std::clamp(limit.rlim_cur, kLeast, kMost) /
                                  4);
}

}  // namespace

FileCache::~FileCache() { g_held -= entries_.size(); }

void FileCache::let_go() {
  by_path_.erase(entries_.back().path);
  entries_.pop_back();
  --g_held;
}

StatusOr<std::unique_ptr<ReadableFile>> FileCache::open(
    const std::string& path) {
  auto opened = fs_.open(path);
  if (opened.ok() || opened.status().code() != StatusCode::kResourceExhausted) {
    return opened;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!entries_.empty()) let_go();
  }
  return fs_.open(path);
}

StatusOr<std::shared_ptr<const ReadableFile>> FileCache::get(
    const std::string& path) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = by_path_.find(path); found != by_path_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->file;
    }
  }
  // Without the lock: opening may take long.
  PS_ASSIGN_OR_RETURN(auto opened, open(path));
  std::shared_ptr<const ReadableFile> file = std::move(opened);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = by_path_.find(path); found != by_path_.end()) {
    return found->second->file;
  }
  entries_.push_front({path, file});
  by_path_[path] = entries_.begin();
  ++g_held;
  while (entries_.size() > 1 &&
         (entries_.size() > capacity_ || g_held > most_held())) {
    let_go();
  }
  return file;
}

}  // namespace penstock
