// Files: a small interface that tests and simulations can stand in for.
//
// Readers are thread-safe (positioned reads); a writer belongs to one thread.
// Calls block. Errors carry the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/base/status.h"

namespace penstock {

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual StatusOr<std::int64_t> size() const = 0;
  /// Reads at most out.size() bytes; fewer only where the file ends, or when
  /// the system gives fewer. 0 at the end.
  virtual StatusOr<std::size_t> read_at(std::int64_t offset,
                                        std::span<std::byte> out) const = 0;
  /// The same into several places, one filled after the other.
  virtual StatusOr<std::size_t> read_parts(
      std::int64_t offset, std::span<const std::span<std::byte>> parts) const;
  /// These bytes will be read soon: a hint, returns at once.
  virtual void will_need(std::int64_t /*offset*/, std::int64_t /*size*/) const {
  }
  /// A read has a cost of its own (a network): fewer and larger ones pay.
  virtual bool remote() const { return false; }
};

struct FileInfo {
  std::int64_t size = 0;
  /// Of the last change; 0 where nobody knows.
  std::int64_t modified_ns = 0;
  bool directory = false;
};

struct DirectoryEntry {
  std::string name;
  bool directory = false;  // or a link to one
  bool link = false;
};

class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status append(std::string_view bytes) = 0;
  /// What was appended is on the device.
  virtual Status sync() = 0;
};

/// Held until destroyed; ends with the process, however that ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual StatusOr<std::unique_ptr<ReadableFile>> open(
      const std::string& path) = 0;
  /// A new file; AlreadyExists if there is one.
  virtual StatusOr<std::unique_ptr<WritableFile>> create(
      const std::string& path) = 0;
  /// Atomically, replacing `to`; durable on return.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;
  virtual Status make_directories(const std::string& path) = 0;
  /// AlreadyExists while another holder lives, in this process or another.
  virtual StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  /// NotFound if there is nothing at `path`.
  virtual StatusOr<FileInfo> info(const std::string& path);
  /// What lies in a directory, in any order, without "." and "..".
  virtual StatusOr<std::vector<DirectoryEntry>> list(const std::string& path);

  /// The machine's own; names with http:// or https:// can be read (http.h).
  static FileSystem& local();
};

/// Exactly out.size() bytes; DataLoss if the file ends before.
Status read_fully(const ReadableFile& file, std::int64_t offset,
                  std::span<std::byte> out);

/// A file that appears under its name complete, or not at all: it is written
/// beside it and renamed.
class AtomicFile {
 public:
  static StatusOr<std::unique_ptr<AtomicFile>> create(FileSystem& fs,
                                                      std::string path);
  /// Removes what processes that are gone left unfinished of `path`. As far as
  /// that can be done: it is in nobody's way.
  static void remove_left_over(FileSystem& fs, const std::string& path);
  /// Removes what was written, unless commit() succeeded.
  ~AtomicFile();
  Status append(std::string_view bytes);
  std::int64_t size() const { return size_; }
  /// All is written, and nothing can be added: what commit() is left with is
  /// the name.
  Status seal();
  Status commit();

 private:
  AtomicFile() = default;
  FileSystem* fs_ = nullptr;
  std::string path_;
  std::string temporary_;
  std::unique_ptr<WritableFile> file_;
  std::int64_t size_ = 0;
  bool committed_ = false;
};

}  // namespace penstock
