#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "penstock/base/random.h"
#include "penstock/formats/csv.h"
#include "penstock/formats/lines.h"
#include "penstock/formats/npy.h"
#include "penstock/formats/tar.h"
#include "tests/support/tar_builder.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TarBuilder;

/// Records as a reader would cut them that gets `step` bytes at a time; errors
/// as "!message".
std::vector<std::string> cut(const Splitter& splitter, std::string_view bytes,
                             std::size_t step, std::int64_t max_rows = 2,
                             std::int64_t max_record_bytes = 1 << 20) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  std::size_t end = std::min(step, bytes.size());
  SplitOutput found;
  bool jumped = false;
  for (int guard = 0; guard < 100'000; ++guard) {
    SplitInput in;
    in.bytes = bytes.substr(begin, end - begin);
    in.offset = static_cast<std::int64_t>(begin);
    in.record = static_cast<std::int64_t>(out.size());
    in.at_end = end == bytes.size();
    in.max_rows = max_rows;
    in.max_payload = 1 << 20;
    in.max_record_bytes = max_record_bytes;
    in.jumped = jumped;
    found.clear();
    splitter.split(in, found);
    for (const SplitRow& row : found.rows) {
      out.push_back(row.error.ok()
                        ? std::string(in.bytes.substr(row.begin, row.size))
                        : "!" + std::string(to_std(row.error.message())));
    }
    begin += found.consumed;
    jumped = found.jump >= 0 &&
             found.jump <= static_cast<std::int64_t>(bytes.size());
    if (jumped) {
      begin = static_cast<std::size_t>(found.jump);
      end = std::min(begin + step, bytes.size());
    }
    if (found.stop) return out;
    if (in.at_end && begin == end && !found.passing.active) return out;
    if (found.rows.empty() && found.consumed == 0 && found.jump < 0) {
      if (in.at_end) return {"stuck"};
      end = std::min(end + step, bytes.size());
    }
  }
  return {"endless"};
}

TEST(Lines, EndAtNewlinesOfBothKindsAndAtTheEnd) {
  const LineSplitter lines;
  for (const std::size_t step : {1u, 2u, 100u}) {
    EXPECT_THAT(cut(lines, "a\nbc\r\n\nlast", step),
                ElementsAre("a", "bc", "", "last"));
    EXPECT_THAT(cut(lines, "a\n", step), ElementsAre("a"));
    EXPECT_THAT(cut(lines, "\n", step), ElementsAre(""));
    EXPECT_THAT(cut(lines, "", step), IsEmpty());
    EXPECT_THAT(cut(lines, "a\rb\n", step), ElementsAre("a\rb"));
    EXPECT_THAT(cut(LineSplitter(2), "h\nh\na\nb", step),
                ElementsAre("a", "b"));
    EXPECT_THAT(cut(LineSplitter(5), "h\nh\n", step), IsEmpty());
    EXPECT_THAT(cut(LineSplitter(0, true), "\na\n \t\r\n\nb\n\n", step),
                ElementsAre("a", "b"));
  }
}

TEST(FixedLength, LeavesOutHeaderAndFooter) {
  for (const std::size_t step : {1u, 3u, 100u}) {
    EXPECT_THAT(cut(FixedSplitter(2, 0, 0), "aabbcc", step),
                ElementsAre("aa", "bb", "cc"));
    EXPECT_THAT(cut(FixedSplitter(2, 3, 1), "HHHaabbF", step),
                ElementsAre("aa", "bb"));
    EXPECT_THAT(cut(FixedSplitter(2, 0, 0), "aab", step),
                ElementsAre("aa", HasSubstr("record 1 at byte 2: truncated")));
    EXPECT_THAT(cut(FixedSplitter(2, 4, 0), "HH", step),
                ElementsAre(HasSubstr("the header has 4 bytes, the file 2")));
    EXPECT_THAT(cut(FixedSplitter(2, 1, 0), "H", step), IsEmpty());
  }
}

TEST(Csv, RecordsMayHoldLineEndsInQuotes) {
  const CsvSplitter with_header({}, true);
  for (const std::size_t step : {1u, 4u, 100u}) {
    EXPECT_THAT(
        cut(with_header, "h1,h2\na,b\n\"c\nc\",d\r\n\n\"e\"\"\n\",f", step),
        ElementsAre("a,b", "\"c\nc\",d", "\"e\"\"\n\",f"));
    EXPECT_THAT(cut(CsvSplitter({',', false, ""}, false), "a\"\nb\n", step),
                ElementsAre("a\"", "b"));
  }
}

TEST(Csv, AQuoteOpensOnlyAtTheBeginningOfAField) {
  const CsvSplitter plain({}, false);
  const CsvSplitter tabs({'\t', true, ""}, false);
  for (const std::size_t step : {1u, 2u, 3u, 100u}) {
    EXPECT_THAT(cut(plain, "3,6\" pipe\n4,b\n", step),
                ElementsAre("3,6\" pipe", "4,b"));
    EXPECT_THAT(cut(plain, "a\"b\"\nc\n", step), ElementsAre("a\"b\"", "c"));
    // Behind a closing quote: an error of that record, and no opening.
    EXPECT_THAT(cut(plain, "\"a\"b\"c\nd,\"\n\"\n", step),
                ElementsAre("\"a\"b\"c", "d,\"\n\""));
    EXPECT_THAT(cut(plain, "\"a\"\"\nb\",\"\"\nc\n", step),
                ElementsAre("\"a\"\"\nb\",\"\"", "c"));
    EXPECT_THAT(cut(tabs, "a,\"b\nc\t\"\nd\"\n", step),
                ElementsAre("a,\"b", "c\t\"\nd\""));
    // One above the limit is passed over to the same end.
    EXPECT_THAT(
        cut(plain, "1234567,\"\n\"\"\n\",\"x\r\n\"\nb\"\"\nc", step, 2, 4),
        ElementsAre(HasSubstr("record 0"), "b\"\"", "c"));
    EXPECT_THAT(cut(plain, "1234567\",\n8\n", step, 2, 4),
                ElementsAre(HasSubstr("record 0"), "8"));
  }
}

TEST(Csv, AHeaderWithOtherNamesEndsTheFile) {
  const CsvSplitter named({}, true, {"a", "b c"});
  const std::string large(100'000, 'x');
  for (const std::size_t step : {1u, 4u, 100u}) {
    EXPECT_THAT(cut(named, "\n\"a\",b c\r\n1,2\n", step), ElementsAre("1,2"));
    EXPECT_THAT(cut(named, "a,b c", step), IsEmpty());
    // The header may be longer than a record.
    EXPECT_THAT(cut(named, "a,b c\n1,2", step, 2, 3), ElementsAre("1,2"));
    EXPECT_THAT(cut(named, "\nb c,a\n1,2\n", step),
                ElementsAre("!header at byte 1: must be 'a,b c' as in the "
                            "first file, got 'b c,a'"));
    EXPECT_THAT(cut(named, "a\n1\n", step), ElementsAre(HasSubstr("got 'a'")));
    EXPECT_THAT(cut(named, "a,\"b\n", step),
                ElementsAre(HasSubstr("got 'a,\"b")));
  }
  for (const std::size_t step : {1000u, 200'000u}) {
    EXPECT_THAT(cut(named, large + "\n1,2\n", step, 2, 3),
                ElementsAre(HasSubstr("xxx...'")));
  }
}

std::vector<std::string> fields(std::string_view record,
                                CsvFormat format = {}) {
  std::vector<std::string_view> out;
  std::string scratch;
  const Status status = split_fields(record, format, out, scratch);
  if (!status.ok()) return {"!" + std::string(to_std(status.message()))};
  return {out.begin(), out.end()};
}

TEST(Csv, FieldsFollowTheRfc) {
  EXPECT_THAT(fields("a,b,c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(fields(",,"), ElementsAre("", "", ""));
  EXPECT_THAT(fields("a"), ElementsAre("a"));
  EXPECT_THAT(fields("\"a,b\",\"\",\"say \"\"hi\"\"\""),
              ElementsAre("a,b", "", "say \"hi\""));
  EXPECT_THAT(fields("\"\"\"\",\"\"\"\"\"\""), ElementsAre("\"", "\"\""));
  EXPECT_THAT(fields("a\tb", {'\t', true, ""}), ElementsAre("a", "b"));
  EXPECT_THAT(fields("\"a"), ElementsAre(HasSubstr("never ends")));
  EXPECT_THAT(fields("\"a\"b"), ElementsAre(HasSubstr("behind its closing")));
  EXPECT_THAT(fields("a\"b"), ElementsAre(HasSubstr("does not begin with")));
}

TEST(Csv, ParsesTypedColumnsWithDefaults) {
  const auto parser =
      CsvParser::make({{"i", DType::kInt64, Tensor::scalar(std::int64_t{-1})},
                       {"f", DType::kFloat32},
                       {"s", DType::kString, Tensor::string("")},
                       {"b", DType::kBool}},
                      4, {',', true, "NA"})
          .value();
  const std::vector<std::string_view> records{
      "1,2.5,x,true", ",-1e3,\"q\"\"q\",0", "NA,+7,,1", "x,1,y,1", "1,,y,1",
      "1,2",          "3,3,z,maybe"};
  std::vector<Tensor> columns;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, columns, failed).ok());
  EXPECT_THAT(columns[0].as<std::int64_t>().subspan(0, 3),
              ElementsAre(1, -1, -1));
  EXPECT_THAT(columns[1].as<float>().subspan(0, 3),
              ElementsAre(2.5f, -1e3f, 7));
  EXPECT_EQ(columns[2].str(0), "x");
  EXPECT_EQ(columns[2].str(1), "q\"q");
  EXPECT_EQ(columns[2].str(2), "");
  EXPECT_THAT(columns[3].as<bool>().subspan(0, 3),
              ElementsAre(true, false, true));
  ASSERT_EQ(failed.size(), 4u);
  EXPECT_EQ(failed[0].first, 3);
  EXPECT_EQ(to_std(failed[0].second.message()),
            "column 'i' must be int64, got 'x'");
  EXPECT_EQ(to_std(failed[1].second.message()),
            "column 'f' is missing and has no default_value");
  EXPECT_EQ(to_std(failed[2].second.message()), "must have 4 fields, got 2");
  EXPECT_EQ(to_std(failed[3].second.message()),
            "column 'b' must be bool, got 'maybe'");
}

TEST(Csv, StringsWithoutADefaultMustBeThere) {
  const auto parser =
      CsvParser::make(
          {{"s", DType::kString}, {"t", DType::kString, Tensor::string("-")}},
          2, {',', true, "NA"})
          .value();
  const std::vector<std::string_view> records{"a,b", ",b", "\"\",b", "NA,b",
                                              "a,"};
  std::vector<Tensor> columns;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, columns, failed).ok());
  EXPECT_EQ(columns[0].str(0), "a");
  EXPECT_EQ(columns[1].str(4), "-");
  ASSERT_EQ(failed.size(), 3u);
  EXPECT_EQ(failed[0].first, 1);
  EXPECT_EQ(failed[2].first, 3);
  EXPECT_EQ(to_std(failed[0].second.message()),
            "column 's' is missing and has no default_value");
}

TEST(Csv, NumbersAreTheNearest) {
  std::vector<std::string> texts{"0",
                                 "-0",
                                 "007",
                                 ".5",
                                 "-.5",
                                 "5.",
                                 "16777217",
                                 "16777217.0",
                                 "16777219",
                                 "0.1",
                                 "123456.25",
                                 "99999999999999",
                                 "-0.000001",
                                 "33554435",
                                 "1e3",
                                 "123456789012345678",
                                 " 7 ",
                                 "+3.25",
                                 "1.00000005960465"};
  RandomStream random(11);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = std::to_string(
        random.below(std::uint64_t{1} << (1 + random.below(50))));
    const std::size_t point = random.below(text.size() + 1);
    if (i % 3 != 0) text.insert(point, ".");
    if (text == ".") continue;
    texts.push_back((i % 5 == 0 ? "-" : "") + text);
  }
  const auto parser =
      CsvParser::make(
          {{"f", DType::kFloat32, {}, 0}, {"d", DType::kFloat64, {}, 0}}, 1, {})
          .value();
  const std::vector<std::string_view> records(texts.begin(), texts.end());
  std::vector<Tensor> out;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, out, failed).ok());
  ASSERT_TRUE(failed.empty()) << failed[0].second;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const float narrow = std::strtof(texts[i].c_str(), nullptr);
    const double wide = std::strtod(texts[i].c_str(), nullptr);
    ASSERT_EQ(out[0].as<float>()[i], narrow) << texts[i];
    ASSERT_EQ(out[1].as<double>()[i], wide) << texts[i];
    ASSERT_EQ(std::signbit(out[1].as<double>()[i]), std::signbit(wide));
  }
}

TEST(Csv, IntegersAreKeptToTheirRange) {
  const auto parser =
      CsvParser::make(
          {{"i", DType::kInt32, {}, 0}, {"l", DType::kInt64, {}, 0}}, 1, {})
          .value();
  const std::vector<std::string_view> records{
      "2147483647",          "-2147483648", "007", "-0", " 5 ",
      "2147483648",          "-2147483649", "-",   "1.", "1-",
      "99999999999999999999"};
  std::vector<Tensor> out;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, out, failed).ok());
  EXPECT_THAT(out[0].as<std::int32_t>().first(5),
              ElementsAre(2147483647, -2147483648, 7, 0, 5));
  std::vector<std::int64_t> rows;
  for (const auto& [row, status] : failed) rows.push_back(row);
  EXPECT_THAT(rows, ElementsAre(5, 6, 7, 8, 9, 10));
}

// Delimiters are found eight bytes at a time.
TEST(Csv, FieldsEndAtEveryDelimiter) {
  RandomStream random(2);
  for (const char delimiter : {',', '\t', ';', '\x80', '\xff'}) {
    CsvFormat format;
    format.delimiter = delimiter;
    for (int round = 0; round < 2'000; ++round) {
      std::string record;
      std::vector<std::string> right(1);
      const std::uint64_t size = random.below(40);
      for (std::uint64_t i = 0; i < size; ++i) {
        const char others[] = {
            'a',    '\0',   '\x01',    ',',
            '\x7f', '\x81', delimiter, static_cast<char>(delimiter ^ 1)};
        const char c = others[random.below(sizeof(others))];
        record += c;
        if (c == delimiter) {
          right.emplace_back();
        } else {
          right.back() += c;
        }
      }
      std::vector<std::string_view> fields;
      std::string scratch;
      ASSERT_TRUE(split_fields(record, format, fields, scratch).ok());
      ASSERT_EQ(std::vector<std::string>(fields.begin(), fields.end()), right);
    }
  }
}

TEST(Csv, TellsDTypesByValues) {
  const std::vector<std::string> ints{"1", "", "-3"};
  const std::vector<std::string> floats{"1", "2.5"};
  const std::vector<std::string> mixed{"1", "x"};
  EXPECT_EQ(infer_dtype(ints), DType::kInt64);
  EXPECT_EQ(infer_dtype(floats), DType::kFloat32);
  EXPECT_EQ(infer_dtype(mixed), DType::kString);
  EXPECT_EQ(infer_dtype({}), DType::kString);
}

TEST(Tar, GroupsFilesByKey) {
  TarBuilder tar;
  tar.directory("d/");
  tar.file("d/1.jpg", "JPEG").file("d/1.json", "{}").file("d/2.jpg", "J2");
  tar.file("d/2.seg.png", std::string(1000, 'p'));
  tar.file(std::string(150, 'n') + ".jpg", "long name");
  const std::string bytes = tar.finish();
  for (const std::size_t step : {512u, 700u, 100'000u}) {
    const auto samples = cut(TarSplitter(), bytes, step);
    ASSERT_EQ(samples.size(), 3u);
    std::vector<TarFile> files;
    ASSERT_TRUE(read_tar(samples[0], files).ok());
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0].name, "d/1.jpg");
    EXPECT_EQ(samples[0].substr(files[1].begin, files[1].size), "{}");
    ASSERT_TRUE(read_tar(samples[1], files).ok());
    EXPECT_EQ(files[1].name, "d/2.seg.png");
    EXPECT_EQ(files[1].size, 1000u);
    ASSERT_TRUE(read_tar(samples[2], files).ok());
    EXPECT_EQ(files[0].name.size(), 154u);
  }
}

TEST(Tar, CutAnywhereGivesWholeSamplesAndThenSaysSo) {
  TarBuilder tar;
  tar.file("a.x", "1").file("b.x", std::string(600, '2'));
  const std::string bytes = tar.finish();
  for (std::size_t end = 1; end < 512 * 3 + 600; end += 100) {
    const auto samples = cut(TarSplitter(), bytes.substr(0, end), 512);
    ASSERT_EQ(samples.size(), end > 1024 ? 2u : 1u) << end;
    EXPECT_THAT(samples.back(), HasSubstr("truncated")) << end;
  }
  EXPECT_THAT(cut(TarSplitter(), bytes.substr(0, 1024), 512),
              ElementsAre(HasSubstr("a.x")));
  std::string damaged = bytes;
  damaged[1024 + 5] ^= 1;
  EXPECT_THAT(cut(TarSplitter(), damaged, 512),
              ElementsAre(HasSubstr("a.x"), HasSubstr("damaged header")));
  EXPECT_THAT(cut(TarSplitter(), std::string(600, 'x'), 512),
              ElementsAre(HasSubstr("is it a tar file?")));
  EXPECT_THAT(cut(TarSplitter(), "", 512), IsEmpty());
}

TEST(Tar, NamesThatLeadOutAreRefused) {
  TarBuilder tar;
  tar.file("../a.x", "1").file("b.x", "2");
  EXPECT_THAT(
      cut(TarSplitter(), tar.finish(), 100'000),
      ElementsAre(HasSubstr("leads out of the archive"), HasSubstr("b.x")));
}

TEST(Tar, SparseFilesAreRefusedAndWhatFollowsIsRead) {
  // Zeros of the content look like the end of the archive.
  const std::string content = "x" + std::string(2000, '\0') + "x";
  TarBuilder tar;
  tar.file("1.x", "1").sparse("2.x", content, 0).file("3.x", "3");
  tar.sparse("4.x", content, 3).file("4.y", "4").file("5.x", "5");
  tar.sparse("notes", content, 2).file("6.x", "6");
  tar.pax({"GNU.sparse.major=1", "GNU.sparse.name=7.x"});
  tar.file("GNUSparseFile.0/7.x", content).file("8.x", "8");
  const std::string bytes = tar.finish();
  for (const std::size_t step : {100u, 512u, 100'000u}) {
    EXPECT_THAT(
        cut(TarSplitter(), bytes, step),
        ElementsAre(HasSubstr("1.x"), HasSubstr("'2.x' is a sparse file"),
                    HasSubstr("3.x"), HasSubstr("'4.x' is a sparse file"),
                    HasSubstr("5.x"), HasSubstr("6.x"),
                    HasSubstr("'7.x' is a sparse file"), HasSubstr("8.x")))
        << step;
  }
}

TEST(Tar, ASizeOfAPaxHeaderCounts) {
  TarBuilder tar;
  // Files above 8 GiB have none that counts in their own header.
  tar.pax({"path=1.x", "size=700"}).file("other", "");
  std::string bytes = tar.finish();
  bytes.resize(bytes.size() - 1024);
  TarBuilder rest;
  bytes += std::string(1024, '7') + rest.file("2.x", "2").finish();
  const auto samples = cut(TarSplitter(), bytes, 100'000);
  ASSERT_EQ(samples.size(), 2u);
  std::vector<TarFile> files;
  ASSERT_TRUE(read_tar(samples[0], files).ok());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].name, "1.x");
  EXPECT_EQ(samples[0].substr(files[0].begin, files[0].size),
            std::string(700, '7'));
  const std::string lie =
      TarBuilder().pax({"size=18446744073709551615"}).file("1.x", "").finish();
  EXPECT_THAT(cut(TarSplitter(), lie, 100'000),
              ElementsAre(HasSubstr("damaged header"), HasSubstr("1.x")));
}

TEST(Tar, KeysEndAtTheFirstDotOfTheLastPart) {
  std::string_view key;
  std::string_view field;
  split_tar_name("a.b/c.d.e", key, field);
  EXPECT_EQ(key, "a.b/c");
  EXPECT_EQ(field, "d.e");
  EXPECT_FALSE(split_tar_name("plain", key, field));
  EXPECT_EQ(key, "plain");
  EXPECT_EQ(field, "");
  for (const char* name : {"a.jpg", "d/_a_.x", "__a__.x", "d/__m__/a.x"}) {
    EXPECT_TRUE(split_tar_name(name, key, field)) << name;
  }
  for (const char* name :
       {"", ".hid", "d/.hid", "d/._a.jpg", "d.e/README", "a.", "d/", "..",
        "__x__/a.jpg", "__a.b__", "__meta__"}) {
    EXPECT_FALSE(split_tar_name(name, key, field)) << name;
  }
}

TEST(Tar, FilesOfNoSampleArePassedOver) {
  TarBuilder tar;
  const std::string large(3 << 20, 'r');
  tar.file("README", large).file("__m__/1.x", "m").file("1.x", "one");
  tar.file(".hid", "").file("1.y", "two").file("notes", large).file("2.x", "");
  tar.file("LICENSE", large);
  const std::string bytes = tar.finish();
  const auto names = [](const std::string& sample) {
    std::vector<TarFile> files;
    EXPECT_TRUE(read_tar(sample, files).ok());
    std::string all;
    for (const TarFile& f : files) all += f.name + " ";
    return all;
  };
  for (const std::size_t step : {5000u, 100'000u, 100'000'000u}) {
    const auto samples = cut(TarSplitter(), bytes, step, 2, 10);
    ASSERT_EQ(samples.size(), 2u);
    EXPECT_EQ(names(samples[0]), "1.x .hid 1.y ");
    EXPECT_EQ(names(samples[1]), "2.x ");
  }
  for (const std::size_t end : {1u << 20, 3u << 20}) {
    for (const std::size_t step : {5000u, 100'000'000u}) {
      EXPECT_THAT(cut(TarSplitter(), bytes.substr(0, end), step),
                  ElementsAre(HasSubstr("truncated")));
    }
  }
}

TEST(Tar, TheLimitIsForTheBytesOfTheFiles) {
  TarBuilder tar;
  tar.file("1.x", "1").file("1.y", std::string(49, '2'));
  tar.file("2.x", std::string(30, '1')).file("2.y", std::string(21, '2'));
  tar.file("3.x", "");
  for (const std::size_t step : {100u, 512u, 100'000u}) {
    EXPECT_THAT(cut(TarSplitter(), tar.finish(), step, 2, 50),
                ElementsAre(HasSubstr("1.y"), HasSubstr("has 51 bytes"),
                            HasSubstr("3.x")));
  }
}

std::string npy(const std::string& dict) {
  std::string header = dict;
  header.append(128 - 10 - dict.size() - 1, ' ').push_back('\n');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
}

TEST(Npy, HeaderTellsDTypeAndShape) {
  const auto header = parse_npy(
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->dtype, DType::kFloat32);
  EXPECT_EQ(header->shape, (Shape{3, 4}));
  EXPECT_EQ(header->data_offset, 128u);
  EXPECT_EQ(header->data_bytes, 48u);
  EXPECT_EQ(parse_npy(npy("{'descr': '|u1', 'fortran_order': False, "
                          "'shape': (5,), }"))
                ->shape,
            Shape{5});
}

TEST(Npy, SaysWhatItCannotRead) {
  const auto code = [](const std::string& bytes) {
    return parse_npy(bytes).status().code();
  };
  EXPECT_EQ(code("no"), StatusCode::kDataLoss);
  for (const char* dtype : {"<c8", "|O", "<M8[ns]", "|f8", "|S0", "<U", "|S-1",
                            "<U4294967296", "=i4"}) {
    EXPECT_EQ(code(npy(std::string("{'descr': '") + dtype +
                       "', 'fortran_order': False, 'shape': (3,)}")),
              StatusCode::kUnimplemented)
        << dtype;
  }
  EXPECT_EQ(code(npy("{'descr': '<U1073741824', 'shape': (4294967296,)}")),
            StatusCode::kDataLoss);
  EXPECT_EQ(code(npy("{'descr': [('a', '<f4')], 'shape': (3,)}")),
            StatusCode::kUnimplemented);
  EXPECT_EQ(code(npy("{'descr': '<f8', 'shape': (9223372036854775807, 9)}")),
            StatusCode::kDataLoss);
  EXPECT_EQ(code(npy("{'descr': '<f8', 'shape': (-1,)}")),
            StatusCode::kDataLoss);
  EXPECT_EQ(code(npy("{'descr': '<f8', 'shape': (1").substr(0, 40)),
            StatusCode::kDataLoss);
}

Tensor array_of(const std::string& dict, std::string_view data) {
  const auto header = parse_npy(npy(dict));
  EXPECT_TRUE(header.ok()) << header.status();
  EXPECT_TRUE(header->converted());
  EXPECT_EQ(header->data_bytes, data.size());
  return read_npy(*header, data).value();
}

TEST(Npy, ConvertsByteOrderAndFortranOrder) {
  using namespace std::string_view_literals;  // NOLINT
  const Tensor swapped =
      array_of("{'descr': '>i2', 'fortran_order': False, 'shape': (3,)}",
               "\x00\x01\x01\x00\xff\xfe"sv);
  EXPECT_EQ(swapped, Tensor::from(std::vector<std::int16_t>{1, 256, -2}));
  const Tensor turned =
      array_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}",
               "\x00\x0a\x01\x0b\x02\x0c"sv);
  const std::uint8_t rows[] = {0, 1, 2, 10, 11, 12};
  EXPECT_EQ(turned,
            Tensor::from(std::span<const std::uint8_t>(rows), Shape{2, 3}));
  // Without values, and with one dimension, there is nothing to turn.
  EXPECT_EQ(array_of("{'descr': '<f8', 'fortran_order': True, "
                     "'shape': (0, 3)}",
                     "")
                .shape(),
            (Shape{0, 3}));
  EXPECT_FALSE(parse_npy(npy("{'descr': '<f8', 'fortran_order': True, "
                             "'shape': (3,)}"))
                   ->converted());
}

TEST(Npy, StringsLoseTheirPadding) {
  using namespace std::string_view_literals;  // NOLINT
  const Tensor bytes =
      array_of("{'descr': '|S3', 'shape': (2, 2), 'fortran_order': True}",
               "a\0\0abc\0\0\0x\0y"sv);
  EXPECT_EQ(bytes.shape(), (Shape{2, 2}));
  EXPECT_THAT(bytes.strs(), ElementsAre("a", "", "abc", "x\0y"sv));
  EXPECT_THAT(array_of("{'descr': '<U2', 'shape': (3,)}",
                       "h\0\0\0\xe9\0\0\0\xac\x20\0\0\0\0\0\0"
                       "\0\xf6\x01\0\0\0\0\0"sv)
                  .strs(),
              ElementsAre("h\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"));
  EXPECT_THAT(array_of("{'descr': '>U1', 'shape': (1,)}", "\0\0\0z"sv).strs(),
              ElementsAre("z"));
  const auto header = parse_npy(npy("{'descr': '<U1', 'shape': (1,)}"));
  for (const std::string_view wrong : {"\0\xd8\0\0"sv, "\0\0\x11\0"sv}) {
    EXPECT_EQ(read_npy(*header, wrong).status().code(), StatusCode::kDataLoss);
  }
}

}  // namespace
}  // namespace penstock
