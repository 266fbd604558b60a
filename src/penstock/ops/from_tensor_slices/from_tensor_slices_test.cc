#include "tests/support/drain.h"

namespace penstock::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor iota(std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < rows * columns; ++i) values.push_back(i);
  return Tensor::from(std::span<const std::int64_t>(values),
                      Shape{rows, columns});
}

TEST(FromTensorSlices, SlicesAllLeavesTogether) {
  const Dataset ds = Dataset::from_tensor_slices(
      Element::tuple({iota(3, 2), Tensor::from({1.5f, 2.5f, 3.5f})}));
  EXPECT_EQ(ds.cardinality(), Cardinality(3));
  EXPECT_EQ(ds.element_spec().to_string(), "(int64(2,), float32)");
  EXPECT_THAT(drain(ds),
              ElementsAre("([0, 1], 1.5)", "([2, 3], 2.5)", "([4, 5], 3.5)"));
  EXPECT_EQ(ds.at(2).to_string(), "([4, 5], 3.5)");
}

TEST(FromTensorSlices, DoesNotCopy) {
  const Tensor matrix = iota(64, 8);
  std::int64_t i = 0;
  for (const Element& row : Dataset::from_tensor_slices(matrix)) {
    EXPECT_EQ(row[0].data(), matrix.data() + 64 * i++);
  }
  EXPECT_EQ(i, 64);
  // A batch of consecutive slices is a view too, in whatever pieces they came.
  for (const std::int64_t rows : {1, 7, 40, 64}) {
    const Element batch = *Dataset::from_tensor_slices(matrix)
                               .batch(64)
                               .with_options({.max_block_rows = rows})
                               .iterator()
                               .next();
    EXPECT_EQ(batch[0].data(), matrix.data()) << "blocks of " << rows;
  }
}

TEST(FromTensorSlices, LargeRowsAreSharedInAnyOrder) {
  const Tensor matrix = iota(16, 1000);
  std::vector<bool> seen(16, false);
  for (const Element& row : Dataset::from_tensor_slices(matrix).shuffle(
           ShuffleOptions{.buffer_size = kGlobal, .seed = 1})) {
    const auto i =
        static_cast<std::size_t>(row[0].value<std::int64_t>() / 1000);
    EXPECT_EQ(row[0].data(), matrix.data() + 8000 * i);
    seen[i] = true;
  }
  EXPECT_EQ(seen, std::vector<bool>(16, true));
}

TEST(FromTensorSlices, SmallRowsAreGatheredRight) {
  std::vector<std::int64_t> values;
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < 500; ++i) {
    values.push_back(i);
    texts.push_back(std::string(static_cast<std::size_t>(i % 7), 'x') +
                    std::to_string(i));
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const Dataset ds =
      Dataset::from_tensor_slices(
          Element::tuple({Tensor::from(values),
                          Tensor::strings(views, Shape{500}).value()}))
          .shuffle(100, 3);
  std::int64_t sum = 0;
  for (const Element& e : ds) {
    const auto i = e[0].value<std::int64_t>();
    EXPECT_EQ(e[1].str(), texts[static_cast<std::size_t>(i)]);
    sum += i;
  }
  EXPECT_EQ(sum, 500 * 499 / 2);
}

TEST(FromTensorSlices, AnEmptyTensorHasNoElements) {
  const Dataset ds = Dataset::from_tensor_slices(iota(0, 3));
  EXPECT_EQ(ds.cardinality(), Cardinality(0));
  EXPECT_EQ(ds.element_spec().to_string(), "int64(3,)");
  EXPECT_THAT(drain(ds), ElementsAre());
}

TEST(FromTensorSlices, RefusesWhatHasNoRows) {
  EXPECT_EQ(error_of([] {
              Dataset::from_tensor_slices(
                  Element::tuple({iota(2, 1), Tensor::scalar(1.0)}));
            }),
            "from_tensor_slices: every tensor must have a first dimension, "
            "leaf 1 is float64");
  EXPECT_EQ(error_of([] {
              Dataset::from_tensor_slices(
                  Element::tuple({iota(2, 1), iota(2, 1), iota(3, 1)}));
            }),
            "from_tensor_slices: first dimensions must be equal, leaf 0 has 2 "
            "rows, leaf 2 has 3");
  EXPECT_THAT(error_of([] { Dataset::from_tensor_slices(Element::absent()); }),
              HasSubstr("needs at least one tensor, got None"));
  EXPECT_THAT(error_of([] { Dataset::from_tensor_slices(Element()); }),
              HasSubstr("needs at least one tensor"));
  EXPECT_THAT(error_of([] {
                Dataset::from_tensor_slices(
                    Element(Structure::ragged(1),
                            {Tensor::from({1, 2, 3}),
                             Tensor::from(std::vector<std::int64_t>{0, 2})}));
              }),
              HasSubstr("from_tensor_slices: ragged: row_splits 0 must rise"));
}

TEST(FromTensorSlices, RowsOfRaggedValuesAreViews) {
  using Ints = std::vector<std::int64_t>;
  const Tensor values = Tensor::from(Ints{1, 2, 3, 4, 5});
  const Element lists =
      Element::ragged(values, {Tensor::from(Ints{0, 2, 2, 5})});
  const Dataset ds = Dataset::from_tensor_slices(
      Element::dict({{"x", lists}, {"y", Tensor::from(Ints{7, 8, 9})}}));
  EXPECT_EQ(ds.element_spec().to_string(), "{'x': int64(?,), 'y': int64}");
  EXPECT_THAT(drain(ds),
              ElementsAre("{'x': [1, 2], 'y': 7}", "{'x': [], 'y': 8}",
                          "{'x': [3, 4, 5], 'y': 9}"));
  EXPECT_EQ(ds.at(2)["x"].data(), values.data() + 16);
  EXPECT_EQ(ds.shuffle(kGlobal, 1).to_list().size(), 3u);
  // One level lower: lists of lists have rows that are ragged.
  const Dataset nested = Dataset::from_tensor_slices(Element::ragged(
      values, {Tensor::from(Ints{0, 1, 3}), Tensor::from(Ints{0, 2, 2, 5})}));
  EXPECT_EQ(nested.cardinality(), Cardinality(2));
  EXPECT_EQ(nested.at(1), Element::ragged(Tensor::from(Ints{3, 4, 5}),
                                          {Tensor::from(Ints{0, 0, 3})}));
  EXPECT_TRUE(nested.element_spec().check(nested.at(0)).ok());
}

}  // namespace
}  // namespace penstock::testing
