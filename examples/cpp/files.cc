// Many small files, read by a function that blocks.
//
// The function looks like any other; the engine notices that its calls wait
// for the disk (here: a pretended slow store) instead of computing and lets
// more of them run at once. A file that is missing is skipped and counted.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "penstock/penstock.h"

namespace ps = penstock;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kFiles = 200;

fs::path path_of(const fs::path& folder, std::int64_t i) {
  return folder / ("part-" + std::to_string(i) + ".txt");
}

ps::StatusOr<std::string> read_file(const fs::path& path) {
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // a slow store
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::NotFoundError("no file " + path.filename().string());
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

int main() {
  const fs::path folder =
      fs::temp_directory_path() /
      ("penstock-files-" +
       std::to_string(
           std::chrono::steady_clock::now().time_since_epoch().count()));
  fs::create_directories(folder);
  for (std::int64_t i = 0; i < kFiles; ++i) {
    if (i == 13) continue;  // one is missing
    std::ofstream(path_of(folder, i)) << "contents of file " << i;
  }

  const auto ds =
      ps::Dataset::range(kFiles)
          .map([folder](
                   std::int64_t i) { return read_file(path_of(folder, i)); },
               {.on_error = ps::ErrorPolicy::skip(/*limit=*/5), .name = "read"})
          .map([](std::string_view text) {
            return static_cast<std::int64_t>(text.size());
          })
          .batch(50);

  const auto start = std::chrono::steady_clock::now();
  ps::Iterator it = ds.iterator();
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  while (const auto batch = it.next()) {
    for (const std::int64_t size : (*batch)[0].as<std::int64_t>()) {
      ++files;
      bytes += size;
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  fs::remove_all(folder);

  std::printf("%s\n", it.stats().to_string().c_str());
  std::printf(
      "%lld files, %lld bytes in %.2f s; one after the other they "
      "would take %.2f s\n",
      static_cast<long long>(files), static_cast<long long>(bytes), seconds,
      static_cast<double>(kFiles) * 0.010);
  return files == kFiles - 1 ? 0 : 1;
}
