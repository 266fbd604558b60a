#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/penstock.h"
#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;
using ::testing::ElementsAre;
using testing::growing;
using ::testing::HasSubstr;

// [0], [1, 1], [2, 2, 2] ...: element x is x + 1 times x.
std::vector<std::int64_t> values(const Element& e, std::size_t leaf = 0) {
  const auto span = e[leaf].as<std::int64_t>();
  return {span.begin(), span.end()};
}

TEST(PaddedBatch, PadsToTheLongestOfEachBatch) {
  const auto batches = growing(3, 1).padded_batch(2).to_list();
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0][0].shape(), (Shape{2, 2}));
  EXPECT_THAT(values(batches[0]), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(batches[1][0].shape(), (Shape{1, 3}));
  EXPECT_THAT(values(batches[1]), ElementsAre(2, 2, 2));
}

TEST(PaddedBatch, PadsToAGivenShapeWithAGivenValue) {
  const Dataset ds = growing(2, 1).padded_batch(
      2, {.padded_shapes = {PartialShape{4}},
          .padding_values = {Tensor::scalar<std::int64_t>(-1)},
          .drop_remainder = true});
  EXPECT_EQ(ds.element_spec(), Spec::tensor(DType::kInt64, PartialShape{2, 4}));
  const auto batches = ds.to_list();
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_THAT(values(batches[0]), ElementsAre(0, -1, -1, -1, 1, 1, -1, -1));
}

TEST(PaddedBatch, PadsInnerDimensionsInPlace) {
  // Shapes (1, 2) and (2, 1) meet in (2, 2).
  const auto ds = Dataset::range(2).map([](std::int64_t x) {
    return Tensor::from<float>({1.f + static_cast<float>(x), 5.f})
        .reshaped(x == 0 ? Shape{1, 2} : Shape{2, 1});
  });
  const auto batch =
      ds.padded_batch(2, {.padding_values = {Tensor::scalar(.5f)}}).to_list();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0][0].shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(batch[0][0].as<float>(),
              ElementsAre(1.f, 5.f, .5f, .5f, 2.f, .5f, 5.f, .5f));
}

TEST(PaddedBatch, PadsEachLeafByItsOwnRule) {
  const auto ds = Dataset::range(2).map([](std::int64_t x) {
    return std::make_tuple(
        std::vector<std::int64_t>(static_cast<std::size_t>(x), 7), x,
        std::vector<float>(static_cast<std::size_t>(2 - x), 1.f));
  });
  const auto batch =
      ds.padded_batch(
            2, {.padded_shapes = {PartialShape{2}, PartialShape(Shape{}),
                                  PartialShape{kUnknownDim}},
                .padding_values = {Tensor::scalar<std::int64_t>(9), Tensor(),
                                   Tensor::scalar(3.f)}})
          .to_list();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_THAT(values(batch[0], 0), ElementsAre(9, 9, 7, 9));
  EXPECT_THAT(values(batch[0], 1), ElementsAre(0, 1));
  EXPECT_THAT(batch[0][2].as<float>(), ElementsAre(1.f, 1.f, 1.f, 3.f));
}

TEST(PaddedBatch, PadsStringsWithEmptyOnesByDefault) {
  const auto ds = Dataset::range(2).map([](std::int64_t x) {
    const std::vector<std::string_view> words(static_cast<std::size_t>(x + 1),
                                              "ab");
    return Tensor::strings(words, Shape{x + 1}).value();
  });
  auto batch = ds.padded_batch(2).to_list();
  EXPECT_THAT(batch[0][0].strs(), ElementsAre("ab", "", "ab", "ab"));
  batch = ds.padded_batch(2, {.padding_values = {Tensor::string("<pad>")}})
              .to_list();
  EXPECT_THAT(batch[0][0].strs(), ElementsAre("ab", "<pad>", "ab", "ab"));
}

TEST(PaddedBatch, ElementLongerThanThePaddedShapeIsDataLossInItsPlace) {
  auto it = growing(4, 1)
                .padded_batch(2, {.padded_shapes = {PartialShape{2}}})
                .iterator();
  EXPECT_TRUE(it.try_next().ok());
  const auto second = it.try_next();
  EXPECT_EQ(second.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(second.status().message()),
              AllOf(HasSubstr("element 2 has shape (3,)"),
                    HasSubstr("padded_shapes (2,)")));
  EXPECT_FALSE(it.try_next().value().has_value());
}

TEST(PaddedBatch, ABatchWithFailedElementsIsOneError) {
  auto it = Dataset::range(4)
                .map([](std::int64_t x) -> StatusOr<std::vector<std::int64_t>> {
                  if (x < 2) return absl::InternalError("no");
                  return std::vector<std::int64_t>{x};
                })
                .padded_batch(2)
                .iterator();
  EXPECT_EQ(it.try_next().status().code(), StatusCode::kInternal);
  EXPECT_THAT(values(*it.next()), ElementsAre(2, 3));
  EXPECT_FALSE(it.next().has_value());
}

TEST(PaddedBatch, RefusesBadArgumentsWhenTheGraphIsBuilt) {
  const auto message = [](PaddedBatchOptions options, std::int64_t n = 2) {
    const Status status =
        build_status([&] { return growing(3, 1).padded_batch(n, options); });
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message({}, 0), "padded_batch: batch_size must be >= 1, got 0");
  EXPECT_THAT(message({.padded_shapes = {PartialShape{-2}}}),
              HasSubstr("padded_shapes must be >= 0, or -1 for the longest"));
  EXPECT_THAT(message({.padded_shapes = {PartialShape{3, 3}}}),
              HasSubstr("padded_shapes is (3, 3), into which elements of "
                        "shape (?,) do not fit"));
  EXPECT_THAT(
      message({.padded_shapes = {PartialShape{3}, PartialShape{3}}}),
      HasSubstr("padded_shapes must have one shape per leaf (1), got 2"));
  EXPECT_THAT(message({.padding_values = {Tensor::scalar(1.f)}}),
              HasSubstr("padding_values must be int64"));
  EXPECT_THAT(message({.padding_values = {Tensor::from<std::int64_t>({1})}}),
              HasSubstr("padding_values must be of rank 0"));
}

TEST(PaddedBatch, RefusesWhatTheSpecShowsNotToFit) {
  const auto spec_error = [](const Spec& spec,
                             PaddedBatchOptions options = {}) {
    return build_status([&] {
      return Dataset::range(3)
          .map([](const Element& e) -> StatusOr<Element> { return e; },
               {.output_signature = spec})
          .padded_batch(2, options);
    });
  };
  // A static dimension larger than the padded one.
  EXPECT_EQ(spec_error(Spec::tensor(DType::kFloat32, PartialShape{5}),
                       {.padded_shapes = {PartialShape{4}}})
                .code(),
            StatusCode::kInvalidArgument);
  // A rank is needed.
  EXPECT_THAT(
      std::string(
          spec_error(Spec::tensor(DType::kFloat32, PartialShape())).message()),
      HasSubstr("the rank is unknown: give padded_shapes for it"));
  EXPECT_TRUE(spec_error(Spec::tensor(DType::kFloat32, PartialShape()),
                         {.padded_shapes = {PartialShape{-1}}})
                  .ok());
  // None and ragged components.
  EXPECT_THAT(
      std::string(spec_error(Spec::tuple({Spec::scalar<float>(),
                                          Spec(Structure::absent(), {})}))
                      .message()),
      HasSubstr("None components cannot be padded"));
  EXPECT_THAT(
      std::string(spec_error(Spec(Structure::ragged(1), {{}, {}})).message()),
      HasSubstr("ragged components cannot be padded"));
}

TEST(PaddedBatch, ChecksUnknownSpecsAgainstTheData) {
  const auto ds =
      Dataset::range(4).map([](const Element& e) -> StatusOr<Element> {
        const auto x = e[0].value<std::int64_t>();
        if (x >= 2) return Element::tuple({e, Element::absent()});
        return Element(Tensor::from(
            std::vector<std::int64_t>(static_cast<std::size_t>(x) + 1, x)));
      });
  EXPECT_FALSE(ds.element_spec().known());
  auto it = ds.padded_batch(2).iterator();
  EXPECT_THAT(values(*it.next()), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(std::string(it.try_next().status().message()),
              HasSubstr("None components cannot be padded"));
  auto wide = ds.padded_batch(3).iterator();
  EXPECT_THAT(std::string(wide.try_next().status().message()),
              HasSubstr("elements differ in structure: element 0 has"));
}

TEST(PaddedBatch, NamesBothElementsWhenRanksDiffer) {
  auto it =
      Dataset::range(2)
          .map([](std::int64_t x) {
            return x == 0 ? Tensor::scalar(x) : Tensor::from<std::int64_t>({x});
          })
          .padded_batch(2)
          .iterator();
  const Status status = it.try_next().status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("element 0 has (), element 1 has (1,)"));
}

TEST(PaddedBatch, GivesRandomAccess) {
  const Dataset ds = growing(5, 1).padded_batch(2);
  EXPECT_EQ(ds.cardinality(), Cardinality(3));
  EXPECT_EQ(ds.at(1), ds.to_list()[1]);
  EXPECT_THAT(values(ds.at(2)), ElementsAre(4, 4, 4, 4, 4));
}

TEST(PaddedBatch, OfNothingIsNothing) {
  EXPECT_TRUE(growing(0, 1).padded_batch(2).to_list().empty());
  EXPECT_TRUE(growing(1, 1)
                  .padded_batch(2, {.drop_remainder = true})
                  .to_list()
                  .empty());
}

}  // namespace
}  // namespace penstock
