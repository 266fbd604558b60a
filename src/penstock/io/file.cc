#include "penstock/io/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>

#include "penstock/base/work_counters.h"
#include "penstock/io/http.h"

namespace penstock {
namespace {

Status errno_status(int error, std::string_view what, const std::string& path) {
  StatusCode code = StatusCode::kUnknown;
  switch (error) {
    case EINVAL:
      code = StatusCode::kInvalidArgument;
      break;
    case ENOENT:
    case ENOTDIR:
      code = StatusCode::kNotFound;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = StatusCode::kPermissionDenied;
      break;
    case EEXIST:
      code = StatusCode::kAlreadyExists;
      break;
    case EISDIR:
    case ELOOP:
    case ESPIPE:
      code = StatusCode::kFailedPrecondition;
      break;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      code = StatusCode::kResourceExhausted;
      break;
    case EIO:
      code = StatusCode::kDataLoss;
      break;
    default:
      break;
  }
  return make_error(code, to_absl(what), " ", quoted_name(path), ": ",
                    std::strerror(error));
}

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// The system would stop at a NUL byte, and take another file.
bool names_a_file(const std::string& path) {
  if (path.find('\0') == std::string::npos) return true;
  errno = EINVAL;
  return false;
}

Fd open_fd(const std::string& path, int flags, mode_t mode = 0) {
  int fd = -1;
  if (!names_a_file(path)) return Fd();
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return Fd(fd);
}

/// Files are read by place and to their size: a pipe has neither, nor do most
/// devices. The null device is a file of no bytes. What a directory is not,
/// reading says.
Status check_has_places(const Fd& fd, const std::string& path) {
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) {
    return errno_status(errno, "cannot look at", path);
  }
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return absl::OkStatus();
  if (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3)) {
    return absl::OkStatus();
  }
  return make_error(
      StatusCode::kFailedPrecondition, "cannot read ", quoted_name(path),
      S_ISFIFO(info.st_mode) ? ": it is a pipe" : ": it is a device",
      ", and files are read at any place; copy it into a file first");
}

class LocalReadable final : public ReadableFile {
 public:
  LocalReadable(Fd fd, std::string path)
      : fd_(std::move(fd)), path_(std::move(path)) {}
  StatusOr<std::int64_t> size() const override {
    struct stat info = {};
    if (::fstat(fd_.get(), &info) != 0) {
      return errno_status(errno, "cannot look at", path_);
    }
    return static_cast<std::int64_t>(info.st_size);
  }
  StatusOr<std::size_t> read_at(std::int64_t offset,
                                std::span<std::byte> out) const override {
    WorkCounters& counters = work_counters();
    const TimeInto timer(counters.read_ns);
    for (;;) {
      const ssize_t n = ::pread(fd_.get(), out.data(), out.size(), offset);
      if (n >= 0) {
        counters.read_bytes += n;
        return static_cast<std::size_t>(n);
      }
      if (errno != EINTR) return errno_status(errno, "cannot read", path_);
    }
  }
  StatusOr<std::size_t> read_parts(
      std::int64_t offset,
      std::span<const std::span<std::byte>> parts) const override {
    WorkCounters& counters = work_counters();
    const TimeInto timer(counters.read_ns);
    std::vector<iovec> places;
    for (const std::span<std::byte> part :
         parts.first(std::min<std::size_t>(parts.size(), IOV_MAX))) {
      places.push_back({part.data(), part.size()});
    }
    for (;;) {
      const ssize_t n = ::preadv(fd_.get(), places.data(),
                                 static_cast<int>(places.size()), offset);
      if (n >= 0) {
        counters.read_bytes += n;
        return static_cast<std::size_t>(n);
      }
      if (errno != EINTR) return errno_status(errno, "cannot read", path_);
    }
  }
  void will_need(std::int64_t offset, std::int64_t size) const override {
    (void)::posix_fadvise(fd_.get(), offset, size, POSIX_FADV_WILLNEED);
  }

 private:
  Fd fd_;
  std::string path_;
};

class LocalWritable final : public WritableFile {
 public:
  LocalWritable(Fd fd, std::string path)
      : fd_(std::move(fd)), path_(std::move(path)) {}
  Status append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno_status(errno, "cannot write", path_);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return absl::OkStatus();
  }
  Status sync() override {
    if (::fsync(fd_.get()) != 0) {
      return errno_status(errno, "cannot sync", path_);
    }
    return absl::OkStatus();
  }

 private:
  Fd fd_;
  std::string path_;
};

// flock() belongs to the open file: it keeps out other threads too, and the
// system lets go of it when the process dies.
class LocalLock final : public FileLock {
 public:
  LocalLock(Fd fd, std::string path)
      : fd_(std::move(fd)), path_(std::move(path)) {}
  ~LocalLock() override { ::unlink(path_.c_str()); }

 private:
  Fd fd_;
  std::string path_;
};

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

class LocalFileSystem final : public FileSystem {
 public:
  StatusOr<std::unique_ptr<ReadableFile>> open(
      const std::string& path) override {
    if (is_http(path)) return open_http(path);
    WorkCounters& counters = work_counters();
    ++counters.opens;
    const TimeInto timer(counters.open_ns);
    // Opening a pipe would wait for somebody to write into it.
    Fd fd = open_fd(path, O_RDONLY | O_NONBLOCK);
    if (!fd.valid()) return errno_status(errno, "cannot open", path);
    PS_RETURN_IF_ERROR(check_has_places(fd, path));
    return std::make_unique<LocalReadable>(std::move(fd), path);
  }
  StatusOr<std::unique_ptr<WritableFile>> create(
      const std::string& path) override {
    if (is_http(path)) {
      return invalid_argument("cannot write ", quoted_name(path),
                              ": files of the net are only read");
    }
    Fd fd = open_fd(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    // The file's name is often not the one that the user gave.
    if (!fd.valid() && errno == ENOENT) {
      return errno_status(ENOENT, "cannot write into", directory_of(path));
    }
    if (!fd.valid()) return errno_status(errno, "cannot create", path);
    return std::make_unique<LocalWritable>(std::move(fd), path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) {
      return errno_status(errno, "cannot rename to", to);
    }
    const std::string directory = directory_of(to);
    const Fd fd = open_fd(directory, O_RDONLY | O_DIRECTORY);
    if (!fd.valid() || ::fsync(fd.get()) != 0) {
      return errno_status(errno, "cannot sync", directory);
    }
    return absl::OkStatus();
  }
  Status remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) {
      return errno_status(errno, "cannot remove", path);
    }
    return absl::OkStatus();
  }
  Status make_directories(const std::string& path) override {
    for (std::size_t at = 1; at <= path.size(); ++at) {
      if (at < path.size() && path[at] != '/') continue;
      const std::string part = path.substr(0, at);
      if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
        return errno_status(errno, "cannot make directory", part);
      }
    }
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
      return errno_status(ENOTDIR, "cannot make directory", path);
    }
    return absl::OkStatus();
  }
  StatusOr<FileInfo> info(const std::string& path) override {
    if (is_http(path)) return http_info(path);
    struct stat info = {};
    if (!names_a_file(path) || ::stat(path.c_str(), &info) != 0) {
      return errno_status(errno, "cannot look at", path);
    }
    return FileInfo{
        static_cast<std::int64_t>(info.st_size),
        static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 +
            static_cast<std::int64_t>(info.st_mtim.tv_nsec),
        S_ISDIR(info.st_mode)};
  }
  StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()),
                                                        ::closedir);
    if (!directory) return errno_status(errno, "cannot list", path);
    std::vector<DirectoryEntry> out;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(directory.get());
      if (entry == nullptr) {
        if (errno != 0) return errno_status(errno, "cannot list", path);
        return out;
      }
      DirectoryEntry found{entry->d_name, entry->d_type == DT_DIR,
                           entry->d_type == DT_LNK};
      if (found.name == "." || found.name == "..") continue;
      if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
        const auto what = info(absl::StrCat(path, "/", found.name));
        found.directory = what.ok() && what->directory;
      }
      out.push_back(std::move(found));
    }
  }
  StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    for (;;) {
      Fd fd = open_fd(path, O_RDWR | O_CREAT, 0666);
      if (!fd.valid()) return errno_status(errno, "cannot create", path);
      if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno == EWOULDBLOCK) {
          return absl::AlreadyExistsError(
              absl::StrCat("'", path, "' is held by another writer"));
        }
        return errno_status(errno, "cannot lock", path);
      }
      // The holder before us removes the file as it leaves: what we hold must
      // still be what the name means.
      struct stat held = {};
      struct stat named = {};
      if (::fstat(fd.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
          held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
        return std::make_unique<LocalLock>(std::move(fd), path);
      }
    }
  }
};

}  // namespace

StatusOr<FileInfo> FileSystem::info(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const auto file, open(path));
  PS_ASSIGN_OR_RETURN(const std::int64_t size, file->size());
  return FileInfo{size, 0, false};
}

StatusOr<std::vector<DirectoryEntry>> FileSystem::list(
    const std::string& path) {
  return absl::UnimplementedError(
      absl::StrCat("cannot list '", path, "' on this file system"));
}

FileSystem& FileSystem::local() {
  static auto* const fs = new LocalFileSystem;
  return *fs;
}

StatusOr<std::size_t> ReadableFile::read_parts(
    std::int64_t offset, std::span<const std::span<std::byte>> parts) const {
  std::size_t have = 0;
  for (const std::span<std::byte> part : parts) {
    const auto n = read_at(offset + static_cast<std::int64_t>(have), part);
    if (!n.ok()) {
      if (have > 0) break;
      return n.status();
    }
    have += *n;
    if (*n < part.size()) break;
  }
  return have;
}

Status read_fully(const ReadableFile& file, std::int64_t offset,
                  std::span<std::byte> out) {
  while (!out.empty()) {
    PS_ASSIGN_OR_RETURN(const std::size_t n, file.read_at(offset, out));
    if (n == 0) {
      return absl::DataLossError(absl::StrCat("the file ends at ", offset, ", ",
                                              out.size(), " bytes too early"));
    }
    offset += static_cast<std::int64_t>(n);
    out = out.subspan(n);
  }
  return absl::OkStatus();
}

namespace {

/// What the temporary files of `path` begin with, in front of the process and a
/// number. Hidden: no pattern finds what is not finished.
std::string temporary_stem(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1;  // 0 if there is none
  return absl::StrCat(path.substr(0, name), ".", path.substr(name), ".tmp.");
}

}  // namespace

void AtomicFile::remove_left_over(FileSystem& fs, const std::string& path) {
  const std::string stem = temporary_stem(path);
  const std::size_t name = stem.rfind('/') + 1;
  const auto entries = fs.list(directory_of(path));
  if (!entries.ok()) return;
  for (const DirectoryEntry& entry : *entries) {
    std::string_view rest = entry.name;
    if (!rest.starts_with(std::string_view(stem).substr(name))) continue;
    rest.remove_prefix(stem.size() - name);
    pid_t process = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), process);
    if (error != std::errc() || process <= 0 ||
        end == rest.data() + rest.size() || *end != '.') {
      continue;
    }
    if (::kill(process, 0) != 0 && errno == ESRCH) {
      fs.remove(stem.substr(0, name) + entry.name).IgnoreError();
    }
  }
}

StatusOr<std::unique_ptr<AtomicFile>> AtomicFile::create(FileSystem& fs,
                                                         std::string path) {
  static std::atomic<std::uint64_t> count{0};
  std::unique_ptr<AtomicFile> file(new AtomicFile);
  file->fs_ = &fs;
  file->path_ = std::move(path);
  // Left-overs of a dead process with our number are in the way at most once
  // each.
  for (int attempt = 0;; ++attempt) {
    file->temporary_ =
        absl::StrCat(temporary_stem(file->path_), ::getpid(), ".", count++);
    auto created = fs.create(file->temporary_);
    if (created.ok()) {
      file->file_ = *std::move(created);
      // Said now, not when all is written; an address, which to ask takes time,
      // does not come so far.
      if (const auto info = fs.info(file->path_);
          info.ok() && info->directory) {
        return errno_status(EISDIR, "cannot write", file->path_);
      }
      return file;
    }
    if (created.status().code() != StatusCode::kAlreadyExists ||
        attempt == 1000) {
      file->temporary_.clear();
      return created.status();
    }
  }
}

AtomicFile::~AtomicFile() {
  file_.reset();
  if (!committed_ && !temporary_.empty()) fs_->remove(temporary_).IgnoreError();
}

Status AtomicFile::append(std::string_view bytes) {
  size_ += static_cast<std::int64_t>(bytes.size());
  return file_->append(bytes);
}

Status AtomicFile::seal() {
  if (file_ == nullptr) return absl::OkStatus();
  PS_RETURN_IF_ERROR(file_->sync());
  file_.reset();
  return absl::OkStatus();
}

Status AtomicFile::commit() {
  PS_RETURN_IF_ERROR(seal());
  PS_RETURN_IF_ERROR(fs_->rename(temporary_, path_));
  committed_ = true;
  return absl::OkStatus();
}

}  // namespace penstock
