// Files for examples and tests, each written once per process: the path is part
// of the graph, and a state must fit a dataset that is built again.
#pragma once

#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "tests/support/temp_dir.h"

namespace penstock::testing {

/// The path of the file `name`, made by `write(path)` when asked for first.
inline std::string made_once(
    const std::string& name,
    const std::function<void(const std::string&)>& write) {
  static auto* const mutex = new std::mutex;
  static auto* const paths = new std::map<std::string, std::string>;
  const std::lock_guard<std::mutex> lock(*mutex);
  std::string& path = (*paths)[name];
  if (path.empty()) {
    path = fresh_path();
    write(path);
  }
  return path;
}

/// The same for plain bytes.
inline std::string file_with(const std::string& name,
                             const std::string& bytes) {
  return made_once(name, [&](const std::string& path) {
    std::ofstream(path, std::ios::binary) << bytes;
  });
}

}  // namespace penstock::testing
