#include "tests/support/example.h"
#include "tests/support/files.h"

namespace penstock::testing {
namespace {

std::string fixed_length_records_file() {
  return file_with("fixed", "HEADaabbccddF");
}
std::string cut() { return file_with("fixed cut", "HEADaabbcF"); }

std::vector<Element> strings(const std::vector<std::string>& values) {
  std::vector<Element> out;
  for (const std::string& v : values) out.emplace_back(Tensor::string(v));
  return out;
}

PENSTOCK_EXAMPLES(
    fixed_length_records,
    {
        {.name = "by index",
         .make =
             [] {
               return Dataset::fixed_length_records(
                   {fixed_length_records_file(), fixed_length_records_file()},
                   2, {.header_bytes = 4, .footer_bytes = 1});
             },
         .model =
             [] {
               return strings({"aa", "bb", "cc", "dd", "aa", "bb", "cc", "dd"});
             }},
        {.name = "in order",
         .make =
             [] {
               return Dataset::fixed_length_records(
                   Dataset::list_files(fixed_length_records_file()), 2,
                   {.header_bytes = 4, .footer_bytes = 1});
             },
         .model =
             [] {
               return strings({"aa", "bb", "cc", "dd"});
             }},
        {.name = "a file that is cut",
         .make =
             [] {
               return Dataset::fixed_length_records(
                   {cut(), fixed_length_records_file()}, 2,
                   {.header_bytes = 4, .footer_bytes = 1});
             },
         .model =
             [] {
               auto out = strings({"aa", "bb", "", "aa", "bb", "cc", "dd"});
               out[2] = failed();
               return out;
             }},
        {.name = "decoded and shuffled",
         .make =
             [] {
               return Dataset::fixed_length_records(
                          fixed_length_records_file(), 2,
                          {.header_bytes = 4, .footer_bytes = 1})
                   .map([](std::string_view bytes) {
                     return io::decode_raw(bytes, DType::kUInt8);
                   })
                   .shuffle(kGlobal, 4);
             }},
    });

}  // namespace
}  // namespace penstock::testing
