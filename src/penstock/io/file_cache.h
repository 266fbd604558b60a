// Opened files, at most so many at a time. Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "penstock/io/file.h"

namespace penstock {

class FileCache {
 public:
  explicit FileCache(FileSystem& fs, std::size_t capacity = 128)
      : fs_(fs), capacity_(capacity) {}
  /// Opens it, unless it is open. What was asked for longest ago is let go.
  StatusOr<std::shared_ptr<const ReadableFile>> get(const std::string& path);

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<const ReadableFile> file;
  };
  FileSystem& fs_;
  const std::size_t capacity_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_path_;
};

}  // namespace penstock
