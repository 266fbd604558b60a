#include "tests/support/example.h"
#include "tests/support/files.h"

namespace penstock::testing {
namespace {

std::string jsonl_file() {
  return file_with("jsonl",
                   "{\"id\": 1, \"ids\": [1, 2]}\n"
                   "{\"ids\": [], \"id\": 2}\n"
                   "{\"id\": 3}\n");
}
std::string jsonl_damaged() {
  return file_with("jsonl damaged", "{\"id\": 1}\n{\"id\": }\n{\"id\": 3}\n");
}

Element jsonl_row(std::int64_t id, const std::vector<std::int64_t>& ids) {
  return Element::dict(
      {{"id", Tensor::scalar(id)}, {"ids", Tensor::from(ids)}});
}

std::vector<JsonField> fields() {
  return {{"id", DType::kInt64}, {"ids", DType::kInt64, true}};
}

PENSTOCK_EXAMPLES(
    jsonl,
    {
        {.name = "fields and lists",
         .make = [] { return Dataset::jsonl(jsonl_file(), fields()); },
         .model =
             [] {
               return std::vector<Element>{jsonl_row(1, {1, 2}),
                                           jsonl_row(2, {}), jsonl_row(3, {})};
             }},
        {.name = "a damaged line",
         .make =
             [] {
               return Dataset::jsonl({jsonl_damaged(), jsonl_file()}, fields())
                   .take(4);
             },
         .model =
             [] {
               return std::vector<Element>{jsonl_row(1, {}), failed(),
                                           jsonl_row(3, {}),
                                           jsonl_row(1, {1, 2})};
             }},
        {.name = "behind a filter of names",
         .make =
             [] {
               return Dataset::jsonl(
                          Dataset::list_files({jsonl_damaged(), jsonl_file()})
                              .filter([](std::string_view name) {
                                return name == jsonl_file();
                              }),
                          fields())
                   .map([](const Element& e) { return e["id"]; });
             },
         .model =
             [] {
               return scalars({1, 2, 3});
             }},
    });

}  // namespace
}  // namespace penstock::testing
