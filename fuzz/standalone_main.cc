// Runs a fuzz target without libFuzzer: the empty input, every file under the
// given paths, and PENSTOCK_FUZZ_MUTATIONS (default 200) mutations of each.
//
// The mutations are the same in every run, so a failure here repeats. With
// PENSTOCK_FUZZ_KEEP set, each input is first written to fuzz-last-input.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void run(const Bytes& input) {
  static const bool keep = std::getenv("PENSTOCK_FUZZ_KEEP") != nullptr;
  if (keep) {
    std::ofstream out("fuzz-last-input", std::ios::binary);
    for (std::uint8_t byte : input) out.put(static_cast<char>(byte));
  }
  // A copy of exactly this size: ASan then sees a read one past the end.
  const Bytes exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

Bytes mutate(Bytes bytes, std::mt19937_64& random) {
  const std::size_t edits = 1 + random() % 4;
  for (std::size_t i = 0; i < edits; ++i) {
    const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
    const auto position = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (bytes.empty() ? 2 : random() % 5) {
      case 0:  // one bit
        bytes[at] ^= static_cast<std::uint8_t>(1U << (random() % 8));
        break;
      case 1:  // lengths and counts like extreme bytes
        bytes[at] = random() % 2 == 0 ? 0xFF : 0x00;
        break;
      case 2:
        bytes.insert(position, static_cast<std::uint8_t>(random()));
        break;
      case 3:
        bytes.erase(position);
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (fs::is_regular_file(argv[i])) files.emplace_back(argv[i]);
    if (!fs::is_directory(argv[i])) continue;
    for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());

  std::vector<Bytes> seeds(1);
  for (const fs::path& file : files) seeds.push_back(read(file));

  const char* wanted = std::getenv("PENSTOCK_FUZZ_MUTATIONS");
  const int mutations = wanted != nullptr ? std::atoi(wanted) : 200;
  std::mt19937_64 random(1);
  for (const Bytes& seed : seeds) {
    run(seed);
    for (int i = 0; i < mutations; ++i) run(mutate(seed, random));
  }
  std::printf("%zu seeds, %d mutations of each\n", seeds.size(), mutations);
  return 0;
}
