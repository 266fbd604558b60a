#include <filesystem>

#include "tests/support/example.h"
#include "tests/support/files.h"

namespace penstock::testing {
namespace {

std::string directory() {
  return made_once("list_files", [](const std::string& path) {
    std::filesystem::create_directories(path);
    for (const char* name : {"/a.txt", "/b.txt", "/c.txt", "/d.bin"}) {
      std::ofstream(path + name) << name;
    }
  });
}

std::vector<Element> names(const std::vector<std::string>& wanted) {
  std::vector<Element> out;
  for (const std::string& name : wanted) {
    out.emplace_back(Tensor::string(directory() + name));
  }
  return out;
}

PENSTOCK_EXAMPLES(
    list_files,
    {
        {.name = "a pattern",
         .make = [] { return Dataset::list_files(directory() + "/*.txt"); },
         .model =
             [] {
               return names({"/a.txt", "/b.txt", "/c.txt"});
             }},
        {.name = "several patterns",
         .make =
             [] {
               return Dataset::list_files(
                   {directory() + "/*.bin", directory() + "/a*"});
             },
         .model =
             [] {
               return names({"/a.txt", "/d.bin"});
             }},
        {.name = "read and filtered",
         .make =
             [] {
               return Dataset::list_files(directory() + "/*")
                   .filter(
                       [](std::string_view name) { return name.back() == 't'; })
                   .map([](std::string_view name) {
                     return io::read_file(name);
                   });
             },
         .model =
             [] {
               return std::vector<Element>{Tensor::string("/a.txt"),
                                           Tensor::string("/b.txt"),
                                           Tensor::string("/c.txt")};
             }},
        {.name = "shuffled",
         .make =
             [] {
               return Dataset::list_files(directory() + "/*",
                                          {.shuffle = true, .seed = 3})
                   .repeat(3);
             }},
    });

}  // namespace
}  // namespace penstock::testing
