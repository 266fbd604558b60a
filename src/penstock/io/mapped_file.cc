#include "penstock/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace penstock {

StatusOr<Ref<Buffer>> map_file(const std::string& path) {
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
    return Buffer::allocate(1);
  }
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (data == MAP_FAILED) {
    return make_error(StatusCode::kResourceExhausted, "cannot map '", path,
                      "': ", std::strerror(error));
  }
  return Buffer::external(data, size, [data, size] { ::munmap(data, size); });
}

}  // namespace penstock
