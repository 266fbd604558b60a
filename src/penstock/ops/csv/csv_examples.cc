#include "tests/support/example.h"
#include "tests/support/files.h"

namespace penstock::testing {
namespace {

std::string csv_file() {
  return file_with("csv", "id,name,score\n1,ann,0.5\n2,\"b, o\",\n3,cy,1e2\n");
}
std::string csv_damaged() {
  return file_with("csv damaged", "id,name,score\n1,ann,0.5\nx,bo,1\n3,cy,2\n");
}

std::vector<CsvColumn> columns() {
  return {{"id", DType::kInt64},
          {"name", DType::kString},
          {"score", DType::kFloat32, Tensor::scalar(-1.0f)}};
}

Element csv_row(std::int64_t id, const char* name, float score) {
  return Element::dict({{"id", Tensor::scalar(id)},
                        {"name", Tensor::string(name)},
                        {"score", Tensor::scalar(score)}});
}

PENSTOCK_EXAMPLES(
    csv,
    {
        {.name = "typed columns",
         .make =
             [] { return Dataset::csv(csv_file(), {.columns = columns()}); },
         .model =
             [] {
               return std::vector<Element>{csv_row(1, "ann", 0.5f),
                                           csv_row(2, "b, o", -1),
                                           csv_row(3, "cy", 100)};
             }},
        {.name = "columns told by the file",
         .make =
             [] {
               return Dataset::csv(csv_file(), {.select_columns = {"id"}})
                   .map([](const Element& e) { return e["id"]; });
             },
         .model =
             [] {
               return scalars({1, 2, 3});
             }},
        {.name = "a damaged record",
         .make =
             [] {
               return Dataset::csv({csv_damaged(), csv_file()},
                                   {.columns = columns()})
                   .take(4);
             },
         .model =
             [] {
               return std::vector<Element>{csv_row(1, "ann", 0.5f), failed(),
                                           csv_row(3, "cy", 2),
                                           csv_row(1, "ann", 0.5f)};
             }},
        {.name = "in batches behind a filter",
         .make =
             [] {
               return Dataset::csv({csv_file(), csv_file()},
                                   {.columns = columns()})
                   .filter([](const Element& e) {
                     return e["id"].value<std::int64_t>() != 2;
                   })
                   .batch(3);
             }},
    });

}  // namespace
}  // namespace penstock::testing
