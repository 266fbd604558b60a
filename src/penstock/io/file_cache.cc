#include "penstock/io/file_cache.h"

namespace penstock {

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
  PS_ASSIGN_OR_RETURN(auto opened, fs_.open(path));
  std::shared_ptr<const ReadableFile> file = std::move(opened);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = by_path_.find(path); found != by_path_.end()) {
    return found->second->file;
  }
  entries_.push_front({path, file});
  by_path_[path] = entries_.begin();
  if (entries_.size() > capacity_) {
    by_path_.erase(entries_.back().path);
    entries_.pop_back();
  }
  return file;
}

}  // namespace penstock
