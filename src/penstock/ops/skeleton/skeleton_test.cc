// What is special about the operator; the contract suite does the rest for
// operators with examples (skeleton_examples.cc), which this one has not:
// they are for what Dataset offers.
#include "penstock/ops/skeleton/skeleton.h"

#include <gmock/gmock.h>

#include "tests/support/show.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::show;

Dataset skeleton(const Dataset& input, std::int64_t times) {
  return Dataset(detail::value_or_throw(Node::make(
      detail::value_or_throw(ops::make_skeleton(times)), {input.node()})));
}

TEST(Skeleton, GivesEveryElementSomeTimes) {
  EXPECT_THAT(show(skeleton(Dataset::range(3), 2)),
              ElementsAre("0", "0", "1", "1", "2", "2"));
  EXPECT_THAT(show(skeleton(testing::stream(3), 2)),
              ElementsAre("0", "0", "1", "1", "2", "2"));
}

TEST(Skeleton, OfNothingAndNoTimesIsEmpty) {
  EXPECT_THAT(show(skeleton(testing::stream(0), 3)), IsEmpty());
  EXPECT_THAT(show(skeleton(testing::stream(3), 0)), IsEmpty());
  EXPECT_THAT(show(skeleton(Dataset::range(3), 0)), IsEmpty());
}

TEST(Skeleton, CopiesErrorsLikeOtherElements) {
  EXPECT_THAT(show(skeleton(testing::with_error(2, 1), 2)),
              ElementsAre("0", "0", "<map#1: element 1: bad element>",
                          "<map#1: element 1: bad element>"));
}

TEST(Skeleton, KnowsItsCardinality) {
  EXPECT_EQ(skeleton(Dataset::range(5), 3).cardinality(), Cardinality(15));
  EXPECT_EQ(skeleton(testing::stream(5), 0).cardinality(), Cardinality(0));
  EXPECT_TRUE(skeleton(testing::stream(5), 2).cardinality().is_unknown());
  EXPECT_TRUE(skeleton(Dataset::counter(), 2).cardinality().is_infinite());
}

TEST(Skeleton, ResumesAnywhereAndGivesRandomAccess) {
  testing::expect_resumes_everywhere(
      [] { return skeleton(Dataset::range(9), 3); });
  testing::expect_resumes_everywhere(
      [] { return skeleton(testing::stream(9), 3); });
  // One row at a time: between the copies of an element, too.
  testing::expect_resumes_everywhere([] {
    return skeleton(testing::stream(9), 3).with_options({.max_block_rows = 1});
  });
  testing::expect_resumes_everywhere(
      [] { return skeleton(Dataset::range(20).shuffle(4, 7), 2).take(31); });
  testing::expect_random_access(skeleton(Dataset::range(7), 3));
  testing::expect_random_access(
      skeleton(Dataset::range(7), 3).shuffle(kGlobal, 5));
}

TEST(Skeleton, GivesTheSameHoweverItRuns) {
  const auto expected = show(skeleton(testing::stream(50), 3));
  for (const Options& options :
       {Options{.cpu_budget = 1}, Options{.fuse = false},
        Options{.max_block_rows = 1}, Options{.max_block_rows = 7}}) {
    EXPECT_EQ(show(skeleton(testing::stream(50), 3).with_options(options)),
              expected);
  }
}

TEST(Skeleton, RefusesBadArguments) {
  EXPECT_EQ(ops::make_skeleton(-3).status().message(),
            "skeleton: times must be >= 0, got -3");
}

}  // namespace
}  // namespace penstock
