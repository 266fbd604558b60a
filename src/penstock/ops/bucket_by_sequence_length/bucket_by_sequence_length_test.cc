#include "penstock/ops/bucket_by_sequence_length/bucket_by_sequence_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/penstock.h"
#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_error;
using testing::growing;
using ::testing::HasSubstr;

// Element x is x times x.
std::int64_t length(std::span<const std::int64_t> x) {
  return static_cast<std::int64_t>(x.size());
}
std::vector<Shape> shapes(const Dataset& ds) {
  std::vector<Shape> out;
  for (const Element& e : ds) out.push_back(e[0].shape());
  return out;
}

TEST(BucketBySequenceLength, BatchesElementsOfSimilarLength) {
  const auto ds =
      growing(9).bucket_by_sequence_length(length, {3, 6}, {2, 3, 4});
  // 0 1 | 3 4 5 | left over: 2 | 6 7 8
  EXPECT_EQ(shapes(ds), (std::vector<Shape>{{2, 1}, {3, 5}, {1, 2}, {3, 8}}));
  EXPECT_EQ(
      ds.element_spec(),
      Spec::tensor(DType::kInt64, PartialShape{kUnknownDim, kUnknownDim}));
  EXPECT_TRUE(ds.cardinality().is_unknown());
}

TEST(BucketBySequenceLength, ALengthOnABoundaryBelongsToTheNextBucket) {
  const auto ds = growing(4).bucket_by_sequence_length(length, {2}, {10, 10});
  EXPECT_EQ(shapes(ds), (std::vector<Shape>{{2, 1}, {2, 3}}));
}

TEST(BucketBySequenceLength, PadsToTheBucketsBoundary) {
  const auto ds = growing(7).bucket_by_sequence_length(
      length, {3, 6}, {2, 2, 2},
      {.padding_values = {Tensor::scalar<std::int64_t>(-1)},
       .pad_to_bucket_boundary = true});
  std::vector<Shape> got;
  std::string error;
  Iterator it = ds.iterator();
  for (;;) {
    auto next = it.try_next();
    if (!next.ok()) {
      error = to_std(next.status().message());
    } else if (!next->has_value()) {
      break;
    } else {
      got.push_back((**next)[0].shape());
    }
  }
  EXPECT_EQ(got, (std::vector<Shape>{{2, 2}, {2, 5}, {1, 2}, {1, 5}}));
  EXPECT_THAT(error, HasSubstr("bucket_by_sequence_length#2: element 6: with "
                               "pad_to_bucket_boundary a length must be below "
                               "the last boundary (6), got 6"));
}

TEST(BucketBySequenceLength, DropsRemaindersAndNeedsNoPadding) {
  const auto ds = growing(6)
                      .filter([](std::span<const std::int64_t> x) {
                        return x.size() == 2 || x.size() == 4;
                      })
                      .repeat(3)
                      .bucket_by_sequence_length(
                          length, {3}, {2, 2},
                          {.no_padding = true, .drop_remainder = true});
  EXPECT_EQ(shapes(ds), (std::vector<Shape>{{2, 2}, {2, 4}}));
}

TEST(BucketBySequenceLength, RefusesBadArguments) {
  const auto ds = growing(3);
  EXPECT_THAT(
      build_error([&] { ds.bucket_by_sequence_length(length, {}, {1}); }),
      HasSubstr("bucket_by_sequence_length: boundaries must not be "
                "empty"));
  EXPECT_THAT(build_error([&] {
                ds.bucket_by_sequence_length(length, {3, 2}, {1, 1, 1});
              }),
              HasSubstr("boundaries must be >= 1 and rising, got 2 at 1"));
  EXPECT_THAT(
      build_error([&] { ds.bucket_by_sequence_length(length, {3}, {1}); }),
      HasSubstr("one value more than boundaries (2), got 1"));
  EXPECT_THAT(build_error([&] {
                ds.bucket_by_sequence_length(length, {3}, {1, 0});
              }),
              HasSubstr("batch_sizes must be >= 1, got 0"));
  EXPECT_THAT(build_error([&] {
                ds.bucket_by_sequence_length(
                    length, {3}, {1, 1},
                    {.pad_to_bucket_boundary = true, .no_padding = true});
              }),
              HasSubstr("exclude each other"));
  EXPECT_THAT(build_error([&] {
                ds.bucket_by_sequence_length(
                    [](std::span<const std::int64_t>) { return 0.5f; }, {3},
                    {1, 1});
              }),
              HasSubstr("the length function must give a whole number"));
}

}  // namespace
}  // namespace penstock
