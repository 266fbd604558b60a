// FileCache: how many files stay open, also where the system has few.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "penstock/io/file_cache.h"
#include "tests/support/temp_dir.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::size_t open_files() {
  std::size_t n = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    static_cast<void>(entry);
    ++n;
  }
  return n;
}

class OpenFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    for (int i = 0; i < 300; ++i) std::ofstream(path(i)) << i;
    getrlimit(RLIMIT_NOFILE, &before_);
  }
  void TearDown() override {
    setrlimit(RLIMIT_NOFILE, &before_);
    fs::remove_all(folder_);
  }
  std::string path(int i) const { return folder_ + "/" + std::to_string(i); }
  void limit(std::size_t files) const {
    rlimit now = before_;
    now.rlim_cur = files;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
  }

  const std::string folder_ = testing::fresh_path();
  rlimit before_{};
};

TEST_F(OpenFiles, CachesTogetherHoldAQuarterOfWhatMayBeOpen) {
  const std::size_t others = open_files();
  limit(400);
  {
    std::vector<std::unique_ptr<FileCache>> caches;
    for (int c = 0; c < 20; ++c) {
      caches.push_back(std::make_unique<FileCache>(FileSystem::local()));
      for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(caches.back()->get(path(i)).ok()) << c << " " << i;
      }
    }
    EXPECT_LE(open_files(), others + 100 + caches.size());
    // Each has its last one still.
    EXPECT_EQ(caches.back()->get(path(299))->get(),
              caches.back()->get(path(299))->get());
  }
  EXPECT_EQ(open_files(), others);
}

TEST_F(OpenFiles, WhatIsHeldIsLetGoWhereTheSystemHasNoMore) {
#ifdef PENSTOCK_SANITIZED
  GTEST_SKIP() << "UBSan asks through a pipe whether memory is there";
#endif
  const std::size_t others = open_files();
  FileCache cache(FileSystem::local());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(cache.get(path(i)).ok());
  limit(others + 20);
  for (int i = 20; i < 300; ++i) {
    const auto file = cache.get(path(i));
    ASSERT_TRUE(file.ok()) << i << " " << file.status();
    EXPECT_EQ(*(*file)->size(), std::to_string(i).size());
  }
}

}  // namespace
}  // namespace penstock
