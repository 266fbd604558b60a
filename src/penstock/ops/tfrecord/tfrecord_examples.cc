#include "penstock/formats/tfrecord.h"
#include "tests/support/example.h"
#include "tests/support/files.h"

namespace penstock::testing {
namespace {

std::vector<std::string> records(int n) {
  std::vector<std::string> out;
  for (int i = 0; i < n; ++i) out.push_back("record " + std::to_string(i));
  return out;
}

std::vector<Element> elements(const std::vector<std::string>& values) {
  std::vector<Element> out;
  for (const std::string& v : values) out.emplace_back(Tensor::string(v));
  return out;
}

std::string written(int n, const std::string& compression = "") {
  return made_once("tfrecord" + compression + std::to_string(n),
                   [&](const std::string& path) {
                     io::TFRecordWriter writer(path,
                                               {.compression = compression});
                     for (const std::string& r : records(n)) writer.write(r);
                     writer.close();
                   });
}

/// Record 2 of 5 has a damaged payload.
std::string damaged() {
  std::string bytes;
  for (const std::string& r : records(5)) tfrecord::append_record(r, bytes);
  bytes[2 * 24 + 14] ^= 1;
  return file_with("tfrecord damaged", bytes);
}

std::vector<Element> twice(int a, int b) {
  std::vector<Element> out = elements(records(a));
  for (Element& e : elements(records(b))) out.push_back(std::move(e));
  return out;
}

PENSTOCK_EXAMPLES(
    tfrecord,
    {
        {.name = "by index",
         .make = [] { return Dataset::tfrecord(written(7)); },
         .model = [] { return elements(records(7)); }},
        {.name = "two files by index",
         .make =
             [] {
               return Dataset::tfrecord({written(7), written(3)});
             },
         .model = [] { return twice(7, 3); }},
        {.name = "in order",
         .make =
             [] {
               return Dataset::tfrecord({written(7), written(3)},
                                        {.index = UseIndex::kNever});
             },
         .model = [] { return twice(7, 3); },
         .tight_memory = 4 << 20},
        {.name = "compressed",
         .make =
             [] {
               return Dataset::tfrecord(
                          {written(7, "GZIP"), written(3, "ZSTD"), written(3)},
                          {.compression = "auto"})
                   .take(10);
             },
         .model = [] { return twice(7, 3); },
         .tight_memory = 16 << 20},
        {.name = "a damaged record",
         .make = [] { return Dataset::tfrecord(damaged()); },
         .model =
             [] {
               auto out = elements(records(5));
               out[2] = failed();
               return out;
             }},
        {.name = "a damaged record in order",
         .make =
             [] {
               return Dataset::tfrecord(damaged(), {.index = UseIndex::kNever});
             },
         .model =
             [] {
               auto out = elements(records(5));
               out[2] = failed();
               return out;
             },
         .tight_memory = 4 << 20},
        {.name = "names behind a filter",
         .make =
             [] {
               return Dataset::tfrecord(
                   Dataset::list_files({written(3), written(7)})
                       .filter([](std::string_view name) {
                         return name == written(7);
                       }));
             },
         .model = [] { return elements(records(7)); },
         .tight_memory = 4 << 20},
        {.name = "under a global shuffle",
         .make =
             [] {
               return Dataset::tfrecord({written(7), written(30)})
                   .shuffle(kGlobal, 2)
                   .batch(4)
                   .repeat(2);
             }},
        {.name = "nothing",
         .make = [] { return Dataset::tfrecord(written(0)); },
         .model = [] { return elements({}); }},
    });

}  // namespace
}  // namespace penstock::testing
