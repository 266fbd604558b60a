// A file as memory, read-only.
//
// A file that shrinks while it is mapped takes its pages with it. They read as
// zeros then (mapping_guard.h), and intact() tells which bytes are still the
// file's: ask after reading. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/base/status.h"
#include "penstock/io/mapping_guard.h"
#include "penstock/memory/buffer.h"

namespace penstock {

class MappedFile {
 public:
  /// The whole file; unmapped when the last user of bytes() is gone.
  static StatusOr<MappedFile> open(const std::string& path);
  /// Memory of its own, which nobody takes away.
  static MappedFile of(Ref<Buffer> bytes);

  const Ref<Buffer>& bytes() const { return bytes_; }
  /// So many bytes, from the first on, have been the file's all the time. Looks
  /// at the file: a system call.
  std::size_t intact() const;

 private:
  std::string path_;
  Ref<Buffer> bytes_;
  GuardedMapping* guard_ = nullptr;  // as long as bytes_
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace penstock
