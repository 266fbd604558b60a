#include "penstock/formats/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "penstock/base/random.h"

namespace penstock {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Lines that lie side by side are parsed where they are.
TEST(Json, ALineDoesNotReadIntoTheNext) {
  const auto parser =
      JsonParser::make({{"i", DType::kInt64}, {"s", DType::kString}}).value();
  const std::string lines =
      "{\"i\": 1, \"s\": \"a\\n\\\"\"  }\n"
      "{\"s\": \"\", \"i\": 2}\n"
      "{\"i\": 3\n"
      "4, \"s\": \"x\"}\n"
      "{\"i\": 5, \"s\": \"open\n"
      "\"}\n"
      "{\"i\": 6, \"s\": \"\xc3\xa9 long enough to be followed by much\" }\n";
  for (const std::size_t gap : {1u, 0u}) {
    std::string text;
    std::vector<std::pair<std::size_t, std::size_t>> places;
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = lines.find('\n', at);
      places.emplace_back(text.size(), end - at);
      text += lines.substr(at, end - at + gap);
      at = end + 1;
    }
    std::vector<std::string_view> records;
    for (const auto& [at, size] : places) {
      records.push_back(std::string_view(text).substr(at, size));
    }
    std::vector<JsonParser::Values> out;
    std::vector<std::pair<std::int64_t, Status>> failed;
    ASSERT_TRUE(parser->parse(records, {}, out, failed).ok());
    std::vector<std::int64_t> bad;
    for (const auto& [row, status] : failed) bad.push_back(row);
    EXPECT_THAT(bad, ElementsAre(2, 3, 4, 5));
    EXPECT_THAT(out[0].values.as<std::int64_t>(),
                ElementsAre(1, 2, 0, 0, 0, 0, 6));
    EXPECT_EQ(out[1].values.str(0), "a\n\"");
    EXPECT_EQ(out[1].values.str(1), "");
    EXPECT_EQ(out[1].values.str(6),
              "\xc3\xa9 long enough to be followed by much");
  }
}

// Lines of a block are read as one stream; each must give what it gives alone.
TEST(Json, LinesTogetherGiveWhatEachGivesAlone) {
  const auto parser = JsonParser::make({{"i", DType::kInt64},
                                        {"s", DType::kString},
                                        {"l", DType::kInt64, /*list=*/true}})
                          .value();
  const std::vector<std::string> kinds = {
      R"({"i": 1, "s": "one", "l": [1, 2, 3]})",
      R"({"l": [], "s": "a \"quoted\" \u00e9", "i": -7, "more": {"x": [1]}})",
      R"(  {"i": 12345678901, "s": "spaces around"}  )",
      R"({"i": 1, "s": "cut)",
      R"({"i": 1)",
      R"("s": "two", "l": [4]})",
      R"({"i": "text", "s": "x"})",
      R"({"i": 3} {"s": "two on a line"})",
      R"({"i": 3, "s": "behind"} trailing)",
      R"([1, 2])",
      R"({"i": 5, "s": "l", "l": [1, "x"]})",
      R"({"s": "no i"})",
      "",
      "}",
      "\"",
      R"({"i": 9, "s": "\ud83d\ude00"})",
  };
  RandomStream random(7);
  for (int round = 0; round < 3'000; ++round) {
    std::string text;
    std::vector<std::pair<std::size_t, std::size_t>> at;
    const std::size_t lines = 1 + random.below(12);
    const bool mostly_right = round % 2 == 0;
    for (std::size_t i = 0; i < lines; ++i) {
      const std::string& line = kinds[mostly_right && random.below(8) > 0
                                          ? random.below(3)
                                          : random.below(kinds.size())];
      at.emplace_back(text.size(), line.size());
      text += line + (random.below(4) == 0 ? "\r\n" : "\n");
    }
    std::vector<std::string_view> records;
    for (const auto& [begin, size] : at) {
      records.push_back(std::string_view(text).substr(begin, size));
    }
    std::vector<JsonParser::Values> all;
    std::vector<std::pair<std::int64_t, Status>> failed;
    ASSERT_TRUE(parser->parse(records, {}, all, failed).ok());
    std::size_t next_failed = 0;
    for (std::size_t i = 0; i < lines; ++i) {
      std::vector<JsonParser::Values> one;
      std::vector<std::pair<std::int64_t, Status>> wrong;
      const std::string alone(records[i]);
      const std::string_view view = alone;
      ASSERT_TRUE(parser->parse({&view, 1}, {}, one, wrong).ok());
      const bool fails =
          next_failed < failed.size() &&
          failed[next_failed].first == static_cast<std::int64_t>(i);
      ASSERT_EQ(fails, !wrong.empty())
          << round << " line " << i << ": " << alone;
      if (fails) {
        ASSERT_EQ(failed[next_failed++].second, wrong[0].second) << alone;
        continue;
      }
      const auto row = static_cast<std::int64_t>(i);
      ASSERT_EQ(all[0].values.as<std::int64_t>()[i],
                one[0].values.as<std::int64_t>()[0]);
      ASSERT_EQ(all[1].values.str(row), one[1].values.str(0));
      const auto list = all[2].values.as<std::int64_t>().subspan(
          static_cast<std::size_t>(all[2].splits[i]),
          static_cast<std::size_t>(all[2].splits[i + 1] - all[2].splits[i]));
      const auto own = one[2].values.as<std::int64_t>();
      ASSERT_TRUE(std::equal(list.begin(), list.end(), own.begin(), own.end()));
    }
  }
}

/// The values of `field` in `lines`, which lie side by side and, once more,
/// each alone; "code: message" in place of errors.
std::vector<std::string> json_values(const JsonField& field,
                                     const std::vector<std::string>& lines) {
  const auto parser = JsonParser::make({field}).value();
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  // So that none is copied for its padding.
  const std::string behind(100, ' ');
  std::vector<std::string_view> records;
  const std::string all = text + behind;
  std::size_t at = 0;
  for (const std::string& line : lines) {
    records.push_back(std::string_view(all).substr(at, line.size()));
    at += line.size() + 1;
  }
  records.push_back(std::string_view(all).substr(at));
  const auto read = [&](std::span<const std::string_view> some) {
    std::vector<JsonParser::Values> out;
    std::vector<std::pair<std::int64_t, Status>> failed;
    EXPECT_TRUE(parser->parse(some, {}, out, failed).ok());
    std::vector<std::string> found;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const Tensor& v = out[0].values;
      found.push_back(v.dtype() == DType::kString
                          ? std::string(v.str(row))
                          : std::to_string(v.as<std::int64_t>()[i]));
      for (const auto& [bad, status] : failed) {
        if (bad == row) found.back() = std::string(to_std(status.ToString()));
      }
    }
    return found;
  };
  std::vector<std::string> found = read(records);
  found.pop_back();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(read({&records[i], 1}), std::vector<std::string>{found[i]});
  }
  return found;
}

TEST(Json, ALineIsOneWholeObject) {
  const auto damaged = HasSubstr("DATA_LOSS: not a JSON object");
  EXPECT_THAT(
      json_values({"a", DType::kInt64},
                  {R"({"a":1})", R"({"a":2}{"a":3})", R"({"a":4} 5)",
                   R"({"a":5,"b":"z",})", R"({"a":5,"b":"z","c":[1,})",
                   R"({"a":5,"b":"z","c":tru})", R"({"a":5,"c":[1})",
                   R"({"a":5]})", R"({"a":5,"c":{"d":1})", R"({"a":5}})",
                   R"({"a":6,"t":true,"n":null})", R"({"n":null,"a":7 } )",
                   R"({"a":8,"f":false})", R"({"a":9,"d":{"e":[{}]}})"}),
      ElementsAre("1", damaged, damaged, damaged, damaged, damaged, damaged,
                  damaged, damaged, damaged, "6", "7", "8", "9"));
}

TEST(Json, KeysMayBeWrittenWithEscapes) {
  JsonField deep{"v", DType::kInt64, false, Tensor::scalar(std::int64_t{-1})};
  deep.key =
      "gr\xc3\xb6\xc3\x9f"
      "e.\"v";
  EXPECT_THAT(
      json_values(
          deep, {R"({"gr\u00f6\u00dfe": {"\"v": 3}})",
                 R"({"x": "\n", "gr\u00f6\u00dfe": {"w": 1}})",
                 "{\"gr\xc3\xb6\xc3\x9f"
                 "e\": {\"\\u0022v\": 4}}",
                 R"({"gr\u00f6": 1, "\ud83d\ude00": [], "y": {}})",
                 R"({"gr\u00f6\u00dfe": null})", R"({"gr\u00f6\u00dfe": 1})"}),
      ElementsAre("3", "-1", "4", "-1", "-1", HasSubstr("must be int64")));
  EXPECT_THAT(json_values({"s", DType::kString}, {R"({"\u0073": "x\\"})"}),
              ElementsAre("x\\"));
  EXPECT_THAT(json_values({"s", DType::kString}, {R"({"\ux": 1})"}),
              ElementsAre(HasSubstr("DATA_LOSS")));
}

TEST(Json, ANullInPlaceOfAnObjectIsMissing) {
  JsonField field{"v", DType::kInt64, false, Tensor::scalar(std::int64_t{7})};
  field.key = "o.p.v";
  EXPECT_THAT(
      json_values(field, {R"({"o":null})", R"({"o":{"p":null}, "q": 1})",
                          R"({"o":{"p":{"v":null}}})", R"({"o":{"p":{"v":2}}})",
                          R"({"o":{"p":1}})", R"({"o":nul})"}),
      ElementsAre("7", "7", "7", "2", HasSubstr("must be int64"),
                  HasSubstr("DATA_LOSS: not a JSON object")));
}

TEST(Json, DamageIsFoundWhereNobodyAsksForTheValue) {
  std::vector<std::string> lines;
  for (const char* value :
       {"01",         "1.",     "-",          "+1",          ".5",
        "1e",         "1e+",    "0x10",       "1_0",         "NaN",
        "tru",        "nulll",  "\"\\q\"",    "\"\\u12g4\"", "\"\\u12",
        "[1 2]",      "[1,]",   "[,1]",       "[1,2",        "{\"x\"}",
        "{\"x\":}",   "{x:1}",  "{\"x\":1,}", "{\"x\":1 2}", "[1}",
        "{\"x\":[}]", "1\"x\"", "\"a\"b",     "[\"a\"1]",    "",
        ",",          ":"}) {
    lines.push_back(absl::StrCat("{\"u\": ", value, ", \"i\": 1}"));
    lines.push_back(absl::StrCat("{\"i\": 1, \"u\": [0, ", value, "]}"));
  }
  EXPECT_THAT(json_values({"i", DType::kInt64}, lines),
              Each(HasSubstr("DATA_LOSS: not a JSON object")));
}

TEST(Json, WhatNobodyAsksForIsPassedOver) {
  std::vector<std::string> lines;
  std::vector<std::string> one;
  for (const char* value :
       {"0", "-0.5e-7", "10E+20", "true", "false", "null", "\"\"",
        "\"\\ud800 \\/\\b\\f\"", "[]", "{}", "[[], {}, [[{}]]]",
        "{\"x\": {\"i\": 2}, \"y\":[1 , 2.5,\"z\" ]}", " [ 1 , -2 , 3e1 ] "}) {
    lines.push_back(absl::StrCat("{\"u\": ", value, ", \"i\" : 1}"));
    lines.push_back(absl::StrCat("{\"i\":1,\"u\":[0,", value, "]}"));
    one.insert(one.end(), {"1", "1"});
  }
  EXPECT_EQ(json_values({"i", DType::kInt64}, lines), one);
}

TEST(Json, OfEqualKeysTheLastOneCounts) {
  const JsonField number{"v", DType::kInt64, false,
                         Tensor::scalar(std::int64_t{7})};
  EXPECT_THAT(
      json_values(number, {R"({"v": 1, "v": 2})", R"({"v": "x", "v": 3})",
                           R"({"v": 4, "v": null})", R"({"v": 5, "v": "x"})",
                           R"({"v": 1, "\u0076": 6, "w": 0})"}),
      ElementsAre("2", "3", "7", HasSubstr("must be int64"), "6"));
  EXPECT_THAT(json_values({"s", DType::kString},
                          {R"({"s": "one", "t": 0, "s": "two"})"}),
              ElementsAre("two"));
  JsonField deep = number;
  deep.key = "o.v";
  EXPECT_THAT(json_values(deep, {R"({"o": {"v": 1}, "o": {"v": 2}})",
                                 R"({"o": {"v": 1}, "o": {"w": 2}})",
                                 R"({"o": {"v": 1}, "o": null})",
                                 R"({"o": 3, "o": {"v": 4}})"}),
              ElementsAre("2", "7", "7", "4"));
  const auto parser =
      JsonParser::make({{"l", DType::kInt64, /*list=*/true}}).value();
  const std::vector<std::string_view> records{
      R"({"l": [1, 2]})", R"({"l": [3], "l": [4, 5, 6]})",
      R"({"l": [7, "x"], "l": [8]})", R"({"l": [9], "l": null})"};
  std::vector<JsonParser::Values> out;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, out, failed).ok());
  EXPECT_TRUE(failed.empty());
  EXPECT_THAT(out[0].values.as<std::int64_t>(), ElementsAre(1, 2, 4, 5, 6, 8));
  EXPECT_THAT(out[0].splits, ElementsAre(0, 2, 5, 6, 6));
}

TEST(Json, OneKeyMayHaveSeveralFields) {
  const auto field = [](const char* name, DType dtype, const char* key) {
    JsonField f{name, dtype};
    f.key = key;
    return f;
  };
  JsonField inside = field("c", DType::kInt64, "a.b");
  inside.default_value = Tensor::scalar(std::int64_t{-1});
  const auto parser =
      JsonParser::make({field("i", DType::kInt64, "x"),
                        field("f", DType::kFloat64, "x"), inside})
          .value();
  const std::vector<std::string_view> records{
      R"({"x": 3, "a": {"b": 4}})", R"({"a": null, "x": -5})", R"({"x": 0.5})"};
  std::vector<JsonParser::Values> out;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, out, failed).ok());
  EXPECT_THAT(out[0].values.as<std::int64_t>(), ElementsAre(3, -5, 0));
  EXPECT_THAT(out[1].values.as<double>(), ElementsAre(3, -5, 0));
  EXPECT_THAT(out[2].values.as<std::int64_t>(), ElementsAre(4, -1, 0));
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(to_std(failed[0].second.message()), "field 'i' must be int64");
}

TEST(Json, DoublesAreTheNearest) {
  std::vector<std::string> texts{
      "0",
      "-0",
      "-0.0",
      "1",
      "0.1",
      "123456789012345",
      "1234567890123456",
      "9007199254740993",
      "0.1234567890123456",
      "3.141592653589793238462643",
      "1e22",
      "1e23",
      "-1.5E-3",
      "4.9e-324",
      "1e-400",
      "1.7976931348623157e308",
      "5e-1",
      "100e-2",
      "0.000000000000000000000000000001",
      absl::StrCat("0.", std::string(400, '0'), "1e401"),
      absl::StrCat("1", std::string(300, '0'))};
  RandomStream random(3);
  for (int i = 0; i < 3'000; ++i) {
    const auto bits = static_cast<std::int64_t>(random.next_u64());
    const int digits = static_cast<int>(random.below(19));
    std::string text = std::to_string(bits).substr(0, 2 + digits);
    if (text.back() == '-') text += '1';
    if (i % 2 == 0) absl::StrAppend(&text, ".", random.below(1'000'000));
    if (i % 3 == 0) {
      absl::StrAppend(&text, "e", static_cast<int>(random.below(60)) - 30);
    }
    texts.push_back(std::move(text));
  }
  for (const bool narrow : {false, true}) {
    const auto parser =
        JsonParser::make({{"d", narrow ? DType::kFloat32 : DType::kFloat64}})
            .value();
    std::string lines;
    for (const std::string& text : texts) {
      absl::StrAppend(&lines, "{\"d\": ", text, "}\n");
    }
    std::vector<std::string_view> records;
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = lines.find('\n', at);
      records.push_back(std::string_view(lines).substr(at, end - at));
      at = end + 1;
    }
    std::vector<JsonParser::Values> out;
    std::vector<std::pair<std::int64_t, Status>> failed;
    ASSERT_TRUE(parser->parse(records, {}, out, failed).ok());
    ASSERT_TRUE(failed.empty()) << failed[0].second;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const double right = std::strtod(texts[i].c_str(), nullptr);
      const double got =
          narrow ? out[0].values.as<float>()[i] : out[0].values.as<double>()[i];
      const double expected =
          narrow ? static_cast<double>(static_cast<float>(right)) : right;
      ASSERT_EQ(got, expected) << texts[i];
      ASSERT_EQ(std::signbit(got), std::signbit(expected)) << texts[i];
    }
  }
  EXPECT_THAT(json_values({"d", DType::kInt64}, {R"({"d": 1e3})"}),
              ElementsAre(HasSubstr("must be int64")));
}

TEST(Json, BracketsMayBe1024Deep) {
  for (const int depth : {1'022, 1'023, 1'024}) {
    for (const bool objects : {false, true}) {
      std::string open;
      for (int i = 0; i < depth; ++i) open += objects ? "{\"x\":" : "[";
      const std::string line = absl::StrCat(
          "{\"u\":", open, "1",
          std::string(static_cast<std::size_t>(depth), objects ? '}' : ']'),
          ",\"i\":1}");
      EXPECT_THAT(json_values({"i", DType::kInt64}, {line}),
                  ElementsAre(HasSubstr(depth < 1'024 ? "1" : "DATA_LOSS")));
    }
  }
}

// Keys of a line are guessed by those of the line before.
TEST(Json, KeysMayComeInAnyOrder) {
  const std::vector<std::string> members{
      R"("i": 1)",
      R"("i2":2)",
      R"("a key of more than sixteen bytes" : 3)",
      R"("a key of more than sixteen bytez": 4)",
      R"("": 5)",
      R"("j":[{}])",
      R"("i\u0032x": 6)",
      R"("abcdefg": 7)",
      R"("abcdefgh": 8)"};
  JsonField last{"a key of more than sixteen bytes", DType::kInt64, false,
                 Tensor::scalar(std::int64_t{-1})};
  RandomStream random(5);
  std::vector<std::string> lines;
  std::vector<std::string> right;
  for (int i = 0; i < 2'000; ++i) {
    std::string line;
    std::string value = "-1";
    const std::uint64_t first = random.below(members.size());
    const std::uint64_t count = random.below(members.size() + 1);
    for (std::uint64_t m = 0; m < count; ++m) {
      const std::uint64_t which = (first + m * (i % 2 + 1)) % members.size();
      absl::StrAppend(&line, m == 0 ? "" : ", ", members[which]);
      if (which == 2) value = "3";
    }
    lines.push_back(absl::StrCat("{", line, "}"));
    right.push_back(value);
  }
  EXPECT_EQ(json_values(last, lines), right);
}

template <class T>
void expect_range(const std::string& low, const std::string& high,
                  const std::string& below, const std::string& above) {
  const DType dtype = dtype_of<T>();
  const auto parser =
      JsonParser::make({{"i", dtype},
                        {"d", dtype, false, Tensor::scalar(T{5})},
                        {"l", dtype, true}})
          .value();
  const std::vector<std::string> lines{
      "{\"i\": " + low + ", \"l\": [" + low + ", " + high + "]}",
      "{\"i\": " + high + "}",
      "{\"i\": " + below + "}",
      "{\"i\": " + above + "}",
      "{\"i\": 1, \"l\": [" + above + "]}",
      "{\"i\": 1.5}"};
  const std::vector<std::string_view> records(lines.begin(), lines.end());
  std::vector<JsonParser::Values> out;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, out, failed).ok());
  using Limits = std::numeric_limits<T>;
  ASSERT_EQ(out[0].values.dtype(), dtype);
  EXPECT_EQ(out[0].values.template as<T>()[0], Limits::min());
  EXPECT_EQ(out[0].values.template as<T>()[1], Limits::max());
  EXPECT_EQ(out[1].values.template as<T>()[1], T{5});
  EXPECT_THAT(out[2].values.template as<T>(),
              ElementsAre(Limits::min(), Limits::max()));
  ASSERT_EQ(failed.size(), 4u);
  EXPECT_THAT(std::string(to_std(failed[0].second.message())),
              HasSubstr("field 'i' must be " + std::string(dtype_name(dtype))));
}

TEST(Json, IntegersOfEveryWidthAreKeptToTheirRange) {
  expect_range<std::int8_t>("-128", "127", "-129", "128");
  expect_range<std::int16_t>("-32768", "32767", "-32769", "32768");
  expect_range<std::int32_t>("-2147483648", "2147483647", "-2147483649",
                             "2147483648");
  expect_range<std::int64_t>("-9223372036854775808", "9223372036854775807",
                             "-9223372036854775809", "9223372036854775808");
  expect_range<std::uint8_t>("0", "255", "-1", "256");
  expect_range<std::uint16_t>("0", "65535", "-1", "65536");
  expect_range<std::uint32_t>("0", "4294967295", "-1", "4294967296");
  expect_range<std::uint64_t>("0", "18446744073709551615", "-1",
                              "18446744073709551616");
}

TEST(Json, Float16IsRoundedAndKeptToItsRange) {
  const auto parser = JsonParser::make({{"h", DType::kFloat16}}).value();
  const std::vector<std::string_view> records{
      R"({"h": 0.1})", R"({"h": 65504})", R"({"h": 70000})"};
  std::vector<JsonParser::Values> out;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, out, failed).ok());
  EXPECT_EQ(out[0].values.as<Float16>()[0], to_float16(0.1f));
  EXPECT_EQ(to_float(out[0].values.as<Float16>()[1]), 65504);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(to_std(failed[0].second.message()), "field 'h' must be float16");
}

TEST(Json, ReadsFieldsListsAndNestedKeys) {
  JsonField deep{"deep", DType::kFloat64};
  deep.key = "a.b";
  const auto parser =
      JsonParser::make({{"i", DType::kInt64},
                        {"s", DType::kString, false, Tensor::string("none")},
                        {"l", DType::kFloat32, true},
                        {"t", DType::kBool, false, Tensor::scalar(false)},
                        deep})
          .value();
  const std::vector<std::string_view> records{
      R"({"i": 1, "s": "x\u00e9\n", "l": [1, 2.5], "t": true, "a": {"b": 2}})",
      R"({"a": {"c": 0, "b": -1.5}, "l": [], "i": -5, "s": null})",
      R"({"i": "1", "a": {"b": 1}})",
      R"({"a": {"b": 1}})",
      R"(not json)",
      R"({"i": 3, "l": ["x"], "a": {"b": 1}})",
      R"({"i": 4, "a": {"b": 9}})"};
  std::vector<JsonParser::Values> out;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, out, failed).ok());
  ASSERT_EQ(out[0].values.num_elements(), 7);
  EXPECT_EQ(out[0].values.as<std::int64_t>()[1], -5);
  EXPECT_EQ(out[0].values.as<std::int64_t>()[6], 4);
  EXPECT_EQ(out[1].values.str(0), "x\xc3\xa9\n");
  EXPECT_EQ(out[1].values.str(1), "none");
  EXPECT_EQ(out[1].values.str(6), "none");
  EXPECT_THAT(out[2].values.as<float>(), ElementsAre(1, 2.5f));
  EXPECT_THAT(out[2].splits, ElementsAre(0, 2, 2, 2, 2, 2, 2, 2));
  EXPECT_EQ(out[4].values.as<double>()[1], -1.5);
  std::vector<std::string> messages;
  for (const auto& [row, status] : failed) {
    messages.push_back(std::to_string(row) + " " +
                       std::string(to_std(status.message())));
  }
  EXPECT_THAT(messages,
              ElementsAre("2 field 'i' must be int64",
                          "3 field 'i' is missing and has no default_value",
                          HasSubstr("4 not a JSON object"),
                          "5 field 'l' must be a list of float32"));
}

}  // namespace
}  // namespace penstock
