#include "penstock/io/glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GlobMatch, FollowsTheShell) {
  EXPECT_TRUE(glob_match("*.jpg", "a.jpg"));
  EXPECT_FALSE(glob_match("*.jpg", "a.jpeg"));
  EXPECT_TRUE(glob_match("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(glob_match("a*b*c", "aXbYbZ"));
  EXPECT_TRUE(glob_match("?b", "ab"));
  EXPECT_FALSE(glob_match("?b", "b"));
  EXPECT_TRUE(glob_match("[a-c]1", "b1"));
  EXPECT_FALSE(glob_match("[!a-c]1", "b1"));
  EXPECT_TRUE(glob_match("[]]", "]"));
  EXPECT_TRUE(glob_match("a[", "a["));
  EXPECT_FALSE(glob_match("*", ".hidden"));
  EXPECT_TRUE(glob_match(".*", ".hidden"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("", ""));
  // Would take for ever if each star tried everything again.
  EXPECT_FALSE(glob_match("a*a*a*a*a*a*a*a*b", std::string(500, 'a')));
}

class Glob : public ::testing::Test {
 protected:
  Glob() {
    namespace fs = std::filesystem;
    fs::create_directories(root_ + "/x/y");
    fs::create_directories(root_ + "/z");
    for (const char* name : {"/b.txt", "/a.txt", "/x/c.txt", "/x/y/d.txt",
                             "/z/e.bin", "/.h.txt"}) {
      std::ofstream(root_ + name) << "1";
    }
    fs::create_directory_symlink(root_, root_ + "/x/loop");
  }
  std::vector<std::string> found(const std::string& pattern) {
    auto names = glob(FileSystem::local(), root_ + pattern);
    EXPECT_TRUE(names.ok()) << names.status();
    for (std::string& n : *names) n = n.substr(root_.size());
    return *names;
  }
  const std::string root_ = testing::fresh_path();
};

TEST_F(Glob, FilesAreSortedDirectoriesLeftOut) {
  EXPECT_THAT(found("/*"), ElementsAre("/a.txt", "/b.txt"));
  EXPECT_THAT(found("/*/*.txt"), ElementsAre("/x/c.txt"));
  EXPECT_THAT(found("/none/*"), IsEmpty());
  EXPECT_THAT(found("/.*"), ElementsAre("/.h.txt"));
}

TEST_F(Glob, TwoStarsReachAnyDepthButNotThroughLinks) {
  EXPECT_THAT(found("/**/*.txt"),
              ElementsAre("/a.txt", "/b.txt", "/x/c.txt", "/x/y/d.txt"));
  EXPECT_THAT(found("/x/**"), ElementsAre("/x/c.txt", "/x/y/d.txt"));
  EXPECT_THAT(found("/**/y/*"), ElementsAre("/x/y/d.txt"));
}

TEST_F(Glob, NamesStandForThemselvesPatternsForTheirMatches) {
  std::ofstream(root_ + "/w[1].txt") << "1";
  auto names = expand_names(FileSystem::local(),
                            {"no/such", root_ + "/z/*", root_ + "/w[1].txt"});
  ASSERT_TRUE(names.ok());
  EXPECT_THAT(*names,
              ElementsAre("no/such", root_ + "/z/e.bin", root_ + "/w[1].txt"));
  EXPECT_EQ(expand_names(FileSystem::local(), {root_ + "/q*"}).status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace penstock
