#include "tests/support/example.h"
#include "tests/support/files.h"

namespace penstock::testing {
namespace {

std::string two() { return file_with("lines two", "one\ntwo\r\n\nlast"); }
std::string empty() { return file_with("lines empty", ""); }

std::vector<Element> lines(const std::vector<std::string>& values) {
  std::vector<Element> out;
  for (const std::string& v : values) out.emplace_back(Tensor::string(v));
  return out;
}

PENSTOCK_EXAMPLES(
    text_lines,
    {
        {.name = "a file",
         .make = [] { return Dataset::text_lines(two()); },
         .model =
             [] {
               return lines({"one", "two", "", "last"});
             }},
        {.name = "several files",
         .make =
             [] {
               return Dataset::text_lines({two(), empty(), two()});
             },
         .model =
             [] {
               return lines(
                   {"one", "two", "", "last", "one", "two", "", "last"});
             }},
        {.name = "without the first line",
         .make =
             [] {
               return Dataset::text_lines({two(), two()}, {.skip_lines = 1});
             },
         .model =
             [] {
               return lines({"two", "", "last", "two", "", "last"});
             }},
        {.name = "a file that is not there",
         .make =
             [] {
               return Dataset::text_lines({two(), "/no/such/file", two()});
             },
         .model =
             [] {
               auto out = lines({"one", "two", "", "last"});
               out.push_back(failed());
               for (Element& e : lines({"one", "two", "", "last"})) {
                 out.push_back(std::move(e));
               }
               return out;
             }},
        {.name = "names behind a filter",
         .make =
             [] {
               return Dataset::text_lines(
                          Dataset::list_files({two(), empty()})
                              .filter([](std::string_view name) {
                                return name == two();
                              }))
                   .filter([](std::string_view line) { return !line.empty(); });
             },
         .model =
             [] {
               return lines({"one", "two", "last"});
             }},
        {.name = "nothing",
         .make = [] { return Dataset::text_lines(empty()); },
         .model = [] { return lines({}); }},
    });

}  // namespace
}  // namespace penstock::testing
