#include <filesystem>

#include "tests/support/example.h"
#include "tests/support/files.h"

namespace penstock::testing {
namespace {

std::string folder() {
  return made_once("image_folder", [](const std::string& path) {
    for (const char* dir : {"/cat/deep", "/dog", "/.hidden"}) {
      std::filesystem::create_directories(path + dir);
    }
    for (const char* name : {"/cat/b.jpg", "/cat/a.PNG", "/cat/deep/z.jpeg",
                             "/dog/c.webp", "/dog/notes.txt", "/top.jpg"}) {
      std::ofstream(path + name) << name;
    }
  });
}

Element image(const char* name, std::int64_t label) {
  return Element::tuple(
      {Tensor::string(folder() + name), Tensor::scalar(label)});
}

PENSTOCK_EXAMPLES(
    image_folder,
    {
        {.name = "paths and labels",
         .make = [] { return Dataset::image_folder(folder()); },
         .model =
             [] {
               return std::vector<Element>{
                   image("/cat/a.PNG", 0), image("/cat/b.jpg", 0),
                   image("/cat/deep/z.jpeg", 0), image("/dog/c.webp", 1)};
             }},
        {.name = "one extension",
         .make =
             [] {
               return Dataset::image_folder(folder(), {.extensions = {".txt"}});
             },
         .model =
             [] { return std::vector<Element>{image("/dog/notes.txt", 1)}; }},
        {.name = "shuffled and read",
         .make =
             [] {
               return Dataset::image_folder(folder())
                   .shuffle(kGlobal, 3)
                   .map([](std::string_view path,
                           std::int64_t label) -> StatusOr<Element> {
                     PS_ASSIGN_OR_RETURN(Tensor bytes, io::read_file(path));
                     return Element::tuple({bytes, Tensor::scalar(label)});
                   });
             }},
        {.name = "behind a filter",
         .make =
             [] {
               return Dataset::image_folder(folder()).filter(
                   [](std::string_view, std::int64_t label) {
                     return label == 1;
                   });
             },
         .model = [] { return std::vector<Element>{image("/dog/c.webp", 1)}; }},
    });

}  // namespace
}  // namespace penstock::testing
