#include <gmock/gmock.h>

#include <atomic>

#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::show;

TEST(Concatenate, GivesOneAfterTheOther) {
  const Dataset a = Dataset::range(2);
  EXPECT_THAT(show(a.concatenate(Dataset::range(10, 12))),
              ElementsAre("0", "1", "10", "11"));
  EXPECT_THAT(show(a.concatenate(a)), ElementsAre("0", "1", "0", "1"));
  EXPECT_THAT(show(testing::stream(2).concatenate(a).concatenate(a)),
              ElementsAre("0", "1", "0", "1", "0", "1"));
}

TEST(Concatenate, EmptyInputs) {
  const Dataset none = Dataset::range(0);
  EXPECT_THAT(show(none.concatenate(Dataset::range(2))), ElementsAre("0", "1"));
  EXPECT_THAT(show(Dataset::range(2).concatenate(none)), ElementsAre("0", "1"));
  EXPECT_THAT(show(none.concatenate(none)), IsEmpty());
}

TEST(Concatenate, UnifiesSpecs) {
  const Dataset pairs = Dataset::range(4).batch(2, {.drop_remainder = true});
  const Dataset triples = Dataset::range(6).batch(3, {.drop_remainder = true});
  EXPECT_EQ(pairs.concatenate(triples).element_spec(),
            Spec::tensor(DType::kInt64, {kUnknownDim}));
  EXPECT_THAT(show(pairs.concatenate(triples)),
              ElementsAre("[0, 1]", "[2, 3]", "[0, 1, 2]", "[3, 4, 5]"));
}

TEST(Concatenate, RefusesElementsThatDoNotFitAndNamesBoth) {
  const Dataset floats =
      Dataset::range(3).map([](std::int64_t) { return 1.0f; });
  const Status dtype =
      build_status([&] { return Dataset::range(3).concatenate(floats); });
  EXPECT_EQ(dtype.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(dtype.message()),
              HasSubstr("concatenate: the elements of the inputs do not fit: "
                        "int64 and float32"));
  EXPECT_FALSE(build_status([] {
                 return Dataset::range(3).concatenate(
                     Dataset::range(3).enumerate());
               }).ok());
}

TEST(Concatenate, CarriesUnknownSpecs) {
  const Dataset unknown =
      Dataset::range(1).map([](const Element& e) { return e; });
  const Dataset ds = unknown.concatenate(Dataset::range(1).enumerate());
  EXPECT_FALSE(ds.element_spec().known());
  EXPECT_THAT(show(ds), ElementsAre("0", "(0, 0)"));
}

TEST(Concatenate, ErrorsStayInPlace) {
  const auto all =
      show(testing::with_error(2, 1).concatenate(testing::with_error(2, 0)));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_THAT(all[1], HasSubstr("concatenate#2[0].map#1: element 1"));
  EXPECT_THAT(all[2], HasSubstr("concatenate#2[1].map#1: element 0"));
  EXPECT_EQ(all[3], "1");
}

TEST(Concatenate, KnowsItsCardinality) {
  const Dataset two = Dataset::range(2);
  const Dataset endless = two.repeat();
  const Dataset unknown = testing::stream(2);
  EXPECT_EQ(two.concatenate(two).cardinality().value(), 4);
  EXPECT_TRUE(unknown.concatenate(endless).cardinality().is_infinite());
  EXPECT_TRUE(endless.concatenate(unknown).cardinality().is_infinite());
  EXPECT_TRUE(two.concatenate(unknown).cardinality().is_unknown());
}

TEST(Concatenate, DoesNotStartTheSecondInputBeforeItIsNear) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  const Dataset second = Dataset::range(5).map([calls](std::int64_t x) {
    ++*calls;
    return x;
  });
  const Dataset ds = Dataset::range(3).repeat().concatenate(second).take(1000);
  EXPECT_EQ(ds.to_list().size(), 1000u);
  EXPECT_EQ(calls->load(), 0);
}

TEST(Concatenate, GivesRandomAccess) {
  const Dataset a = Dataset::range(5).concatenate(Dataset::range(10, 14));
  testing::expect_random_access(a);
  testing::expect_random_access(a.concatenate(a).shuffle(kGlobal, 3));
  testing::expect_random_access(a.shard(2, 1));
}

// Elements 0 of both inputs are different elements.
TEST(Concatenate, RandomValuesDifferBetweenTheInputs) {
  const Dataset one = Dataset::range(8);
  const auto random = [](std::int64_t, RandomStream& r) {
    return static_cast<std::int64_t>(r.below(1'000'000'000));
  };
  const Dataset ds = one.concatenate(one).map(random);
  const auto all = show(ds);
  EXPECT_NE(std::vector<std::string>(all.begin(), all.begin() + 8),
            std::vector<std::string>(all.begin() + 8, all.end()));
  // A dataset of its own: at() gives the first iteration.
  testing::expect_random_access(one.concatenate(one).map(random));
  testing::expect_random_access(one.map(random).concatenate(one.map(random)));
}

// A chain of them is one stage; its inputs are named, and draw, as if it were
// not.
TEST(Concatenate, InputsInsideOfEachOtherKeepTheirNamesAndRandomValues) {
  const auto draw = [](std::int64_t x,
                       RandomStream& r) -> StatusOr<std::int64_t> {
    if (x == 2) return absl::DataLossError("two");
    return static_cast<std::int64_t>(r.below(1'000'000'000));
  };
  const auto part = [&] { return Dataset::range(3).map(draw); };
  const Dataset left = part().concatenate(part()).concatenate(part());
  const auto all = show(left);
  ASSERT_EQ(all.size(), 9u);
  EXPECT_THAT(all[2],
              HasSubstr("concatenate#3[0].concatenate#2[0].map#1: element 2"));
  EXPECT_THAT(all[5],
              HasSubstr("concatenate#3[0].concatenate#2[1].map#1: element 2"));
  EXPECT_THAT(all[8], HasSubstr("concatenate#3[1].map#1: element 2"));
  testing::expect_random_access(part().concatenate(part()).concatenate(part()));
  const Dataset right = part().concatenate(part().concatenate(part()));
  EXPECT_THAT(show(right)[8],
              HasSubstr("concatenate#3[1].concatenate#2[1].map#1: element 2"));
  testing::expect_random_access(part().concatenate(part().concatenate(part())));
}

TEST(Concatenate, ALongChainIsOneSequencer) {
  Dataset ds = testing::stream(2);
  for (int i = 0; i < 300; ++i) ds = ds.concatenate(testing::stream(2));
  Iterator it = ds.iterator();
  ASSERT_TRUE(it.next().has_value());
  const std::string plan = it.explain();
  const auto first = plan.find("sequencer concatenate");
  EXPECT_NE(first, std::string::npos) << plan;
  EXPECT_EQ(plan.find("sequencer concatenate", first + 1), std::string::npos);
  EXPECT_EQ(ds.to_list().size(), 602u);
}

TEST(Concatenate, ResumesAnywhere) {
  testing::expect_resumes_everywhere(
      [] { return Dataset::range(9).concatenate(testing::stream(7)); });
  testing::expect_resumes_everywhere([] {
    const Dataset a = testing::stream(6).shuffle(3, 1);
    return a.concatenate(a).concatenate(a).repeat(2);
  });
  testing::expect_resumes_everywhere([] {
    const Dataset a = testing::stream(3);
    return a.concatenate(a.concatenate(a)).concatenate(Dataset::range(2));
  });
}

}  // namespace
}  // namespace penstock
