// A directory of this test process, removed when it ends.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

namespace penstock::testing {

/// A path in it that nothing lies at yet.
inline std::string fresh_path() {
  struct Directory {
    const pid_t owner = ::getpid();
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() /
        ("penstock-tests-" + std::to_string(owner));
    std::atomic<int> next{0};
    Directory() { std::filesystem::create_directories(path); }
    ~Directory() {
      std::error_code ignored;
      if (::getpid() == owner) std::filesystem::remove_all(path, ignored);
    }
  };
  static Directory directory;
  return directory.path / std::to_string(directory.next++);
}

}  // namespace penstock::testing
