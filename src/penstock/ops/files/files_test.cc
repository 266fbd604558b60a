// The sources of files as their users meet them: arguments, inference,
// compression, damage, states.
#include <filesystem>
#include <fstream>

#include "penstock/formats/compression.h"
#include "penstock/penstock.h"
#include "tests/support/drain.h"
#include "tests/support/tar_builder.h"
#include "tests/support/temp_dir.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using testing::drain;
using ::testing::ElementsAre;
using testing::error_of;
using testing::fresh_path;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::TarBuilder;

std::string put(std::string_view bytes) {
  const std::string path = fresh_path();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string compressed_with(Compression compression, std::string_view bytes) {
  auto compressor = Compressor::make(compression).value();
  std::string out;
  EXPECT_TRUE(compressor->add(bytes, out).ok());
  EXPECT_TRUE(compressor->finish(out).ok());
  return out;
}

std::string gzip(std::string_view bytes) {
  return compressed_with(Compression::kGzip, bytes);
}

std::string many_lines(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

TEST(TextLines, ReadsFilesLargerThanItsBufferPlainAndCompressed) {
  const std::string text = many_lines(200'000);
  const std::string long_line(3'000'000, 'x');
  for (const std::string& path :
       {put(text + long_line), put(gzip(text + long_line))}) {
    Iterator it = Dataset::text_lines(path, {.compression = "auto"}).iterator();
    for (int i = 0; i < 200'000; ++i) {
      ASSERT_EQ((*it.next())[0].str(), "line " + std::to_string(i));
    }
    EXPECT_EQ((*it.next())[0].str(), long_line);
    EXPECT_FALSE(it.next().has_value());
  }
}

// Lines stay where they were read if they are all separated alike.
TEST(TextLines, MixedEndsOfLinesAreCutAlike) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    const bool both = i < 30'000 || i % 1000 == 0;
    text += "line " + std::to_string(i) + (both ? "\r\n" : "\n");
    if (i == 50'000) text += "\n\r\n";
  }
  std::vector<std::string> wanted;
  for (int i = 0; i < 100'000; ++i) {
    wanted.push_back("line " + std::to_string(i));
    if (i == 50'000) wanted.insert(wanted.end(), 2, "");
  }
  std::vector<std::string> got;
  Iterator it = Dataset::text_lines(put(text)).batch(1000).iterator();
  while (const auto batch = it.next()) {
    for (const std::string_view s : (*batch)[0].strs()) got.emplace_back(s);
  }
  EXPECT_EQ(got, wanted);
}

TEST(TextLines, ContinuesFromAStateInTheMiddleOfACompressedFile) {
  const Dataset ds =
      Dataset::text_lines({put(gzip(many_lines(50'000))), put(many_lines(10))},
                          {.compression = "auto"});
  Iterator it = ds.iterator();
  for (int i = 0; i < 33'333; ++i) it.next();
  Iterator rest = ds.iterator(it.state_dict());
  for (int i = 33'333; i < 50'010; ++i) {
    ASSERT_EQ((*rest.next())[0].str(), "line " + std::to_string(i % 50'000));
  }
  EXPECT_FALSE(rest.next().has_value());
}

TEST(TextLines, AutoTellsEveryCompressionAndLeavesTextAlone) {
  const std::string text = many_lines(1000);
  for (const Compression c :
       {Compression::kGzip, Compression::kZlib, Compression::kZstd}) {
    auto compressor = Compressor::make(c).value();
    std::string bytes;
    ASSERT_TRUE(compressor->add(text, bytes).ok());
    ASSERT_TRUE(compressor->finish(bytes).ok());
    EXPECT_EQ(Dataset::text_lines(put(bytes), {.compression = "auto"})
                  .to_list()
                  .size(),
              1000u)
        << compression_name(c);
  }
  for (const std::string plain : {"x^2 = 4", "x^", "x"}) {
    const auto lines =
        Dataset::text_lines(put(plain), {.compression = "auto"}).to_list();
    ASSERT_THAT(lines, SizeIs(1));
    EXPECT_EQ(lines[0][0].str(), plain);
  }
}

TEST(TextLines, LineAboveTheLimitIsAnError) {
  EXPECT_THAT(
      drain(Dataset::text_lines(put("ab\n" + std::string(50, 'x') + "\n"),
                                {.max_record_bytes = 10})),
      ElementsAre(HasSubstr("ab"), HasSubstr("max_record_bytes is 10")));
}

TEST(TextLines, RefusesWrongArguments) {
  EXPECT_EQ(error_of([] { Dataset::text_lines("x", {.skip_lines = -1}); }),
            "text_lines: skip_lines must be >= 0, got -1");
  EXPECT_THAT(error_of([] { Dataset::text_lines("x", {.compression = "7z"}); }),
              HasSubstr("text_lines: compression must be"));
  EXPECT_EQ(
      error_of([] { Dataset::text_lines("x", {.num_parallel_reads = 0}); }),
      "text_lines: num_parallel_reads must be >= 1 or AUTOTUNE, got 0");
  EXPECT_EQ(error_of([] { Dataset::tfrecord("x", {.num_parallel_reads = 0}); }),
            "tfrecord: num_parallel_reads must be >= 1 or AUTOTUNE, got 0");
}

TEST(FixedLengthRecords, RefusesWrongArguments) {
  const std::string path = put("abcd");
  EXPECT_EQ(error_of([&] { Dataset::fixed_length_records(path, 0); }),
            "fixed_length_records: record_bytes must be >= 1, got 0");
  EXPECT_EQ(error_of([&] {
              Dataset::fixed_length_records(path, 2, {.header_bytes = -1});
            }),
            "fixed_length_records: header_bytes must be >= 0, got -1");
  EXPECT_THAT(error_of([&] { Dataset::fixed_length_records("/no/file", 2); }),
              HasSubstr("No such file"));
}

TEST(FixedLengthRecords, IndexedAndCompressedAreTheSame) {
  const std::string bytes = "HHaabbccF";
  const FixedLengthOptions plain{.header_bytes = 2, .footer_bytes = 1};
  FixedLengthOptions packed = plain;
  packed.compression = "GZIP";
  const Dataset indexed = Dataset::fixed_length_records(put(bytes), 2, plain);
  EXPECT_EQ(indexed.cardinality(), Cardinality(3));
  EXPECT_EQ(indexed.at(2)[0].str(), "cc");
  EXPECT_EQ(drain(indexed),
            drain(Dataset::fixed_length_records(put(gzip(bytes)), 2, packed)));
  for (const char* cut : {"H", "HHF", "HHaabF", "HHaa"}) {
    EXPECT_EQ(
        drain(Dataset::fixed_length_records(put(cut), 2, plain)).size(),
        drain(Dataset::fixed_length_records(put(gzip(cut)), 2, packed)).size())
        << cut;
  }
}

TEST(Csv, TellsColumnsByTheFirstFile) {
  const Dataset ds = Dataset::csv(put("a,b,c\n1,2.5,x\n,,\n7,1e3,\"y,z\"\n"));
  EXPECT_EQ(ds.element_spec().to_string(),
            Spec::dict({{"a", Spec::scalar<std::int64_t>()},
                        {"b", Spec::scalar<float>()},
                        {"c", Spec::tensor(DType::kString, Shape{})}})
                .to_string());
  const Element batch = ds.batch(3).to_list().at(0);
  EXPECT_THAT(batch["a"].as<std::int64_t>(), ElementsAre(1, 0, 7));
  EXPECT_THAT(batch["b"].as<float>(), ElementsAre(2.5f, 0, 1000));
  EXPECT_THAT(batch["c"].strs(), ElementsAre("x", "", "y,z"));
}

TEST(Csv, ErrorsNameStageAndColumn) {
  const auto got = drain(
      Dataset::csv(put("a\n1\nx\n3\n"), {.columns = {{"a", DType::kInt64}}}));
  ASSERT_THAT(got, SizeIs(3));
  EXPECT_THAT(got[1], AllOf(StartsWith("!csv#0"),
                            HasSubstr("column 'a' must be int64, got 'x'")));
}

// Also behind a header, blank lines and further reads, and of compressed files.
TEST(Csv, ErrorsNameFileRecordAndByte) {
  std::string text = "a,b\r\n\n";
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + ",\"\n\"\n";
  const std::size_t damaged = text.size();
  text += "x,y\n1,z\n";
  for (const std::string& path : {put(text), put(gzip(text))}) {
    const Dataset ds = Dataset::csv(
        path, {.columns = {{"a", DType::kInt64}, {"b", DType::kString}},
               .compression = "auto"});
    EXPECT_THAT(error_of([&] { ds.to_list(); }),
                HasSubstr("'" + path + "': record 200000 at byte " +
                          std::to_string(damaged) + ": column 'a' must be"));
  }
}

TEST(Jsonl, ErrorsNameFileRecordAndByte) {
  const std::string path = put("\n{\"a\": 1}\n \n{oops\n{\"a\": 2}\n[]\n");
  const auto got = drain(Dataset::jsonl(path, {{"a", DType::kInt64}}));
  ASSERT_THAT(got, SizeIs(4));
  EXPECT_THAT(got[1],
              AllOf(StartsWith("!jsonl#0"),
                    HasSubstr("'" + path + "': record 1 at byte 12: ")));
  EXPECT_THAT(got[3], HasSubstr("record 3 at byte 27: "));
}

TEST(Tar, TheWholeSampleCountsForTheLimit) {
  const std::string small(600, 's');
  const std::string path = put(TarBuilder()
                                   .file("a.x", small)
                                   .file("b.x", small)
                                   .file("b.y", small)
                                   .file("c.x", small)
                                   .file("d.x", small)
                                   .file("d.y", small)
                                   .finish());
  const auto got =
      drain(Dataset::tar(path, {.fields = {"x"}, .max_record_bytes = 1000}));
  ASSERT_THAT(got, SizeIs(4));
  EXPECT_THAT(got[0], HasSubstr("sss"));
  EXPECT_THAT(got[1], AllOf(StartsWith("!tar#0"),
                            HasSubstr("record 1 at byte 1536: has 1200 bytes "
                                      "or more, max_record_bytes is 1000")));
  EXPECT_THAT(got[2], HasSubstr("sss"));
  EXPECT_THAT(got[3], HasSubstr("record 3 at byte 6144: has 1200 bytes"));
}

TEST(Tar, TheLastSampleMustNotLeaveTheArchiveEither) {
  const auto got = drain(Dataset::tar(
      put(TarBuilder().file("a.x", "1").file("../b.x", "2").finish()),
      {.fields = {"x"}}));
  ASSERT_THAT(got, SizeIs(2));
  EXPECT_THAT(got[1], HasSubstr("'../b.x' leads out of the archive"));
}

TEST(Csv, SaysThatAFileIsCompressed) {
  for (const Compression c :
       {Compression::kGzip, Compression::kZlib, Compression::kZstd}) {
    const std::string file = put(compressed_with(c, "a,b\n1,x\n2,y\n"));
    const auto reason = HasSubstr(absl::StrCat(
        "set compression to ", to_absl(compression_name(c)), " or auto"));
    EXPECT_THAT(error_of([&] { Dataset::csv(file); }), reason);
    if (c == Compression::kZlib) continue;  // begins as text may
    const CsvOptions options = {
        .columns = {{"a", DType::kInt64}, {"b", DType::kString}}};
    EXPECT_THAT(drain(Dataset::csv(file, options)),
                ElementsAre(AllOf(HasSubstr(file), reason)));
  }
  // Begins as zlib does, and is text.
  EXPECT_THAT(drain(Dataset::csv(put("x^,b\n1,2\n"))), SizeIs(1));
}

TEST(Jsonl, SaysThatAFileIsCompressed) {
  for (const Compression c : {Compression::kGzip, Compression::kZstd}) {
    const auto got = drain(Dataset::jsonl(
        put(compressed_with(c, "{\"a\": 1}\n")), {{"a", DType::kInt64}}));
    ASSERT_FALSE(got.empty());
    EXPECT_THAT(got[0], HasSubstr(absl::StrCat("set compression to ",
                                               to_absl(compression_name(c)))));
  }
}

TEST(Csv, RecordAboveTheLimitIsAnErrorInItsPlace) {
  const auto got = drain(Dataset::csv(
      put("a\n1\n" + std::string(50, '2') + "\n3\n"),
      {.columns = {{"a", DType::kInt64}}, .max_record_bytes = 10}));
  ASSERT_THAT(got, SizeIs(3));
  EXPECT_THAT(got[1], HasSubstr("record 1 at byte 4: has 50 bytes or more, "
                                "max_record_bytes is 10"));
}

TEST(Tar, ErrorsOfASampleNameFileRecordAndByte) {
  const std::string path =
      put(TarBuilder().file("a.x", "1").file("b.y", "2").finish());
  const auto got = drain(Dataset::tar(path, {.fields = {"x"}}));
  ASSERT_THAT(got, SizeIs(2));
  EXPECT_THAT(got[1], HasSubstr("'" + path +
                                "': record 1 at byte 1024: "
                                "sample 'b' has no 'x'"));
}

TEST(Csv, RefusesWrongArguments) {
  const std::string path = put("a,b\n1,2\n");
  EXPECT_EQ(error_of([&] { Dataset::csv(path, {.select_columns = {"q"}}); }),
            "csv: select_columns must name columns, got 'q'");
  EXPECT_THAT(error_of([&] { Dataset::csv(path, {.delimiter = '"'}); }),
              HasSubstr("delimiter must not be a quote"));
  EXPECT_THAT(error_of([&] {
                Dataset::csv(path, {.columns = {{"a", DType::kUInt8}}});
              }),
              HasSubstr("column 'a' must be int32"));
  EXPECT_THAT(error_of([&] { Dataset::csv(put("")); }),
              HasSubstr("columns must be given"));
  EXPECT_THAT(error_of([&] { Dataset::csv(Dataset::list_files(path), {}); }),
              HasSubstr("columns must be given, got none"));
}

TEST(Jsonl, RefusesWrongArguments) {
  const std::string path = put("{}");
  EXPECT_EQ(error_of([&] { Dataset::jsonl(path, {}); }),
            "jsonl: fields must be given, got none");
  EXPECT_THAT(error_of([&] {
                Dataset::jsonl(path, {{"a", DType::kBFloat16}});
              }),
              HasSubstr("field 'a' must be an integer"));
}

TEST(Jsonl, ReadsManyLinesInOrder) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "{\"i\": " + std::to_string(i) + ", \"s\": \"" +
            std::string(static_cast<std::size_t>(i % 50), 'x') + "\"}\n";
  }
  std::int64_t i = 0;
  for (const Element& e : Dataset::jsonl(
           put(text), {{"i", DType::kInt64}, {"s", DType::kString}})) {
    ASSERT_EQ(e["i"].value<std::int64_t>(), i);
    ASSERT_EQ(e["s"].str().size(), static_cast<std::size_t>(i % 50));
    ++i;
  }
  EXPECT_EQ(i, 20'000);
}

TEST(Tar, DamageNamesFileSampleAndByte) {
  TarBuilder tar;
  tar.file("a.x", "1").file("b.x", "2");
  std::string bytes = tar.finish();
  bytes[1024 + 3] ^= 1;
  const std::string path = put(bytes);
  const std::string next = put(TarBuilder().file("c.x", "3").finish());
  const auto got = drain(Dataset::tar({path, next}, {.fields = {"x"}}));
  ASSERT_THAT(got, SizeIs(3));
  EXPECT_THAT(got[1], AllOf(HasSubstr(path),
                            HasSubstr("record 1 at byte 1024: damaged")));
  EXPECT_THAT(got[2], HasSubstr("3"));
  EXPECT_THAT(error_of([&] {
                Dataset::tar(path, {.fields = {"x", "x"}});
              }),
              HasSubstr("field 'x' is given twice"));
}

TEST(Tar, ReadsSamplesLargerThanItsBuffer) {
  TarBuilder tar;
  for (int i = 0; i < 5; ++i) {
    tar.file(std::to_string(i) + ".bin", std::string(1'500'000, 'x'));
    tar.file(std::to_string(i) + ".txt", std::to_string(i));
  }
  int i = 0;
  for (const Element& e :
       Dataset::tar(put(gzip(tar.finish())),
                    {.fields = {"bin", "txt"}, .compression = "GZIP"})) {
    EXPECT_EQ(e["bin"].str().size(), 1'500'000u);
    EXPECT_EQ(e["txt"].str(), std::to_string(i++));
  }
  EXPECT_EQ(i, 5);
}

TEST(Npy, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(error_of([] { Dataset::npy(put("hello")); }),
              AllOf(StartsWith("npy: '"), HasSubstr("not a .npy array")));
  EXPECT_THAT(error_of([] { Dataset::npy("/no/such.npy"); }),
              HasSubstr("No such file"));
  EXPECT_THAT(error_of([] { Dataset::npy(put("")); }),
              HasSubstr("not a .npy array"));
}

std::string npy_of_rows(std::int64_t rows) {
  std::string dict = "{'descr': '<i8', 'fortran_order': False, 'shape': (" +
                     std::to_string(rows) + ", 2), }";
  dict.append(128 - 10 - dict.size() - 1, ' ').push_back('\n');
  std::string bytes = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dict;
  for (std::int64_t i = 0; i < 2 * rows; ++i) {
    bytes.append(reinterpret_cast<const char*>(&i), sizeof(i));
  }
  return bytes;
}

TEST(Npy, GivesTheRowsThatAShorterFileStillHas) {
  constexpr std::int64_t kRows = 5'000;
  constexpr std::int64_t kLeft = 1'234;
  for (const bool in_order : {true, false}) {
    const std::string path = put(npy_of_rows(kRows));
    const std::string next = put(npy_of_rows(3));
    Dataset ds = Dataset::npy({path, next});
    ASSERT_THAT(drain(ds), SizeIs(kRows + 3));
    if (!in_order) ds = ds.shuffle(kGlobal, 1);
    std::filesystem::resize_file(path, 128 + 16 * kLeft + 15);
    for (const bool again : {false, true}) {
      std::int64_t whole = 0;
      std::int64_t lost = 0;
      for (const std::string& each : drain(ds)) {
        if (!each.starts_with('[')) {
          ++lost;
          EXPECT_THAT(each, AllOf(HasSubstr(path), HasSubstr(": row "),
                                  HasSubstr("the file is shorter than")));
        } else {
          ++whole;
        }
      }
      EXPECT_EQ(whole, kLeft + 3) << in_order;
      EXPECT_EQ(lost, kRows - kLeft) << in_order;
      // What is in the file now is another's, or zeros.
      if (!again) std::ofstream(path, std::ios::binary) << npy_of_rows(kRows);
    }
  }
  const std::string path = put(npy_of_rows(kRows));
  const Dataset ds = Dataset::npy(path);
  std::filesystem::resize_file(path, 128 + 16 * kLeft);
  EXPECT_EQ(ds.at(kLeft - 1)[0].as<std::int64_t>()[0], 2 * kLeft - 2);
  EXPECT_THAT(error_of([&] { ds.at(kLeft); }),
              AllOf(HasSubstr("row 1234 at byte 19872"),
                    HasSubstr("than the 80128 bytes"),
                    HasSubstr("lost from byte 19872 on")));
}

TEST(Npy, RowsThatAreHeldTurnIntoZerosWhenTheirFileShrinks) {
  const std::string path = put(npy_of_rows(5'000));
  const auto batches = Dataset::npy(path).batch(5'000).to_list();
  const Tensor& all = batches[0][0];
  std::filesystem::resize_file(path, 0);
  std::int64_t sum = 0;
  for (const std::int64_t x : all.as<std::int64_t>()) sum += x;
  EXPECT_EQ(sum, 0);
}

TEST(ImageFolder, TellsItsClasses) {
  const std::string root = fresh_path();
  for (const char* c : {"/b", "/a", "/c"}) {
    std::filesystem::create_directories(root + c);
  }
  std::ofstream(root + "/b/x.jpg") << 1;
  EXPECT_THAT(io::class_names(root), ElementsAre("a", "b", "c"));
  EXPECT_EQ(Dataset::image_folder(root).at(0)[1].value<std::int64_t>(), 1);
  EXPECT_THAT(error_of([&] { Dataset::image_folder(root + "/a"); }),
              HasSubstr("no image in a directory under"));
  EXPECT_THAT(error_of([&] { Dataset::image_folder(root + "/none"); }),
              StartsWith("image_folder: cannot list"));
}

TEST(ParseExample, InheritsTheErrorPolicyOfThePipeline) {
  const std::string good =
      serialize_example(Element::dict({{"a", Tensor::from<std::int64_t>({7})}}))
          .value();
  const std::vector<std::string_view> bytes{good, "?", good};
  const Dataset records =
      Dataset::from_tensor_slices(Tensor::strings(bytes, Shape{3}).value());
  Options options;
  options.on_error = ErrorPolicy::skip();
  const Dataset ds =
      records.parse_example({fixed_len_feature("a", DType::kInt64)});
  EXPECT_THAT(drain(ds), SizeIs(3));
  EXPECT_THAT(error_of([&] { ds.to_list(); }), HasSubstr("parse_example#1"));
  const auto got = ds.with_options(options).to_list();
  ASSERT_THAT(got, SizeIs(2));
  EXPECT_EQ(got[1]["a"].value<std::int64_t>(), 7);
  const auto sequences =
      records
          .parse_sequence_example({fixed_len_feature("a", DType::kInt64)}, {})
          .with_options(options);
  EXPECT_THAT(sequences.to_list(), SizeIs(2));
}

TEST(ParseExample, ChecksItsInputAndFeatures) {
  EXPECT_THAT(
      error_of([] {
        Dataset::range(3).parse_example({var_len_feature("a", DType::kInt64)});
      }),
      HasSubstr("elements must be strings or batches of strings"));
  EXPECT_THAT(error_of([] { Dataset::text_lines("x").parse_example({}); }),
              HasSubstr("parse_example: features must be given, got none"));
  // A spec that nobody knows is checked when the data is there.
  const Dataset unknown = Dataset::range(2).map(
      [](std::int64_t i) { return Element(Tensor::scalar(i)); });
  EXPECT_THAT(
      drain(unknown.parse_example({var_len_feature("a", DType::kInt64)})),
      ElementsAre(HasSubstr("elements must be strings, got int64"),
                  HasSubstr("elements must be strings, got int64")));
}

}  // namespace
}  // namespace penstock
