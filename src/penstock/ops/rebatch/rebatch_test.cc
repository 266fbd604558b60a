#include <gmock/gmock.h>

#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;
using ::testing::ElementsAre;
using testing::growing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::show;

TEST(Rebatch, GivesWhatUnbatchAndBatchGive) {
  for (const bool drop : {false, true}) {
    for (const std::int64_t n : {1, 2, 3, 4, 7, 100}) {
      for (const Dataset& ds :
           {growing(6), Dataset::range(20).batch(4), Dataset::range(0).batch(3),
            testing::stream(11).enumerate().batch(5)}) {
        EXPECT_EQ(show(ds.rebatch(n, {.drop_remainder = drop})),
                  show(ds.unbatch().batch(n, {.drop_remainder = drop})))
            << n;
      }
    }
  }
}

TEST(Rebatch, TakesSizesInTurn) {
  const Dataset ds = Dataset::range(10).batch(4);
  EXPECT_THAT(show(ds.rebatch({1, 3})), ElementsAre("[0]", "[1, 2, 3]", "[4]",
                                                    "[5, 6, 7]", "[8]", "[9]"));
  EXPECT_THAT(show(ds.rebatch({1, 3}, {.drop_remainder = true})),
              ElementsAre("[0]", "[1, 2, 3]", "[4]", "[5, 6, 7]", "[8]"));
  EXPECT_THAT(show(ds.rebatch({3, 2, 50})),
              ElementsAre("[0, 1, 2]", "[3, 4]", "[5, 6, 7, 8, 9]"));
  EXPECT_THAT(show(ds.rebatch({3, 2, 50}, {.drop_remainder = true})),
              ElementsAre("[0, 1, 2]", "[3, 4]"));
}

TEST(Rebatch, DoesNotCopyBatchesThatStayWhole) {
  const Dataset ds = Dataset::range(4096).batch(1024, {.drop_remainder = true});
  const Dataset source = ds.take(1).repeat(1);
  const Element batch = source.rebatch(1024).to_list().front();
  EXPECT_EQ(batch[0].shape(), Shape{1024});
  EXPECT_EQ(batch[0].as<std::int64_t>()[1023], 1023);
}

TEST(Rebatch, AFailedBatchIsOneRow) {
  const Dataset ds = testing::with_error(8, 3).batch(2);
  EXPECT_EQ(show(ds.rebatch(3)), show(ds.unbatch().batch(3)));
  EXPECT_THAT(show(ds.rebatch(3)),
              ElementsAre(HasSubstr("bad element"), "[4, 5, 6]", "[7]"));
}

TEST(Rebatch, KnowsSpecAndCardinality) {
  const Dataset fours = Dataset::range(20).batch(4, {.drop_remainder = true});
  EXPECT_EQ(fours.rebatch(6).cardinality().value(), 4);
  EXPECT_EQ(fours.rebatch(6, {.drop_remainder = true}).cardinality().value(),
            3);
  EXPECT_EQ(fours.rebatch({2, 5}).cardinality().value(), 6);
  EXPECT_EQ(show(fours.rebatch({2, 5})).size(), 6u);
  EXPECT_EQ(fours.rebatch(6, {.drop_remainder = true}).element_spec(),
            Spec::tensor(DType::kInt64, {6}));
  EXPECT_EQ(fours.rebatch(6).element_spec(),
            Spec::tensor(DType::kInt64, {kUnknownDim}));
  EXPECT_TRUE(growing(3).rebatch(2).cardinality().is_unknown());
}

TEST(Rebatch, RefusesBadArguments) {
  const Dataset ds = Dataset::range(4).batch(2);
  EXPECT_EQ(build_status([&] { return ds.rebatch(0); }).message(),
            "rebatch: batch_size must be >= 1, got 0");
  EXPECT_EQ(build_status([&] {
              return ds.rebatch({3, -1});
            }).message(),
            "rebatch: batch_size must be >= 1, got -1");
  EXPECT_EQ(build_status([&] {
              return ds.rebatch(std::vector<std::int64_t>{});
            }).message(),
            "rebatch: batch_sizes must not be empty, got []");
  EXPECT_EQ(build_status([] { return Dataset::range(2).rebatch(2); }).message(),
            "rebatch: leaf 0 is a scalar: it has no first dimension");
}

TEST(Rebatch, ResumesAnywhere) {
  testing::expect_resumes_everywhere(
      [] { return Dataset::range(50).batch(7).rebatch(3); });
  testing::expect_resumes_everywhere([] {
    return growing(9).rebatch({2, 1, 4});
  });
  testing::expect_resumes_everywhere(
      [] { return testing::stream(40).batch(3).rebatch(10); });
}

}  // namespace
}  // namespace penstock
