#include "tests/support/example.h"
#include "tests/support/files.h"
#include "tests/support/tar_builder.h"

namespace penstock::testing {
namespace {

std::string tar_file() {
  TarBuilder tar;
  tar.file("1.cls", "a").file("1.txt", "one").file("2.cls", "b");
  tar.file("2.txt", "two").file("3.txt", "three");
  return file_with("tar", tar.finish());
}

Element sample(const char* key, const char* cls, const char* text) {
  return Element::dict({{"__key__", Tensor::string(key)},
                        {"cls", Tensor::string(cls)},
                        {"txt", Tensor::string(text)}});
}

PENSTOCK_EXAMPLES(
    tar, {
             {.name = "samples with their fields",
              .make =
                  [] {
                    return Dataset::tar(tar_file(), {.fields = {"cls", "txt"}});
                  },
              .model =
                  [] {
                    return std::vector<Element>{sample("1", "a", "one"),
                                                sample("2", "b", "two"),
                                                failed()};
                  }},
             {.name = "whatever a sample has",
              .make = [] { return Dataset::tar(tar_file()).skip(1); },
              .model =
                  [] {
                    return std::vector<Element>{
                        sample("2", "b", "two"),
                        Element::dict({{"__key__", Tensor::string("3")},
                                       {"txt", Tensor::string("three")}})};
                  }},
             {.name = "shards",
              .make =
                  [] {
                    return Dataset::tar({tar_file(), tar_file(), tar_file()},
                                        {.fields = {"txt"}})
                        .map([](const Element& e) { return e["txt"]; })
                        .batch(4);
                  }},
             {.name = "behind a filter of names",
              .make =
                  [] {
                    return Dataset::tar(
                        Dataset::list_files({tar_file(), tar_file()})
                            .enumerate()
                            .filter([](std::int64_t i, std::string_view) {
                              return i == 1;
                            })
                            .map([](std::int64_t, std::string_view name) {
                              return std::string(name);
                            }),
                        {.fields = {"txt"}});
                  }},
         });

}  // namespace
}  // namespace penstock::testing
