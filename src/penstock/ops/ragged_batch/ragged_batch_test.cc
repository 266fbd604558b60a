#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/penstock.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using I64 = std::int64_t;

std::vector<I64> repeated(I64 x) {
  return std::vector<I64>(static_cast<std::size_t>(x), x);
}

TEST(RaggedBatch, KeepsRowsOfDifferentLength) {
  const Dataset ds = Dataset::range(4).map(repeated).ragged_batch(3);
  const auto batches = ds.to_list();
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].structure(), Structure::ragged(1));
  EXPECT_THAT(batches[0][0].as<I64>(), ElementsAre(1, 2, 2));
  EXPECT_THAT(batches[0][1].as<I64>(), ElementsAre(0, 0, 1, 3));
  EXPECT_THAT(batches[1][1].as<I64>(), ElementsAre(0, 3));
  EXPECT_EQ(ds.at(0), batches[0]);
}

TEST(RaggedBatch, SpecTellsWhatComesOut) {
  const Dataset ds =
      Dataset::range(6).map(repeated).ragged_batch(2, {.drop_remainder = true});
  EXPECT_EQ(ds.element_spec(), Spec(Structure::ragged(1),
                                    {{DType::kInt64, PartialShape{kUnknownDim}},
                                     {DType::kInt64, PartialShape{3}}}));
  for (const Element& e : ds.to_list()) {
    EXPECT_TRUE(ds.element_spec().check(e).ok());
  }
}

TEST(RaggedBatch, LeavesOfFixedShapeStayDense) {
  const Dataset ds = Dataset::range(2)
                         .map([](I64 x) { return std::tuple(x, repeated(x)); })
                         .ragged_batch(2);
  const Element batch = ds.at(0);
  EXPECT_EQ(batch.structure(),
            Structure::tuple({Structure::leaf(), Structure::ragged(1)}));
  EXPECT_THAT(batch[0].as<I64>(), ElementsAre(0, 1));
}

TEST(RaggedBatch, IsRaggedUpToTheLastUnknownDimension) {
  const Dataset ds =
      Dataset::range(3)
          .map(
              [](const Element& e) -> StatusOr<Element> {
                const auto x = e[0].value<I64>();
                return Element(
                    Tensor::from(repeated(2 * x)).reshaped(Shape{2, x, 1}));
              },
              {.output_signature = Spec::tensor(
                   DType::kInt64, PartialShape{2, kUnknownDim, 1})})
          .ragged_batch(3);
  const Element batch = ds.to_list().at(0);
  EXPECT_EQ(batch.structure(), Structure::ragged(2));
  EXPECT_EQ(batch[0].shape(), (Shape{6, 1}));
  EXPECT_THAT(batch[1].as<I64>(), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(batch[2].as<I64>(), ElementsAre(0, 0, 0, 1, 2, 4, 6));
  EXPECT_TRUE(ds.element_spec().check(batch).ok());
}

TEST(RaggedBatch, UnknownShapesAreRaggedInAllDimensions) {
  // Equal lengths: still ragged, or the structure would hang on the data.
  const Dataset ds = Dataset::range(2)
                         .map([](I64 x) {
                           return Tensor::from<I64>({x, x});
                         })
                         .ragged_batch(2);
  EXPECT_FALSE(ds.element_spec().known());
  EXPECT_EQ(ds.to_list().at(0).structure(), Structure::ragged(1));
}

TEST(RaggedBatch, BatchOfRaggedValuesGainsALevel) {
  const Dataset ds = Dataset::range(5).map(repeated).ragged_batch(2).batch(2);
  const auto batches = ds.to_list();
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].structure(), Structure::ragged(2));
  EXPECT_THAT(batches[0][0].as<I64>(), ElementsAre(1, 2, 2, 3, 3, 3));
  EXPECT_THAT(batches[0][1].as<I64>(), ElementsAre(0, 2, 4));
  EXPECT_THAT(batches[0][2].as<I64>(), ElementsAre(0, 0, 1, 3, 6));
  EXPECT_THAT(batches[1][1].as<I64>(), ElementsAre(0, 1));
  EXPECT_EQ(ds.element_spec().structure(), Structure::ragged(2));
  EXPECT_TRUE(ds.element_spec().check(batches[1]).ok());
}

TEST(RaggedBatch, KeepsStrings) {
  const auto batch =
      Dataset::range(1, 3)
          .map([](I64 x) {
            const std::vector<std::string_view> words(
                static_cast<std::size_t>(x), x == 1 ? "one" : "two");
            return Tensor::strings(words, Shape{x}).value();
          })
          .ragged_batch(2)
          .to_list()
          .at(0);
  EXPECT_THAT(batch[0].strs(), ElementsAre("one", "two", "two"));
}

TEST(RaggedBatch, NamesElementsThatDoNotFit) {
  auto inner =
      Dataset::range(1, 3)
          .map([](I64 x) {
            return std::tuple(
                Tensor::from(repeated(2 * x)).reshaped(Shape{x, 2}), x);
          })
          .map([](Tensor t, I64 x) {
            return x == 2 ? t.reshaped(Shape{4, 1}) : t;
          });
  // Ragged in both dimensions, so these fit.
  EXPECT_TRUE(inner.ragged_batch(2).iterator().try_next().ok());
  auto ranks = Dataset::range(1, 3).map([](I64 x) {
    return x == 1 ? Tensor::from<I64>({1, 2}).reshaped(Shape{1, 2})
                  : Tensor::from<I64>({3});
  });
  EXPECT_THAT(
      std::string(
          ranks.ragged_batch(2).iterator().try_next().status().message()),
      HasSubstr("element 1: ragged: a tensor of shape (1,) has too few"));
  auto bad = Dataset::range(2).map([](const Element&) -> StatusOr<Element> {
    return Element(Structure::ragged(1),
                   {Tensor::from<I64>({1}), Tensor::from<I64>({0, 5})});
  });
  EXPECT_THAT(
      std::string(bad.batch(2).iterator().try_next().status().message()),
      HasSubstr("element 0: ragged: row_splits 0 must rise from 0 to 1"));
}

TEST(RaggedBatch, RefusesBadSizes) {
  try {
    Dataset::range(3).ragged_batch(-1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.status().message()),
              "ragged_batch: batch_size must be >= 1, got -1");
  }
}

TEST(RaggedBatch, OfNothingIsNothing) {
  EXPECT_TRUE(
      Dataset::range(0).map(repeated).ragged_batch(2).to_list().empty());
}

TEST(Batch, SliceOfAMixedBlockWithOneStructureIsBatched) {
  const auto ds =
      Dataset::range(4).map([](const Element& e) -> StatusOr<Element> {
        if (e[0].value<I64>() < 2) return e;
        return Element::tuple({e, e});
      });
  const auto batches = ds.batch(2).to_list();
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_THAT(batches[0][0].as<I64>(), ElementsAre(0, 1));
  EXPECT_THAT(batches[1][1].as<I64>(), ElementsAre(2, 3));
}

TEST(Batch, ElementsWithoutLeavesAreBatchedAsStructure) {
  const auto batches = Dataset::range(3)
                           .map([](const Element&) -> StatusOr<Element> {
                             return Element::tuple({Element::absent()});
                           })
                           .batch(2)
                           .to_list();
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[1].structure(), Structure::tuple({Structure::absent()}));
}

}  // namespace
}  // namespace penstock
