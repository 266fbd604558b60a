// Opened files, at most so many at a time. Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "penstock/io/file.h"

namespace penstock {

/// All caches of a process together hold at most a quarter of the files that it
/// may have open, but each the one that it opened last: a program may read many
/// datasets of many files, and keeps datasets that it has read.
class FileCache {
 public:
  explicit FileCache(FileSystem& fs, std::size_t capacity = 128)
      : fs_(fs), capacity_(capacity) {}
  ~FileCache();
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;

  /// Opens it, unless it is open. What was asked for longest ago is let go; all
  /// of it where the system has no more files to give.
  StatusOr<std::shared_ptr<const ReadableFile>> get(const std::string& path);

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<const ReadableFile> file;
  };
  StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path);
  void let_go();  // of the last one; with the lock

  FileSystem& fs_;
  const std::size_t capacity_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_path_;
};

}  // namespace penstock
