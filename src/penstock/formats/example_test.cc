#include "penstock/formats/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "penstock/formats/tensor_bytes.h"
#include "tests/support/hex.h"

namespace penstock {
namespace {

using protozero::pbf_writer;
using ::testing::ElementsAre;
using testing::from_hex;
using ::testing::HasSubstr;

// All written by TensorFlow 2.21.
const std::string& tf_example() {
  static const auto* const bytes = new std::string(from_hex(
      "0a4e0a050a016512000a150a01661210120e0a0c0000c03f000000c0000050400a"
      "1c0a016912171a150a1301ffffffffffffffffff01808080808020ac020a100a01"
      "73120b0a090a01780a000a02797a"));
  return *bytes;
}
const std::string& tf_sequence() {
  static const auto* const bytes = new std::string(from_hex(
      "0a0d0a0b0a02696412051a030a010712370a1a0a03746f6b12130a061a040a0201"
      "020a021a000a051a030a01030a190a017712140a0812060a040000003f0a081206"
      "0a040000c03f"));
  return *bytes;
}

StatusOr<Element> parse_one(std::string_view record,
                            std::vector<Feature> features) {
  PS_ASSIGN_OR_RETURN(const auto parser,
                      ExampleParser::make(std::move(features)));
  std::vector<FeatureColumn> columns;
  std::vector<std::pair<std::int64_t, Status>> failed;
  PS_RETURN_IF_ERROR(parser->parse({&record, 1}, {}, columns, failed));
  if (!failed.empty()) return failed[0].second;
  Element row = parser->row(columns, 0);
  EXPECT_TRUE(parser->spec().check(row).ok());
  return row;
}

std::string feature(std::uint32_t kind, const std::string& list) {
  std::string out;
  pbf_writer(out).add_message(kind, list);
  return out;
}
std::string entry(const std::string& key, const std::string& value) {
  std::string pair;
  pbf_writer writer(pair);
  writer.add_string(1, key);
  writer.add_message(2, value);
  return pair;
}
std::string example(const std::vector<std::string>& entries) {
  std::string features;
  for (const std::string& e : entries) pbf_writer(features).add_message(1, e);
  std::string out;
  pbf_writer(out).add_message(1, features);
  return out;
}
std::string ints(const std::vector<std::int64_t>& values, bool packed = true) {
  std::string list;
  pbf_writer writer(list);
  if (packed) {
    writer.add_packed_int64(1, values.begin(), values.end());
  } else {
    for (const std::int64_t v : values) writer.add_int64(1, v);
  }
  return feature(3, list);
}
std::string floats(const std::vector<float>& values, bool packed = true) {
  std::string list;
  pbf_writer writer(list);
  if (packed) {
    writer.add_packed_float(1, values.begin(), values.end());
  } else {
    for (const float v : values) writer.add_float(1, v);
  }
  return feature(2, list);
}

TEST(Example, ReadsWhatTensorFlowWrites) {
  const auto row =
      parse_one(tf_example(), {fixed_len_feature("f", DType::kFloat32, {3}),
                               var_len_feature("i", DType::kInt64),
                               fixed_len_feature("s", DType::kString, {3}),
                               var_len_feature("e", DType::kFloat32)});
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_THAT((*row)["f"].as<float>(), ElementsAre(1.5f, -2.0f, 3.25f));
  EXPECT_THAT((*row)["i"].as<std::int64_t>(),
              ElementsAre(1, -1, std::int64_t{1} << 40, 300));
  EXPECT_THAT((*row)["s"].strs(), ElementsAre("x", "", "yz"));
  EXPECT_EQ((*row)["e"].num_elements(), 0);
}

TEST(Example, WritesWhatTensorFlowWrites) {
  const std::vector<std::string_view> strings{"x", "", "yz"};
  const Element dict = Element::dict(
      {{"s", Tensor::strings(strings, Shape{3}).value()},
       {"i", Tensor::from<std::int64_t>({1, -1, std::int64_t{1} << 40, 300})},
       {"f", Tensor::from<float>({1.5f, -2.0f, 3.25f})}});
  // As TensorFlow's, without its feature "e" that holds nothing.
  std::string wanted = tf_example();
  const std::string empty = from_hex("0a050a01651200");
  wanted.erase(wanted.find(empty), empty.size());
  wanted[1] = static_cast<char>(wanted[1] - static_cast<char>(empty.size()));
  EXPECT_EQ(serialize_example(dict).value(), wanted);
  EXPECT_THAT(
      serialize_example(Element(Tensor::scalar(1.0f))).status().message(),
      HasSubstr("must be a dict"));
}

TEST(Example, PackedAndUnpackedListsAreTheSame) {
  for (const bool packed : {true, false}) {
    const auto row =
        parse_one(example({entry("i", ints({5, -7, 1'000'000}, packed)),
                           entry("f", floats({1, 2}, packed))}),
                  {fixed_len_feature("i", DType::kInt64, {3}),
                   fixed_len_feature("f", DType::kFloat32, {2})});
    ASSERT_TRUE(row.ok()) << row.status();
    EXPECT_THAT((*row)["i"].as<std::int64_t>(), ElementsAre(5, -7, 1'000'000));
    EXPECT_THAT((*row)["f"].as<float>(), ElementsAre(1, 2));
  }
}

TEST(Example, LastValueOfAKeyWinsAndOthersArePassedOver) {
  const auto row =
      parse_one(example({entry("a", ints({1, 2, 3})), entry("x", ints({9})),
                         entry("a", ints({4}))}),
                {var_len_feature("a", DType::kInt64)});
  ASSERT_TRUE(row.ok());
  EXPECT_THAT((*row)["a"].as<std::int64_t>(), ElementsAre(4));
}

TEST(Example, SaysWhatDoesNotFit) {
  const std::string record = example({entry("a", ints({1, 2, 3}))});
  const auto message = [&](Feature f) {
    return std::string(
        to_std(parse_one(record, {std::move(f)}).status().message()));
  };
  EXPECT_EQ(message(fixed_len_feature("a", DType::kInt64, {2})),
            "feature 'a' must have 2 values for shape (2,), the record has 3");
  EXPECT_EQ(message(fixed_len_feature("a", DType::kFloat32, {3})),
            "feature 'a' must be float32, the record has int64");
  EXPECT_EQ(message(fixed_len_feature("b", DType::kInt64)),
            "feature 'b' is missing and has no default_value");
  EXPECT_EQ(message(fixed_len_sequence_feature("a", DType::kInt64, {2})),
            "feature 'a' must have a multiple of 2 values, the record has a "
            "remainder of 1");
  EXPECT_THAT(
      to_std(parse_one("\xff\xff\xff", {var_len_feature("a", DType::kInt64)})
                 .status()
                 .message()),
      HasSubstr("not a tf.train.Example"));
}

TEST(Example, DefaultsStandForWhatIsMissing) {
  const auto row = parse_one(
      example({entry("n", "")}),
      {fixed_len_feature("n", DType::kInt64, {2},
                         Tensor::scalar(std::int64_t{7})),
       fixed_len_feature("v", DType::kFloat32, {2},
                         Tensor::from<float>({1, 2})),
       fixed_len_feature("s", DType::kString, {}, Tensor::string("none"))});
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_THAT((*row)["n"].as<std::int64_t>(), ElementsAre(7, 7));
  EXPECT_THAT((*row)["v"].as<float>(), ElementsAre(1, 2));
  EXPECT_EQ((*row)["s"].str(), "none");
}

TEST(Example, RefusesFeaturesThatCannotBe) {
  const auto message = [](std::vector<Feature> f) {
    return std::string(
        to_std(ExampleParser::make(std::move(f)).status().message()));
  };
  EXPECT_EQ(message({}), "features must be given, got none");
  EXPECT_EQ(message({var_len_feature("a", DType::kInt32)}),
            "feature 'a' must be float32, int64 or string, got int32");
  EXPECT_EQ(message({var_len_feature("a", DType::kInt64),
                     var_len_feature("a", DType::kInt64)}),
            "feature 'a' is given twice");
  EXPECT_THAT(message({fixed_len_feature("a", DType::kInt64, {-1})}),
              HasSubstr("must have a known shape"));
  EXPECT_THAT(message({fixed_len_feature("a", DType::kInt64, {},
                                         Tensor::scalar(1.0f))}),
              HasSubstr("default_value"));
}

TEST(Example, OneFailureLeavesTheOtherRecordsOfABlockWhole) {
  const auto parser =
      ExampleParser::make(
          {fixed_len_feature("a", DType::kInt64, {2}),
           var_len_feature("v", DType::kFloat32),
           fixed_len_feature("s", DType::kString, {}, Tensor::string("d")),
           fixed_len_sequence_feature("q", DType::kInt64, {2})})
          .value();
  const std::string good =
      example({entry("a", ints({1, 2})), entry("v", floats({1, 2, 3})),
               entry("q", ints({1, 2, 3, 4}))});
  const std::string short_one =
      example({entry("v", floats({9})), entry("q", ints({7, 7})),
               entry("a", ints({1}))});
  const std::string late =
      example({entry("a", ints({5, 6})), entry("v", floats({8, 8})),
               entry("q", ints({1, 2, 3}))});
  const std::string cut = good.substr(0, 9);
  const std::vector<std::string_view> records{good, short_one, "",  late,
                                              good, cut,       good};
  std::vector<FeatureColumn> columns;
  std::vector<std::pair<std::int64_t, Status>> failed;
  const std::vector<std::int64_t> skip{4};
  ASSERT_TRUE(parser->parse(records, skip, columns, failed).ok());
  std::vector<std::int64_t> rows;
  for (const auto& f : failed) rows.push_back(f.first);
  EXPECT_THAT(rows, ElementsAre(1, 2, 3, 5));
  for (const std::int64_t i : {0, 6}) {
    const Element row = parser->row(columns, i);
    EXPECT_THAT(row["a"].as<std::int64_t>(), ElementsAre(1, 2));
    EXPECT_THAT(row["v"].as<float>(), ElementsAre(1, 2, 3));
    EXPECT_EQ(row["s"].str(), "d");
    EXPECT_EQ(row["q"].shape(), (Shape{2, 2}));
  }
  EXPECT_EQ(parser->row(columns, 1)["v"].num_elements(), 0);
}

TEST(Example, BatchesAreRaggedOrPadded) {
  const auto parser =
      ExampleParser::make(
          {var_len_feature("v", DType::kInt64),
           fixed_len_sequence_feature("q", DType::kInt64, {},
                                      Tensor::scalar(std::int64_t{-1}))})
          .value();
  const std::string a =
      example({entry("v", ints({1, 2})), entry("q", ints({1}))});
  const std::string b = example({entry("q", ints({2, 3, 4}))});
  const std::vector<std::string_view> records{a, b};
  std::vector<FeatureColumn> columns;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, columns, failed).ok());
  const Element batch = parser->batch(columns).value();
  EXPECT_TRUE(parser->batch_spec(2).check(batch).ok());
  EXPECT_THAT(batch.child("v")[0].as<std::int64_t>(), ElementsAre(1, 2));
  EXPECT_THAT(batch.child("v")[1].as<std::int64_t>(), ElementsAre(0, 2, 2));
  EXPECT_EQ(batch["q"].shape(), (Shape{2, 3}));
  EXPECT_THAT(batch["q"].as<std::int64_t>(), ElementsAre(1, -1, -1, 2, 3, 4));
}

TEST(Example, OneKeyMayFeedTwoFeatures) {
  Feature again = var_len_feature("again", DType::kInt64);
  again.key = "a";
  const auto row =
      parse_one(example({entry("a", ints({1, 2}))}),
                {fixed_len_feature("a", DType::kInt64, {2}), again});
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ((*row)["again"].num_elements(), 2);
  EXPECT_EQ((*row)["a"].num_elements(), 2);
}

TEST(Example, EveryCutOfARecordIsReadOrRefused) {
  const std::string& whole = tf_example();
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const auto row =
        parse_one(whole.substr(0, cut), {var_len_feature("i", DType::kInt64),
                                         var_len_feature("s", DType::kString)});
    EXPECT_TRUE(row.ok() == (cut == 0)) << cut;
  }
}

/// A message of one field inside the other, `tags` from the outside in, around
/// `value`; the length of field `wrong` is `more` too large.
std::string nested(const std::vector<std::uint32_t>& tags, std::size_t wrong,
                   std::uint64_t more, std::string value) {
  for (std::size_t i = tags.size(); i-- > 0;) {
    std::string field(1, static_cast<char>(tags[i] << 3 | 2));
    protozero::write_varint(std::back_inserter(field),
                            value.size() + (i == wrong ? more : 0));
    // The key of a map's entry stands before its value.
    if (i > 0 && tags[i] == 2) field = "\x0a\x01k" + field;
    value = field + value;
  }
  return value;
}

constexpr std::uint64_t kTooLong[] = {1, 1ull << 31, 1ull << 32, 1ull << 40,
                                      1ull << 63};

TEST(Example, LengthsAreCheckedWithAllTheirBits) {
  const std::pair<DType, std::string> kinds[] = {
      {DType::kString, "abcd"},
      {DType::kFloat32, std::string(8, '\0')},
      {DType::kInt64, "\x01\x02"}};
  for (const auto& [dtype, value] : kinds) {
    const std::uint32_t kind = dtype == DType::kString    ? 1
                               : dtype == DType::kFloat32 ? 2
                                                          : 3;
    // Example.features, its entry, the entry's value, the list, its values.
    const std::vector<std::uint32_t> tags{1, 1, 2, kind, 1};
    const auto parse = [&](std::size_t wrong, std::uint64_t more) {
      return parse_one(nested(tags, wrong, more, value),
                       {var_len_feature("k", dtype)});
    };
    const auto whole = parse(0, 0);
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_GT((*whole)["k"].num_elements(), 0);
    for (std::size_t wrong = 0; wrong < tags.size(); ++wrong) {
      for (const std::uint64_t more : kTooLong) {
        EXPECT_EQ(parse(wrong, more).status().code(),
                  absl::StatusCode::kDataLoss)
            << dtype_name(dtype) << " " << wrong << " " << more;
      }
    }
  }
  // Of a field that is passed over, too.
  std::string skipped(1, static_cast<char>(7 << 3 | 2));
  protozero::write_varint(std::back_inserter(skipped), 1ull << 32);
  EXPECT_EQ(
      parse_one(skipped, {var_len_feature("k", DType::kInt64)}).status().code(),
      absl::StatusCode::kDataLoss);
}

TEST(SequenceExample, LengthsAreCheckedWithAllTheirBits) {
  const auto parser =
      SequenceExampleParser::make({}, {ragged_feature("k", DType::kInt64)})
          .value();
  // feature_lists, its entry, the entry's value, a step, the list, its values.
  const std::vector<std::uint32_t> tags{2, 1, 2, 1, 3, 1};
  const auto whole = parser->parse(nested(tags, 0, 0, "\x05"));
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_THAT(whole->child(1).child("k")[0].as<std::int64_t>(), ElementsAre(5));
  for (std::size_t wrong = 0; wrong < tags.size(); ++wrong) {
    for (const std::uint64_t more : kTooLong) {
      EXPECT_EQ(
          parser->parse(nested(tags, wrong, more, "\x05")).status().code(),
          absl::StatusCode::kDataLoss)
          << wrong << " " << more;
    }
  }
}

TEST(TensorBytes, LengthsAreCheckedWithAllTheirBits) {
  const std::string bytes =
      serialize_tensor(Tensor::from<float>({1.5f})).value();
  // The last field is the content: its length is the byte before it.
  const std::size_t at = bytes.size() - sizeof(float) - 1;
  ASSERT_EQ(bytes[at], 4);
  for (const std::uint64_t more : kTooLong) {
    std::string damaged = bytes.substr(0, at);
    protozero::write_varint(std::back_inserter(damaged), 4 + more);
    damaged += bytes.substr(at + 1);
    EXPECT_EQ(parse_tensor(damaged).status().code(),
              absl::StatusCode::kDataLoss)
        << more;
  }
}

TEST(SequenceExample, ReadsWhatTensorFlowWrites) {
  const auto parser = SequenceExampleParser::make(
                          {fixed_len_feature("id", DType::kInt64)},
                          {ragged_feature("tok", DType::kInt64),
                           fixed_len_sequence_feature("w", DType::kFloat32),
                           fixed_len_sequence_feature("none", DType::kInt64)})
                          .value();
  const auto got = parser->parse(tf_sequence());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(parser->spec().check(*got).ok());
  EXPECT_EQ(got->child(0)["id"].value<std::int64_t>(), 7);
  const Element sequences = got->child(1);
  EXPECT_THAT(sequences.child("tok")[0].as<std::int64_t>(),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(sequences.child("tok")[1].as<std::int64_t>(),
              ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(sequences["w"].as<float>(), ElementsAre(0.5f, 1.5f));
  EXPECT_EQ(sequences["none"].shape(), Shape{0});
}

TEST(SequenceExample, SaysWhichStepDoesNotFit) {
  const auto parser =
      SequenceExampleParser::make(
          {}, {fixed_len_sequence_feature("tok", DType::kInt64, {2})})
          .value();
  EXPECT_EQ(to_std(parser->parse(tf_sequence()).status().message()),
            "feature 'tok' step 1 must have 2 values, the record has 0");
  EXPECT_THAT(to_std(SequenceExampleParser::make(
                         {}, {fixed_len_feature("a", DType::kInt64)})
                         .status()
                         .message()),
              HasSubstr("must be FixedLenSequence, VarLen or Ragged"));
}

TEST(TensorBytes, AreThoseOfTensorFlow) {
  const auto check = [](const Tensor& t, std::string_view hex) {
    const std::string bytes = from_hex(hex);
    EXPECT_EQ(serialize_tensor(t).value(), bytes);
    EXPECT_EQ(parse_tensor(bytes).value(), t);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      const auto part = parse_tensor(bytes.substr(0, cut));
      EXPECT_FALSE(part.ok() && *part == t) << cut;
    }
  };
  check(Tensor::from<std::int32_t>({1, 2, 3, 4, 5, 6}).reshaped(Shape{2, 3}),
        "0803120812020802120208032218010000000200000003000000040000000500000006"
        "000000");
  check(Tensor::from<float>({1.5f, -2.0f}),
        "080112041202080222080000c03f000000c0");
  const std::vector<std::string_view> strings{"ab", ""};
  check(Tensor::strings(strings, Shape{2}).value(),
        "0807120412020802420261624200");
  check(Tensor::scalar(std::int64_t{7}), "0809120022080700000000000000");
}

TEST(TensorBytes, ReadsListsOfValuesAndRepeatsTheLast) {
  // dtype int32, shape [3], int_val: 4, 5 (packed).
  EXPECT_THAT(parse_tensor(from_hex("08031204120208033a020405"))
                  .value()
                  .as<std::int32_t>(),
              ElementsAre(4, 5, 5));
  EXPECT_THAT(
      to_std(parse_tensor(from_hex("08031204120208033a020405"), DType::kFloat32)
                 .status()
                 .message()),
      HasSubstr("dtype must be float32, the tensor has int32"));
  // 2^40 elements from two values.
  EXPECT_FALSE(
      parse_tensor(from_hex("080312091207088080808080203a020405")).ok());
}

TEST(DecodeRaw, GivesTheValuesInEitherByteOrder) {
  const std::string bytes("\x01\x00\x02\x00", 4);
  EXPECT_THAT(decode_raw(bytes, DType::kInt16).value().as<std::int16_t>(),
              ElementsAre(1, 2));
  EXPECT_THAT(
      decode_raw(bytes, DType::kInt16, false).value().as<std::int16_t>(),
      ElementsAre(256, 512));
  EXPECT_THAT(
      decode_raw(bytes, DType::kUInt8, true, 6).value().as<std::uint8_t>(),
      ElementsAre(1, 0, 2, 0, 0, 0));
  EXPECT_THAT(
      decode_raw(bytes, DType::kInt16, true, 2).value().as<std::int16_t>(),
      ElementsAre(1));
  EXPECT_EQ(to_std(decode_raw("abc", DType::kInt16).status().message()),
            "decode_raw: bytes must be a multiple of 2, got 3");
  EXPECT_EQ(to_std(decode_raw("abc", DType::kString).status().message()),
            "decode_raw: dtype must be a number, got string");
}

// --- partitions -------------------------------------------------------------

using Partition = Feature::Partition;
using P = Partition::Kind;

std::string list_of_ints(const std::string& key,
                         const std::vector<std::int64_t>& values) {
  return entry(key, ints(values));
}

std::string cut_by(const Partition& partition,
                   const std::vector<std::int64_t>& values,
                   const std::vector<std::int64_t>& by) {
  const auto row =
      parse_one(example({list_of_ints("v", values), list_of_ints("p", by)}),
                {ragged_feature("r", DType::kInt64, "v", {partition})});
  if (!row.ok()) return std::string(to_std(row.status().message()));
  std::string out;
  const auto splits = (*row)[1].as<std::int64_t>();
  const auto all = (*row)[0].as<std::int64_t>();
  for (std::size_t i = 0; i + 1 < splits.size(); ++i) {
    out += "[";
    for (auto k = splits[i]; k < splits[i + 1]; ++k) {
      out += std::to_string(all[static_cast<std::size_t>(k)]);
    }
    out += "]";
  }
  return out;
}

TEST(RaggedFeature, EachKindOfPartitionCutsTheValues) {
  const std::vector<std::int64_t> v{1, 2, 3, 4, 5};
  EXPECT_EQ(cut_by({P::kRowSplits, "p"}, v, {0, 2, 2, 5}), "[12][][345]");
  EXPECT_EQ(cut_by({P::kRowLengths, "p"}, v, {2, 0, 3}), "[12][][345]");
  EXPECT_EQ(cut_by({P::kValueRowIds, "p"}, v, {0, 0, 2, 2, 2}), "[12][][345]");
  EXPECT_EQ(cut_by({P::kRowStarts, "p"}, v, {0, 2, 2}), "[12][][345]");
  EXPECT_EQ(cut_by({P::kRowLimits, "p"}, v, {2, 2, 5}), "[12][][345]");
}

TEST(RaggedFeature, WithoutValuesAndPartitionsThereAreNoRows) {
  for (const P kind : {P::kRowSplits, P::kRowLengths, P::kValueRowIds,
                       P::kRowStarts, P::kRowLimits}) {
    EXPECT_EQ(cut_by({kind, "p"}, {}, {}), "");
    EXPECT_EQ(cut_by({kind, "absent"}, {}, {}), "");
  }
}

TEST(RaggedFeature, DamagedPartitionsAreErrorsThatSayWhatIsWrong) {
  const std::vector<std::int64_t> v{1, 2, 3, 4, 5};
  const auto why = [&](P kind, const std::vector<std::int64_t>& by) {
    return cut_by({kind, "p"}, v, by);
  };
  EXPECT_EQ(why(P::kRowSplits, {1, 5}),
            "feature 'r': partition 'p' must begin with 0, got 1");
  EXPECT_THAT(why(P::kRowSplits, {0, 3, 2, 5}), HasSubstr("it has 2 behind 3"));
  EXPECT_THAT(why(P::kRowSplits, {0, 2, 4}),
              HasSubstr("ends at value 4, there are 5"));
  EXPECT_THAT(why(P::kRowSplits, {0, 9}), HasSubstr("does not fit 5 values"));
  EXPECT_THAT(why(P::kRowSplits, {}), HasSubstr("ends at value 0"));
  EXPECT_THAT(why(P::kRowSplits, {0, INT64_MIN}), HasSubstr("does not fit"));
  EXPECT_THAT(why(P::kRowLengths, {2, 2}), HasSubstr("ends at value 4"));
  EXPECT_THAT(why(P::kRowLengths, {7, -2}), HasSubstr("does not fit"));
  EXPECT_THAT(why(P::kRowLengths, {1, INT64_MAX}), HasSubstr("does not fit"));
  EXPECT_THAT(why(P::kValueRowIds, {1, 0, 0, 0, 0}), HasSubstr("must rise"));
  EXPECT_THAT(why(P::kValueRowIds, {-1, 0, 0, 0, 0}), HasSubstr("must rise"));
  EXPECT_THAT(why(P::kValueRowIds, {0, 0}), HasSubstr("has 2 rows of values"));
  EXPECT_THAT(why(P::kValueRowIds, {0, 0, 0, 0, INT64_MAX}),
              HasSubstr("rows may be empty"));
  EXPECT_THAT(why(P::kRowStarts, {1, 2}), HasSubstr("must begin with 0"));
  EXPECT_THAT(why(P::kRowStarts, {0, 6}), HasSubstr("does not fit"));
  EXPECT_THAT(why(P::kRowLimits, {1, 2}), HasSubstr("ends at value 2"));
  EXPECT_THAT(cut_by({P::kUniformRowLength, "", 2}, v, {}),
              HasSubstr("rows of 2 values: there are 5"));
}

// Results as TensorFlow 2.21 gives them.
TEST(RaggedFeature, PartitionsNestTheOutermostFirst) {
  const Feature two =
      ragged_feature("r", DType::kInt64, "v",
                     {{P::kRowLengths, "outer"}, {P::kRowSplits, "inner"}});
  const std::string a = example({list_of_ints("v", {1, 2, 3, 4, 5}),
                                 list_of_ints("inner", {0, 2, 5}),
                                 list_of_ints("outer", {1, 0, 1})});
  const std::string b =
      example({list_of_ints("v", {9}), list_of_ints("inner", {0, 1}),
               list_of_ints("outer", {0, 1})});
  const auto row = parse_one(a, {two});
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_THAT((*row)[0].as<std::int64_t>(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT((*row)[1].as<std::int64_t>(), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT((*row)[2].as<std::int64_t>(), ElementsAre(0, 2, 5));

  const auto parser = ExampleParser::make({two}).value();
  std::vector<FeatureColumn> columns;
  std::vector<std::pair<std::int64_t, Status>> failed;
  const std::string_view records[] = {a, b};
  ASSERT_TRUE(parser->parse(records, {}, columns, failed).ok());
  const auto batch = parser->batch(columns);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_TRUE(parser->batch_spec(2).check(*batch).ok());
  EXPECT_THAT((*batch)[0].as<std::int64_t>(), ElementsAre(1, 2, 3, 4, 5, 9));
  EXPECT_THAT((*batch)[1].as<std::int64_t>(), ElementsAre(0, 3, 5));
  EXPECT_THAT((*batch)[2].as<std::int64_t>(), ElementsAre(0, 1, 1, 2, 2, 3));
  EXPECT_THAT((*batch)[3].as<std::int64_t>(), ElementsAre(0, 2, 5, 6));
}

TEST(RaggedFeature, UniformRowsAtTheEndAreDimensions) {
  const auto row = parse_one(example({list_of_ints("v", {1, 2, 3, 4, 5, 6})}),
                             {ragged_feature("r", DType::kInt64, "v",
                                             {{P::kUniformRowLength, "", 2}})});
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ((*row)[0].shape(), (Shape{3, 2}));
  // In front of others they are rows.
  const auto outer = parse_one(
      example(
          {list_of_ints("v", {1, 2, 3, 4, 5}), list_of_ints("s", {0, 2, 5})}),
      {ragged_feature("r", DType::kInt64, "v",
                      {{P::kUniformRowLength, "", 2}, {P::kRowSplits, "s"}})});
  ASSERT_TRUE(outer.ok()) << outer.status();
  EXPECT_THAT((*outer)[1].as<std::int64_t>(), ElementsAre(0, 2));
  EXPECT_THAT((*outer)[2].as<std::int64_t>(), ElementsAre(0, 2, 5));
}

TEST(RaggedFeature, OneDamagedRecordOfManyIsNamedAndTheOthersAreRight) {
  const Feature pairs =
      ragged_feature("r", DType::kInt64, "v", {{P::kUniformRowLength, "", 2}});
  const Feature rows =
      ragged_feature("s", DType::kInt64, "v", {{P::kRowLengths, "n"}});
  const auto parser = ExampleParser::make({pairs, rows}).value();
  const std::string good =
      example({list_of_ints("v", {1, 2}), list_of_ints("n", {2})});
  const std::string odd =
      example({list_of_ints("v", {1, 2, 3}), list_of_ints("n", {7})});
  const std::string_view records[] = {good, odd, good};
  std::vector<FeatureColumn> columns;
  std::vector<std::pair<std::int64_t, Status>> failed;
  ASSERT_TRUE(parser->parse(records, {}, columns, failed).ok());
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].first, 1);
  EXPECT_THAT(std::string(to_std(failed[0].second.message())),
              HasSubstr("feature 'r': rows of 2 values"));
  for (const std::int64_t i : {0, 2}) {
    const Element row = parser->row(columns, i);
    EXPECT_TRUE(parser->spec().check(row).ok());
    EXPECT_THAT(row[0].as<std::int64_t>(), ElementsAre(1, 2));
    EXPECT_EQ(row[0].shape(), (Shape{1, 2}));
    EXPECT_THAT(row[2].as<std::int64_t>(), ElementsAre(0, 2));
  }
}

TEST(RaggedFeature, RefusesPartitionsThatCannotBe) {
  const auto why = [](const Feature& f) {
    return std::string(to_std(ExampleParser::make({f}).status().message()));
  };
  EXPECT_EQ(why(ragged_feature("r", DType::kInt64, "v",
                               {{P::kUniformRowLength, "", 0}})),
            "feature 'r' must have rows of a length >= 1, got 0");
  EXPECT_EQ(why(ragged_feature("r", DType::kInt64, "v", {{P::kRowSplits, ""}})),
            "feature 'r' must have the key of each partition, got ''");
}

// Written by TensorFlow 2.21, as are the results: context c = [1, 2, 3], n =
// [2, 1]; steps of v = [1, 2, 3], [], [4, 5, 6, 7], of len = [2, 1], [], [0,
// 4], of out = [2], [], [1, 1].
const std::string& tf_sequence_of_rows() {
  static const auto* const bytes = new std::string(from_hex(
      "0a1b0a0c0a016312071a050a030102030a0b0a016e12061a040a02020112570a1b"
      "0a036c656e12140a061a040a0202010a021a000a061a040a0200040a1a0a036f75"
      "7412130a051a030a01020a021a000a061a040a0201010a1c0a017612170a071a05"
      "0a030102030a021a000a081a060a0404050607"));
  return *bytes;
}

TEST(SequenceExample, PartitionsCutEachStep) {
  const auto parser =
      SequenceExampleParser::make(
          {ragged_feature("c", DType::kInt64, "", {{P::kRowLengths, "n"}})},
          {ragged_feature("one", DType::kInt64, "v", {{P::kRowLengths, "len"}}),
           ragged_feature("two", DType::kInt64, "v",
                          {{P::kRowLengths, "out"}, {P::kRowLengths, "len"}}),
           ragged_feature("none", DType::kInt64, "x", {{P::kRowSplits, "y"}})})
          .value();
  const auto got = parser->parse(tf_sequence_of_rows());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(parser->spec().check(*got).ok());
  const Element context = got->child(0).child("c");
  EXPECT_THAT(context[0].as<std::int64_t>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(context[1].as<std::int64_t>(), ElementsAre(0, 2, 3));
  // [[[1, 2], [3]], [], [[], [4, 5, 6, 7]]]
  const Element one = got->child(1).child("one");
  EXPECT_THAT(one[0].as<std::int64_t>(), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(one[1].as<std::int64_t>(), ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(one[2].as<std::int64_t>(), ElementsAre(0, 2, 3, 3, 7));
  // [[[[1, 2], [3]]], [], [[[]], [[4, 5, 6, 7]]]]
  const Element two = got->child(1).child("two");
  EXPECT_THAT(two[1].as<std::int64_t>(), ElementsAre(0, 1, 1, 3));
  EXPECT_THAT(two[2].as<std::int64_t>(), ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(two[3].as<std::int64_t>(), ElementsAre(0, 2, 3, 3, 7));
  EXPECT_THAT(got->child(1).child("none")[1].as<std::int64_t>(),
              ElementsAre(0));
}

TEST(SequenceExample, UniformRowsAreDimensionsOfTheSteps) {
  const auto parser = SequenceExampleParser::make(
                          {}, {ragged_feature("out", DType::kInt64, "",
                                              {{P::kUniformRowLength, "", 1}})})
                          .value();
  const auto got = parser->parse(tf_sequence_of_rows());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(parser->spec().check(*got).ok());
  const Element rows = got->child(1).child("out");
  EXPECT_EQ(rows[0].shape(), (Shape{3, 1}));
  EXPECT_THAT(rows[1].as<std::int64_t>(), ElementsAre(0, 1, 1, 3));
}

TEST(SequenceExample, SaysWhichPartitionDoesNotFit) {
  const auto why = [](std::vector<Feature::Partition> partitions) {
    const auto parser = SequenceExampleParser::make(
        {}, {ragged_feature("r", DType::kInt64, "v", std::move(partitions))});
    return std::string(
        to_std((*parser)->parse(tf_sequence_of_rows()).status().message()));
  };
  EXPECT_EQ(why({{P::kRowLengths, "absent"}}),
            "feature 'r': partition 'absent' has 0 steps, the values have 3");
  EXPECT_THAT(why({{P::kRowLengths, "out"}}),
              HasSubstr("step 0: feature 'r': partition 'out' ends at value 2, "
                        "there are 3"));
  EXPECT_THAT(why({{P::kUniformRowLength, "", 2}}),
              HasSubstr("step 0: feature 'r': rows of 2 values"));
}

}  // namespace
}  // namespace penstock
