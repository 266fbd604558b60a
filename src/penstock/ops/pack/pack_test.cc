#include <gtest/gtest.h>

#include "penstock/penstock.h"
#include "tests/support/outcome.h"
#include "tests/support/show.h"

namespace penstock::testing {
namespace {

using testing::build_error;

using Ints = std::vector<std::int32_t>;

Dataset sequences(std::vector<Ints> values) {
  std::vector<Element> elements;
  for (const Ints& v : values) elements.emplace_back(Tensor::from(v));
  return Dataset::from_list(std::move(elements));
}

Ints ints(const Tensor& tensor) {
  const auto values = tensor.as<std::int32_t>();
  return {values.begin(), values.end()};
}

TEST(Pack, GivesValuesSegmentIdsAndPositions) {
  const auto rows = sequences({{5, 6}, {7}, {8, 9, 10}}).pack(4).to_list();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(ints(rows[0][0]), (Ints{5, 6, 7, 0}));
  EXPECT_EQ(ints(rows[0][1]), (Ints{1, 1, 2, 0}));
  EXPECT_EQ(ints(rows[0][2]), (Ints{0, 1, 0, 0}));
  EXPECT_EQ(ints(rows[1][0]), (Ints{8, 9, 10, 0}));
  EXPECT_EQ(ints(rows[1][1]), (Ints{1, 1, 1, 0}));
  EXPECT_EQ(ints(rows[1][2]), (Ints{0, 1, 2, 0}));
}

TEST(Pack, EmptySequencesTakeNoSegment) {
  const auto rows = sequences({{5}, {}, {6, 7}, {}}).pack(6).to_list();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(ints(rows[0][0]), (Ints{5, 6, 7, 0, 0, 0}));
  EXPECT_EQ(ints(rows[0][1]), (Ints{1, 2, 2, 0, 0, 0}));
  EXPECT_TRUE(sequences({{}, {}}).pack(6).to_list().empty());
}

TEST(Pack, ADictGetsKeysForSegmentIdsAndPositions) {
  const Dataset packed =
      Dataset::from_list(
          {Element::dict({{"x", Tensor::from<std::int32_t>({1, 2})},
                          {"y", Tensor::from<float>({3})}}),
           Element::dict({{"x", Tensor::from<std::int32_t>({4})},
                          {"y", Tensor::from<float>({5, 6})}})})
          .pack({3, 4});
  const auto rows = packed.to_list();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(ints(rows[0]["x"]), (Ints{1, 2, 4}));
  EXPECT_EQ(ints(rows[0]["x_segment_ids"]), (Ints{1, 1, 2}));
  EXPECT_EQ(ints(rows[0]["x_positions"]), (Ints{0, 1, 0}));
  EXPECT_EQ(rows[0]["y"], Tensor::from<float>({3, 5, 6, 0}));
  EXPECT_EQ(ints(rows[0]["y_segment_ids"]), (Ints{1, 2, 2, 0}));
  EXPECT_EQ(ints(rows[0]["y_positions"]), (Ints{0, 0, 1, 0}));
  EXPECT_TRUE(packed.element_spec().check(rows[0]).ok());
  EXPECT_TRUE(packed.element_spec().fixed_size());
}

TEST(Pack, StringsAndPaddingValues) {
  const auto strings = [](std::vector<std::string_view> values) {
    return Element(
        Tensor::strings(values, Shape{static_cast<std::int64_t>(values.size())})
            .value());
  };
  const auto rows = Dataset::from_list({strings({"a", "bc"}), strings({"d"})})
                        .pack(4, {.padding_values = {Tensor::string("-")}})
                        .to_list();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0][0].strs(),
            (std::vector<std::string_view>{"a", "bc", "d", "-"}));
  const auto numbers =
      sequences({{1}})
          .pack(3, {.padding_values = {Tensor::scalar<std::int32_t>(-7)}})
          .to_list();
  EXPECT_EQ(ints(numbers[0][0]), (Ints{1, -7, -7}));
  EXPECT_EQ(ints(numbers[0][1]), (Ints{1, 0, 0}));
}

TEST(Pack, FirstFitFillsGapsOfOlderRows) {
  const auto rows = sequences({{1, 1, 1}, {2, 2}, {3}, {4, 4}})
                        .pack(4, {.num_open = 2})
                        .to_list();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(ints(rows[0][0]), (Ints{1, 1, 1, 3}));
  EXPECT_EQ(ints(rows[1][0]), (Ints{2, 2, 4, 4}));
}

TEST(Pack, ATooLongSequenceNamesLengthAndElement) {
  // Behind a map the lengths are not known when the graph is built.
  const Outcomes got = run(Dataset::range(3)
                               .map([](std::int64_t x) {
                                 return Tensor::from(Ints(x == 1 ? 6 : 2, 1));
                               })
                               .pack(4),
                           10);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].error.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(to_std(got[0].error.message()),
            "pack#2: element 1: the sequence has 6 values, but a row has "
            "length 4; use a larger length, or split_long");
  EXPECT_EQ(ints(got[1].element[0]), (Ints{1, 1, 1, 1}));
}

TEST(Pack, SplitsLongSequencesOverRows) {
  const auto rows =
      sequences({{9}, {1, 2, 3, 4, 5}}).pack(2, {.split_long = true}).to_list();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(ints(rows[0][0]), (Ints{9, 0}));
  EXPECT_EQ(ints(rows[1][0]), (Ints{1, 2}));
  EXPECT_EQ(ints(rows[2][0]), (Ints{3, 4}));
  EXPECT_EQ(ints(rows[2][2]), (Ints{0, 1}));
  EXPECT_EQ(ints(rows[3][0]), (Ints{5, 0}));
}

TEST(Pack, DropRemainderLeavesOutOpenRows) {
  const Dataset input = sequences({{1, 1}, {2, 2}, {3}});
  EXPECT_EQ(input.pack(2).to_list().size(), 3U);
  EXPECT_EQ(input.pack(2, {.drop_remainder = true}).to_list().size(), 2U);
}

TEST(Pack, RowsOfUnknownSpecsMustAgree) {
  const Outcomes got = run(Dataset::range(3)
                               .map([](const Element& e) -> StatusOr<Element> {
                                 if (e[0].value<std::int64_t>() == 1) {
                                   return Element(Tensor::from<float>({1, 2}));
                                 }
                                 return Element(Tensor::from(Ints{3}));
                               })
                               .pack(4),
                           10);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_NE(to_std(got[0].error.message()).find("pack#2: element 1: the "),
            std::string::npos)
      << got[0];
  EXPECT_EQ(ints(got[1].element[0]), (Ints{3, 3, 0, 0}));
}

TEST(Pack, BadArgumentsAreNamed) {
  const Dataset ok = sequences({{1, 2}});
  EXPECT_EQ(build_error([&] { (void)ok.pack(0); }),
            "pack: length must be in [1, 2^31), got 0");
  EXPECT_EQ(build_error([&] { (void)ok.pack(4, {.num_open = 0}); }),
            "pack: num_open must be >= 1, got 0");
  EXPECT_EQ(build_error([&] {
              (void)ok.pack({4, 5});
            }),
            "pack: lengths must have one for each leaf (1), or one for all, "
            "got 2");
  EXPECT_EQ(build_error([&] { (void)ok.pack(1); }),
            "pack: length must be >= 2, as the sequences are, got 1; or use "
            "split_long");
  EXPECT_EQ(build_error([&] {
              (void)ok.pack(4, {.padding_values = {Tensor::scalar(1.0F)}});
            }),
            "pack: padding_values must be int32, got float32");
  EXPECT_NE(build_error([&] {
              (void)Dataset::range(3).pack(4);
            }).find("pack: elements must be made of tensors of rank 1"),
            std::string::npos);
  EXPECT_EQ(build_error([&] {
              (void)Dataset::from_list(
                  {Element::dict({{"x", Tensor::from(Ints{1})},
                                  {"x_positions", Tensor::from(Ints{1})}})})
                  .pack(4);
            }),
            "pack: the key 'x_positions' is made by pack, but elements have "
            "it");
}

TEST(Pack, CardinalityIsOnlyKnownWithoutOrWithEndlessInput) {
  const Dataset one = sequences({{1, 2}});
  EXPECT_TRUE(one.pack(4).cardinality().is_unknown());
  EXPECT_TRUE(one.repeat().pack(4).cardinality().is_infinite());
  EXPECT_EQ(one.take(0).pack(4).cardinality(), Cardinality(0));
}

TEST(Pack, AStateHoldsPositionsOnly) {
  const Dataset packed =
      Dataset::range(100000)
          .map([](std::int64_t x) {
            return Tensor::from(Ints(static_cast<std::size_t>(x % 97), 1));
          })
          .pack(1000, {.num_open = 8});
  Iterator it = packed.iterator();
  for (int i = 0; i < 40; ++i) (void)it.next();
  // Eight rows of about twenty sequences, four bytes each at most.
  EXPECT_LT(it.state_dict().size(), 1200U);
}

}  // namespace
}  // namespace penstock::testing
