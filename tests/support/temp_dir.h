// A directory of this test process, removed when it ends.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace penstock::testing {

/// A path in it that nothing lies at yet.
inline std::string fresh_path() {
  struct Directory {
    const pid_t owner = ::getpid();
    std::filesystem::path path;
    std::atomic<int> next{0};
    Directory() {
      // Not by the process' number: one that was killed left its own behind.
      std::string name =
          std::filesystem::temp_directory_path() / "penstock-tests-XXXXXX";
      if (::mkdtemp(name.data()) == nullptr) std::abort();
      path = name;
    }
    ~Directory() {
      std::error_code ignored;
      if (::getpid() == owner) std::filesystem::remove_all(path, ignored);
    }
  };
  static Directory directory;
  std::string name = std::to_string(directory.next++);
  // What a child names, its parent does not know of.
  if (::getpid() != directory.owner) {
    name += "-of-" + std::to_string(::getpid());
  }
  return directory.path / name;
}

}  // namespace penstock::testing
