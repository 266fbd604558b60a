#include <filesystem>
#include <fstream>

#include "penstock/penstock.h"
#include "tests/support/drain.h"
#include "tests/support/temp_dir.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::fresh_path;
using ::testing::HasSubstr;

class ListFiles : public ::testing::Test {
 protected:
  ListFiles() {
    std::filesystem::create_directories(dir_);
    for (const char* name : {"/c", "/a", "/b"}) std::ofstream(dir_ + name) << 1;
  }
  std::vector<std::string> names(const Dataset& ds) {
    std::vector<std::string> out;
    for (const Element& e : ds) {
      out.emplace_back(e[0].str().substr(dir_.size()));
    }
    return out;
  }
  const std::string dir_ = fresh_path();
};

TEST_F(ListFiles, SortsWhatAllPatternsMatch) {
  EXPECT_THAT(names(Dataset::list_files(dir_ + "/*")),
              ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(names(Dataset::list_files({dir_ + "/c", dir_ + "/[ab]"})),
              ElementsAre("/a", "/b", "/c"));
  EXPECT_EQ(Dataset::list_files(dir_ + "/*").cardinality(), Cardinality(3));
  EXPECT_EQ(Dataset::list_files(dir_ + "/*").at(1)[0].str(), dir_ + "/b");
}

TEST_F(ListFiles, ShufflesAnewInEachIterationByTheSeed) {
  for (int i = 0; i < 30; ++i)
    std::ofstream(dir_ + "/n" + std::to_string(i)) << 1;
  const Dataset ds =
      Dataset::list_files(dir_ + "/*", {.shuffle = true, .seed = 4});
  const auto first = names(ds);
  const auto second = names(ds);
  EXPECT_NE(first, second);
  EXPECT_EQ(
      names(Dataset::list_files(dir_ + "/*", {.shuffle = true, .seed = 4})),
      first);
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, names(Dataset::list_files(dir_ + "/*")));
}

TEST_F(ListFiles, IsOneStageAlsoShuffled) {
  const Dataset ds =
      Dataset::list_files(dir_ + "/*",
                          {.shuffle = true, .seed = 4, .name = "photos"})
          .map([](std::string_view name) {
            return static_cast<std::int64_t>(name.size());
          });
  EXPECT_THAT(ds.explain(),
              HasSubstr("list_files#0:photos  list_files(3 files"));
  EXPECT_THAT(ds.explain(), HasSubstr("shuffle=true, seed=4)"));
  EXPECT_THAT(ds.explain(), HasSubstr("map#1  "));
  EXPECT_EQ(ds.cardinality(), Cardinality(3));
}

TEST_F(ListFiles, KeepsTheFilesThatWereThereWhenItWasBuilt) {
  const Dataset ds = Dataset::list_files(dir_ + "/*");
  std::ofstream(dir_ + "/d") << 1;
  EXPECT_THAT(names(ds), ElementsAre("/a", "/b", "/c"));
}

TEST_F(ListFiles, SaysWhatIsNotThere) {
  EXPECT_EQ(error_of([&] { Dataset::list_files(dir_ + "/x*"); }),
            "list_files: no file matches '" + dir_ + "/x*'");
  EXPECT_THAT(error_of([&] { Dataset::list_files(dir_ + "/x"); }),
              HasSubstr("No such file"));
  EXPECT_EQ(error_of([&] { Dataset::list_files(""); }),
            "list_files: pattern must not be empty, got ''");
  EXPECT_EQ(error_of([&] { Dataset::list_files(std::vector<std::string>{}); }),
            "list_files: pattern must be given, got none");
}

}  // namespace
}  // namespace penstock
