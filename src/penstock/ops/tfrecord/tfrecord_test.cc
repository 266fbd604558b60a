#include "penstock/formats/tfrecord.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "penstock/formats/compression.h"
#include "penstock/ops/tfrecord/tfrecord.h"
#include "penstock/penstock.h"
#include "tests/support/drain.h"
#include "tests/support/temp_dir.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using testing::drain;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::error_of;
using testing::fresh_path;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

void put(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string get(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string framed(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& r : records) tfrecord::append_record(r, out);
  return out;
}

std::vector<std::string> strings(const std::vector<Element>& elements) {
  std::vector<std::string> out;
  for (const Element& e : elements) out.emplace_back(e[0].str());
  return out;
}

std::vector<std::string> numbered(int n, std::size_t size = 0) {
  std::vector<std::string> out;
  for (int i = 0; i < n; ++i) {
    std::string text = "record " + std::to_string(i);
    if (text.size() < size) {
      text.append(size - text.size(), static_cast<char>('a' + i % 26));
    }
    out.push_back(text);
  }
  return out;
}

std::string written(const std::vector<std::string>& records,
                    io::TFRecordWriterOptions options = {}) {
  const std::string path = fresh_path();
  io::TFRecordWriter writer(path, std::move(options));
  for (const std::string& r : records) writer.write(r);
  writer.close();
  return path;
}

// Blocks end where batches do, so a batch is a part of one: its records lie as
// in the file, with what is around them in between.
TEST(TFRecord, BatchesAreNotCopiedTogether) {
  const std::string path = written(numbered(20'000, 1000));
  Iterator it = Dataset::tfrecord(path).batch(16).iterator();
  int in_place = 0;
  while (const auto batch = it.next()) {
    const Tensor& t = (*batch)[0];
    in_place += t.str(1).data() == t.str(0).data() + t.str(0).size() + 16;
  }
  // The first blocks are shorter than a batch; so are those of a machine that
  // has no time.
  EXPECT_GT(in_place, 100) << "of 1250";
}

TEST(TFRecord, ReadsWhatWasWrittenInEveryCompression) {
  const auto records = numbered(1000, 40);
  for (const char* compression : {"", "GZIP", "ZLIB", "ZSTD"}) {
    SCOPED_TRACE(compression);
    const std::string path = written(records, {.compression = compression});
    EXPECT_EQ(
        strings(
            Dataset::tfrecord(path, {.compression = compression}).to_list()),
        records);
    EXPECT_EQ(
        strings(Dataset::tfrecord(path, {.compression = "auto"}).to_list()),
        records);
  }
}

TEST(TFRecord, AutoKnowsAPlainFileByTheChecksumOfItsLength) {
  // Lengths of 1F 8B 08 and 78 9C, as gzip and zlib begin.
  for (const std::size_t size : {0x088b1fu, 0x9c78u}) {
    const std::vector<std::string> records{std::string(size, 'r'), "two"};
    const std::string path = written(records);
    for (const UseIndex index : {UseIndex::kAuto, UseIndex::kNever}) {
      EXPECT_TRUE(strings(Dataset::tfrecord(
                              path, {.compression = "auto", .index = index})
                              .to_list()) == records)
          << size;
    }
  }
}

TEST(TFRecord, PlainFilesAreReadByIndex) {
  const std::string a = written(numbered(70));
  const std::string b = written({"x", "", "z"});
  const Dataset ds = Dataset::tfrecord({a, b});
  EXPECT_EQ(ds.cardinality(), Cardinality(73));
  EXPECT_EQ(ds.at(69)[0].str(), "record 69");
  EXPECT_EQ(ds.at(71)[0].str(), "");
  auto all = numbered(70);
  all.insert(all.end(), {"x", "", "z"});
  EXPECT_EQ(strings(ds.to_list()), all);
  auto shuffled = strings(ds.shuffle(kGlobal, 3).to_list());
  EXPECT_NE(shuffled, all);
  std::sort(shuffled.begin(), shuffled.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(shuffled, all);
}

TEST(TFRecord, WithoutAnIndexTheElementsAreTheSame) {
  const std::string a = written(numbered(300, 5000));
  const std::string b = written(numbered(500));
  const Dataset indexed = Dataset::tfrecord({a, b});
  const Dataset in_order =
      Dataset::tfrecord({a, b}, {.index = UseIndex::kNever});
  EXPECT_TRUE(in_order.cardinality().is_unknown());
  EXPECT_EQ(strings(indexed.to_list()), strings(in_order.to_list()));
}

TEST(TFRecord, TakesPatternsAndDatasetsOfNames) {
  const std::string dir = fresh_path();
  std::filesystem::create_directories(dir);
  io::write_tfrecord(
      Dataset::list_files(written({"0"})).map([](std::string_view) {
        return std::string("only");
      }),
      dir + "/part", 1);
  put(dir + "/part-b", framed({"b"}));
  EXPECT_EQ(strings(Dataset::tfrecord(dir + "/part*").to_list()),
            (std::vector<std::string>{"only", "b"}));
  EXPECT_EQ(
      strings(Dataset::tfrecord(Dataset::list_files(dir + "/part*")).to_list()),
      (std::vector<std::string>{"only", "b"}));
  EXPECT_EQ(error_of([&] { Dataset::tfrecord(dir + "/none*"); }),
            "tfrecord: no file matches '" + dir + "/none*'");
  EXPECT_THAT(
      error_of([&] { Dataset::tfrecord(dir + "/none"); }),
      AllOf(StartsWith("tfrecord: cannot look at"), HasSubstr("No such file")));
  EXPECT_THAT(error_of([&] { Dataset::tfrecord(Dataset::range(3)); }),
              HasSubstr("files must be a dataset of strings, got int64"));
}

TEST(TFRecord, RefusesWrongArguments) {
  const std::string path = written({"a"});
  EXPECT_EQ(error_of([&] { Dataset::tfrecord(path, {.compression = "LZ4"}); }),
            "tfrecord: compression must be '', GZIP, ZLIB, ZSTD or auto, got "
            "'LZ4'");
  EXPECT_EQ(error_of([&] { Dataset::tfrecord(path, {.max_record_bytes = 0}); }),
            "tfrecord: max_record_bytes must be >= 1, got 0");
  EXPECT_THAT(error_of([&] {
                Dataset::tfrecord(
                    path, {.compression = "GZIP", .index = UseIndex::kAlways});
              }),
              HasSubstr("index needs plain files"));
  EXPECT_EQ(error_of([&] { Dataset::tfrecord(std::vector<std::string>{}); }),
            "tfrecord: files must be given, got none");
}

// Each way to read a damaged file must say the same.
std::vector<std::vector<std::string>> read_both(const std::string& path) {
  return {drain(Dataset::tfrecord(path)),
          drain(Dataset::tfrecord(path, {.index = UseIndex::kNever}))};
}

TEST(TFRecord, DamagedPayloadIsOneErrorInItsPlace) {
  const std::string path = fresh_path();
  std::string bytes = framed({"aaaa", "bbbb", "cccc"});
  bytes[20 + 12 + 1] ^= 1;
  put(path, bytes);
  for (const auto& got : read_both(path)) {
    ASSERT_THAT(got, SizeIs(3));
    EXPECT_THAT(got[0], HasSubstr("aaaa"));
    EXPECT_THAT(got[1],
                AllOf(HasSubstr(path),
                      HasSubstr("record 1 at byte 20: corrupt payload")));
    EXPECT_THAT(got[2], HasSubstr("cccc"));
  }
  EXPECT_THAT(
      drain(Dataset::tfrecord(path, {.verify = false})),
      ElementsAre(HasSubstr("aaaa"), HasSubstr("bb"), HasSubstr("cccc")));
  EXPECT_THAT(drain(Dataset::tfrecord(path).ignore_errors()),
              ElementsAre(HasSubstr("aaaa"), HasSubstr("cccc")));
}

TEST(TFRecord, BehindADamagedLengthTheNextWholeRecordIsFound) {
  const std::string path = fresh_path();
  std::string bytes = framed({"aaaa", "bbbb", "cccc", "dddd"});
  bytes[20] ^= 4;
  put(path, bytes);
  const std::string next = written({"next"});
  for (const UseIndex index : {UseIndex::kAuto, UseIndex::kNever}) {
    const Dataset ds = Dataset::tfrecord({path, next}, {.index = index});
    EXPECT_THAT(
        drain(ds),
        ElementsAre(HasSubstr("aaaa"),
                    HasSubstr("record 1 at byte 20: corrupt length"),
                    HasSubstr("cccc"), HasSubstr("dddd"), HasSubstr("next")));
    EXPECT_THAT(strings(ds.ignore_errors().to_list()),
                ElementsAre("aaaa", "cccc", "dddd", "next"));
  }
  // By index alone there is no place for what follows.
  EXPECT_THAT(
      drain(Dataset::tfrecord({path, next}, {.index = UseIndex::kAlways})),
      ElementsAre(HasSubstr("aaaa"), HasSubstr("corrupt length"),
                  HasSubstr("next")));
}

TEST(TFRecord, TheNextRecordIsFoundBeyondTheBufferAndInCompressedFiles) {
  const std::string large(3'000'000, 'x');
  std::string bytes = framed({"first", large, "last"});
  bytes[21 + 3] ^= 1;  // the length of the large one
  const std::string path = fresh_path();
  put(path, bytes);
  for (const auto& got : read_both(path)) {
    EXPECT_THAT(
        got, ElementsAre(HasSubstr("first"), HasSubstr("record 1 at byte 21"),
                         HasSubstr("last")));
  }
  auto compressor = Compressor::make(Compression::kGzip).value();
  std::string packed;
  ASSERT_TRUE(compressor->add(bytes, packed).ok());
  ASSERT_TRUE(compressor->finish(packed).ok());
  put(path, packed);
  EXPECT_THAT(drain(Dataset::tfrecord(path, {.compression = "GZIP"})),
              ElementsAre(HasSubstr("first"), HasSubstr("record 1 at byte 21"),
                          HasSubstr("last")));
}

TEST(TFRecord, AStateBehindADamagedLengthContinues) {
  std::string bytes = framed(numbered(30, 100));
  bytes[116 * 4] ^= 1;
  const std::string path = fresh_path();
  put(path, bytes);
  const Dataset ds = Dataset::tfrecord(path).ignore_errors();
  const auto all = strings(ds.to_list());
  ASSERT_THAT(all, SizeIs(29));
  Iterator it = ds.iterator();
  for (int i = 0; i < 10; ++i) it.next();
  Iterator rest = ds.iterator(it.state_dict());
  for (std::size_t i = 10; i < 29; ++i) {
    EXPECT_EQ((*rest.next())[0].str(), all[i]);
  }
  EXPECT_FALSE(rest.next().has_value());
}

TEST(TFRecord, AStateBetweenADamagedLengthAndTheNextRecordContinues) {
  const std::string large(9'000'000, 'x');
  std::string bytes = framed({"first", large, "next", "last"});
  bytes[21 + 3] ^= 1;  // the length of the large one
  const std::string path = fresh_path();
  put(path, bytes);
  const Dataset ds = Dataset::tfrecord(path);
  Iterator it = ds.iterator();
  EXPECT_EQ((*it.next())[0].str(), "first");
  EXPECT_THAT(error_of([&] { it.next(); }), HasSubstr("record 1 at byte 21"));
  Iterator rest = ds.iterator(it.state_dict());
  EXPECT_EQ((*rest.next())[0].str(), "next");
  EXPECT_EQ((*rest.next())[0].str(), "last");
  EXPECT_FALSE(rest.next().has_value());
  EXPECT_EQ((*it.next())[0].str(), "next");
}

// Ten megabytes of zeros in a few kilobytes.
TEST(TFRecord, AZipBombIsRefusedAtTheLimit) {
  for (const char* compression : {"GZIP", "ZLIB", "ZSTD"}) {
    const std::string path = written({"small", std::string(10'000'000, '\0')},
                                     {.compression = compression});
    EXPECT_LT(get(path).size(), 100'000u);
    EXPECT_THAT(drain(Dataset::tfrecord(path, {.compression = compression,
                                               .max_record_bytes = 100'000})),
                ElementsAre(HasSubstr("small"),
                            HasSubstr("max_record_bytes is 100000")));
  }
}

TEST(TFRecord, FileCutAtEveryByteGivesTheWholeRecordsAndThenSaysSo) {
  const std::string bytes = framed({"a", "", "ccc"});
  const std::string path = fresh_path();
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    SCOPED_TRACE(cut);
    put(path, bytes.substr(0, cut));
    const std::size_t whole = cut < 17 ? 0 : cut < 33 ? 1 : cut < 52 ? 2 : 3;
    const bool clean = cut == 0 || cut == 17 || cut == 33 || cut == 52;
    for (const auto& got : read_both(path)) {
      ASSERT_THAT(got, SizeIs(whole + (clean ? 0 : 1)));
      if (!clean) {
        EXPECT_THAT(got.back(), AllOf(StartsWith("!"), HasSubstr(path),
                                      HasSubstr("truncated")));
      }
    }
  }
}

TEST(TFRecord, EveryFlippedBitIsNoticed) {
  const std::string bytes = framed({"first", "second"});
  const std::string path = fresh_path();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    SCOPED_TRACE(bit);
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    put(path, damaged);
    for (const auto& got : read_both(path)) {
      int errors = 0;
      for (const std::string& row : got) errors += row[0] == '!' ? 1 : 0;
      EXPECT_EQ(errors, 1);
    }
  }
}

TEST(TFRecord, CompressedFileCutAnywhereIsAnError) {
  for (const char* compression : {"GZIP", "ZLIB", "ZSTD"}) {
    SCOPED_TRACE(compression);
    const std::string whole =
        get(written(numbered(50, 30), {.compression = compression}));
    const std::string path = fresh_path();
    for (std::size_t cut = 1; cut < whole.size(); cut += 7) {
      SCOPED_TRACE(cut);
      put(path, whole.substr(0, cut));
      const auto got =
          drain(Dataset::tfrecord(path, {.compression = compression}));
      ASSERT_FALSE(got.empty());
      EXPECT_THAT(got.back(), AllOf(StartsWith("!"), HasSubstr(path)));
      for (std::size_t i = 0; i + 1 < got.size(); ++i) {
        EXPECT_THAT(got[i], HasSubstr("record " + std::to_string(i)));
      }
    }
  }
}

TEST(TFRecord, GzipMembersOneAfterTheOtherAreOneFile) {
  const std::string a = get(written(numbered(3), {.compression = "GZIP"}));
  const std::string b = get(written({"last"}, {.compression = "GZIP"}));
  const std::string path = fresh_path();
  put(path, a + b);
  EXPECT_THAT(
      strings(Dataset::tfrecord(path, {.compression = "GZIP"}).to_list()),
      ElementsAre("record 0", "record 1", "record 2", "last"));
}

TEST(TFRecord, SaysThatAFileIsCompressedOrForeign) {
  const std::string gzip = written({"a"}, {.compression = "GZIP"});
  for (const auto& got : read_both(gzip)) {
    EXPECT_THAT(got, ElementsAre(HasSubstr("set compression to GZIP")));
  }
  const std::string text = fresh_path();
  put(text, "this is some text, not a record file");
  for (const auto& got : read_both(text)) {
    EXPECT_THAT(got, ElementsAre(HasSubstr("is it a TFRecord file?")));
  }
}

TEST(TFRecord, HugeLengthIsRefusedWithoutMemory) {
  std::string bytes;
  const std::uint64_t length = std::uint64_t{1} << 63;
  bytes.append(reinterpret_cast<const char*>(&length), 8);
  const std::uint32_t crc = tfrecord::masked_crc(bytes);
  bytes.append(reinterpret_cast<const char*>(&crc), 4);
  bytes.append(100, 'x');
  const std::string path = fresh_path();
  put(path, bytes);
  for (const auto& got : read_both(path)) {
    EXPECT_THAT(got, ElementsAre(HasSubstr("max_record_bytes is 1073741824")));
  }
}

TEST(TFRecord, RecordAboveTheLimitIsAnErrorAlsoInACompressedStream) {
  const auto records = numbered(3, 3'000'000);
  const std::string path = written(records, {.compression = "ZSTD"});
  const std::string refused = "max_record_bytes is 1000000";
  EXPECT_THAT(
      drain(Dataset::tfrecord(
          path, {.compression = "ZSTD", .max_record_bytes = 1'000'000})),
      ElementsAre(HasSubstr(refused), HasSubstr(refused), HasSubstr(refused)));
  EXPECT_EQ(strings(Dataset::tfrecord(path, {.compression = "ZSTD"}).to_list()),
            records);
}

TEST(TFRecord, RecordsBehindOneAboveTheLimitAreRead) {
  for (const bool index : {true, false}) {
    const std::string path =
        written({"a", std::string(1000, 'x'), "b"}, {.index = index});
    for (const UseIndex use : {UseIndex::kAuto, UseIndex::kNever}) {
      EXPECT_THAT(drain(Dataset::tfrecord(
                      path, {.index = use, .max_record_bytes = 100})),
                  ElementsAre(HasSubstr("a"),
                              HasSubstr("record 1 at byte 17: has 1000 bytes"),
                              HasSubstr("b")));
    }
  }
}

TEST(TFRecord, ContinuesExactlyFromAState) {
  const auto records = numbered(40, 2000);
  for (const char* compression : {"", "GZIP"}) {
    const std::string path = written(records, {.compression = compression});
    const Dataset ds = Dataset::tfrecord(
        path, {.compression = compression, .index = UseIndex::kNever});
    Iterator it = ds.iterator();
    for (std::size_t i = 0; i < 17; ++i)
      EXPECT_EQ((*it.next())[0].str(), records[i]);
    Iterator rest = ds.iterator(it.state_dict());
    for (std::size_t i = 17; i < 40; ++i) {
      EXPECT_EQ((*rest.next())[0].str(), records[i]);
    }
    EXPECT_FALSE(rest.next().has_value());
  }
}

TEST(TFRecord, FileThatChangedBehindItsIndexIsNoticed) {
  const std::string path = written({"aaaa", "bbbb"});
  const Dataset ds = Dataset::tfrecord(path);
  put(path, framed({"a", "bbbbbbb"}));
  EXPECT_THAT(drain(ds),
              ElementsAre(HasSubstr("changed since its index was made"),
                          HasSubstr("corrupt length")));
  EXPECT_THAT(strings(Dataset::tfrecord(path).to_list()),
              ElementsAre("a", "bbbbbbb"));
}

TEST(TFRecord, AFileThatShrankNamesRecordByteAndItsEnd) {
  const auto records = numbered(60, 5'000);  // reads of several records
  const std::string path = written(records);
  const Dataset ds = Dataset::tfrecord(path);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    begin += 16 + static_cast<std::int64_t>(records[i].size());
  }
  const std::int64_t end = begin + 30;
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(end));
  const std::string ends = "truncated: the file ends at byte " +
                           std::to_string(end) + " since it shrank";
  const auto got = drain(ds);
  ASSERT_THAT(got, SizeIs(60));
  for (std::size_t i = 0; i < 60; ++i) {
    if (i < 20) {
      EXPECT_THAT(got[i], HasSubstr(records[i]));
      continue;
    }
    EXPECT_THAT(got[i],
                HasSubstr("'" + path + "': record " + std::to_string(i) +
                          " at byte " + std::to_string(begin) + ": " + ends));
    begin += 16 + static_cast<std::int64_t>(records[i].size());
  }
  EXPECT_THAT(error_of([&] { ds.at(50); }),
              AllOf(HasSubstr("record 50 at byte "), HasSubstr(ends)));
}

TEST(TFRecordIndex, IsWrittenBesideTheFileAndUsed) {
  const std::string path = written(numbered(200));
  const std::string beside = ops::index_path(path);
  ASSERT_TRUE(std::filesystem::exists(beside));
  const auto info = FileSystem::local().info(path);
  ASSERT_TRUE(info.ok());
  const auto index =
      tfrecord::Index::decode(get(beside), {info->size, info->modified_ns});
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->size(), 200);
  const auto built = ops::build_index(FileSystem::local(), path, 1 << 20);
  ASSERT_TRUE(built.ok());
  for (std::int64_t i = 0; i <= 200; ++i) {
    EXPECT_EQ(index->offset(i), built->offset(i));
  }
}

TEST(TFRecordIndex, DamagedOneIsBuiltAgain) {
  const std::string path = written(numbered(200));
  const std::string beside = ops::index_path(path);
  const std::string whole = get(beside);
  for (std::size_t cut = 0; cut < whole.size(); cut += 13) {
    put(beside, whole.substr(0, cut));
    EXPECT_EQ(Dataset::tfrecord(path).cardinality(), Cardinality(200));
  }
  for (std::size_t at = 0; at < whole.size(); at += 5) {
    std::string damaged = whole;
    damaged[at] ^= 16;
    put(beside, damaged);
    EXPECT_EQ(Dataset::tfrecord(path).cardinality(), Cardinality(200));
  }
}

TEST(TFRecordWriter, NothingIsLeftWithoutClose) {
  const std::string dir = fresh_path();
  std::filesystem::create_directories(dir);
  {
    io::TFRecordWriter writer(dir + "/a");
    writer.write("x");
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir));
  io::TFRecordWriter writer(dir + "/a", {.index = false});
  writer.close();
  EXPECT_EQ(get(dir + "/a"), "");
  EXPECT_THAT(error_of([&] { writer.write("y"); }),
              HasSubstr("behind close()"));
  EXPECT_THAT(error_of([&] { io::TFRecordWriter(dir + "/no/such/dir"); }),
              HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] {
                io::TFRecordWriter(dir + "/b", {.compression = "GZIP",
                                                .compression_level = 10});
              }),
              HasSubstr("compression_level must be -1 or 0 to 9, got 10"));
}

TEST(WriteTFRecord, PutsElementsInTurnIntoShards) {
  for (const char* compression : {"", "GZIP", "ZLIB", "ZSTD"}) {
    SCOPED_TRACE(compression);
    const std::string path = fresh_path();
    const Dataset numbers = Dataset::range(1000).map(
        [](std::int64_t i) { return "r" + std::to_string(i); });
    std::int64_t seen = 0;
    io::WriteTFRecordOptions options;
    options.compression = compression;
    options.progress = [&](const io::WriteProgress& p) {
      EXPECT_GE(p.records, seen);
      seen = p.records;
    };
    const auto names = io::write_tfrecord(numbers, path, 3, options);
    EXPECT_EQ(seen, 1000);
    ASSERT_THAT(names,
                ElementsAre(path + "-00000-of-00003", path + "-00001-of-00003",
                            path + "-00002-of-00003"));
    for (int s = 0; s < 3; ++s) {
      std::vector<std::string> wanted;
      for (int i = s; i < 1000; i += 3)
        wanted.push_back("r" + std::to_string(i));
      EXPECT_EQ(strings(Dataset::tfrecord(names[static_cast<std::size_t>(s)],
                                          {.compression = compression})
                            .to_list()),
                wanted);
    }
  }
}

TEST(WriteTFRecord, RefusesWhatIsNotStringsAndLeavesNothing) {
  EXPECT_THAT(error_of([] { io::write_tfrecord(Dataset::range(3), "x"); }),
              HasSubstr("elements must be strings, got int64"));
  EXPECT_THAT(error_of([] { io::write_tfrecord(Dataset::range(3), "x", 0); }),
              HasSubstr("shards must be 1 to 99999, got 0"));
  const std::string dir = fresh_path();
  std::filesystem::create_directories(dir);
  const Dataset failing =
      Dataset::range(9).map([](std::int64_t i) -> StatusOr<std::string> {
        if (i == 5) return absl::InvalidArgumentError("no");
        return std::string("x");
      });
  EXPECT_NE(error_of([&] { io::write_tfrecord(failing, dir + "/a", 2); }), "");
  EXPECT_TRUE(std::filesystem::is_empty(dir));
}

TEST(WriteTFRecord, LeavesNoShardWhereAnotherDoesNotFit) {
  const std::string dir = fresh_path();
  std::filesystem::create_directories(dir);
  const Dataset records = Dataset::range(3).map(
      [](std::int64_t i) { return std::string(i == 1 ? 100'000 : 10, 'x'); });
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 50'000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string error =
      error_of([&] { io::write_tfrecord(records, dir + "/a", 3); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr("a-00001-of-00003"));
  EXPECT_TRUE(std::filesystem::is_empty(dir));
  io::write_tfrecord(records, dir + "/a", 3);
  EXPECT_EQ(Dataset::tfrecord(dir + "/a-*").to_list().size(), 3u);
}

TEST(ReadFile, GivesTheBytesOrTheReason) {
  const std::string path = fresh_path();
  put(path, std::string("a\0b", 3));
  EXPECT_EQ(io::read_file(path)->str(), std::string_view("a\0b", 3));
  const std::string none = fresh_path();
  const auto got =
      drain(Dataset::list_files({path, path}).map([&](std::string_view name) {
        return io::read_file(name);
      }));
  EXPECT_THAT(got, SizeIs(2));
  EXPECT_EQ(io::read_file(none).status().code(), StatusCode::kNotFound);
  EXPECT_GT(io::read_file("/proc/self/status")->str().size(), 100u);
}

}  // namespace
}  // namespace penstock
