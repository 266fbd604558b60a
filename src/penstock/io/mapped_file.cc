#include "penstock/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace penstock {

StatusOr<MappedFile> MappedFile::open(const std::string& path) {
  // Without waiting for somebody to write into a pipe.
  const int fd = path.find('\0') == std::string::npos
                     ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                     : (errno = EINVAL, -1);
  struct stat info = {};
  if (fd < 0 || ::fstat(fd, &info) != 0) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    return make_error(error == ENOENT   ? StatusCode::kNotFound
                      : error == EACCES ? StatusCode::kPermissionDenied
                                        : StatusCode::kUnknown,
                      "cannot open '", path, "': ", std::strerror(error));
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    if (S_ISDIR(info.st_mode)) {
      return make_error(StatusCode::kFailedPrecondition, "cannot read '", path,
                        "': ", std::strerror(EISDIR));
    }
    if (!S_ISREG(info.st_mode)) {
      return invalid_argument("'", path, "' is not a file");
    }
    return of(Buffer::allocate(1));
  }
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (data == MAP_FAILED) {
    return make_error(StatusCode::kResourceExhausted, "cannot map '", path,
                      "': ", std::strerror(error));
  }
  GuardedMapping* const guard = guard_mapping(data, size);
  MappedFile out = of(Buffer::external(data, size, [data, size, guard] {
    end_guard(guard);
    ::munmap(data, size);
  }));
  out.path_ = path;
  out.guard_ = guard;
  out.device_ = info.st_dev;
  out.inode_ = info.st_ino;
  return out;
}

MappedFile MappedFile::of(Ref<Buffer> bytes) {
  MappedFile out;
  out.bytes_ = std::move(bytes);
  return out;
}

std::size_t MappedFile::intact() const {
  if (guard_ == nullptr) return bytes_->size();
  struct stat info = {};
  // One that is gone, or has another in its place, keeps its bytes.
  if (::stat(path_.c_str(), &info) == 0 && info.st_dev == device_ &&
      info.st_ino == inode_) {
    note_intact(guard_, static_cast<std::size_t>(info.st_size));
  }
  return guard_->intact.load();
}

}  // namespace penstock
