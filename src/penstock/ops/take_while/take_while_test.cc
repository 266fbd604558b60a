#include <gmock/gmock.h>

#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::show;

TEST(TakeWhile, EndsAtTheFirstFalse) {
  EXPECT_THAT(show(Dataset::range(10).take_while(
                  [](std::int64_t x) { return x % 4 != 3; })),
              ElementsAre("0", "1", "2"));
  EXPECT_THAT(
      show(Dataset::range(3).take_while([](std::int64_t) { return true; })),
      ElementsAre("0", "1", "2"));
  EXPECT_THAT(
      show(Dataset::range(3).take_while([](std::int64_t) { return false; })),
      IsEmpty());
  EXPECT_THAT(
      show(Dataset::range(0).take_while([](std::int64_t) { return true; })),
      IsEmpty());
}

TEST(TakeWhile, EndsAnEndlessInput) {
  const Dataset ds =
      Dataset::range(1'000'000'000).repeat().take_while([](std::int64_t x) {
        return x < 5000;
      });
  EXPECT_EQ(ds.to_list().size(), 5000u);
}

TEST(TakeWhile, KeepsStructureAndDifferentStructures) {
  EXPECT_THAT(show(Dataset::range(5).enumerate(1).take_while(
                  [](std::int64_t, std::int64_t x) { return x < 2; })),
              ElementsAre("(1, 0)", "(2, 1)"));
  const Dataset mixed = Dataset::range(9).map([](const Element& e) {
    return e[0].value<std::int64_t>() == 1 ? Element::tuple({e, e}) : e;
  });
  EXPECT_THAT(show(mixed.take_while([](const Element& e) {
                return e[0].value<std::int64_t>() < 3;
              })),
              ElementsAre("0", "(1, 1)", "2"));
}

TEST(TakeWhile, AnErrorStaysInPlaceAndDoesNotEndIt) {
  const auto before_four = [](std::int64_t x) { return x < 4; };
  EXPECT_THAT(show(testing::with_error(9, 2).take_while(before_four)),
              ElementsAre("0", "1", "<map#1: element 2: bad element>", "3"));
  const auto fails = [](std::int64_t x) -> StatusOr<bool> {
    if (x == 1) return absl::DataLossError("cannot tell");
    return x < 3;
  };
  EXPECT_THAT(show(Dataset::range(9).take_while(fails)),
              ElementsAre("0", "<take_while#1: element 1: cannot tell>", "2"));
  const auto throws = [](std::int64_t x) {
    if (x == 0) throw std::runtime_error("boom");
    return x < 2;
  };
  const auto all = show(Dataset::range(9).take_while(throws));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0], HasSubstr("boom"));
}

TEST(TakeWhile, NothingButErrors) {
  EXPECT_EQ(show(testing::with_error(1, 0).take_while([](std::int64_t) {
              return true;
            })).size(),
            1u);
}

TEST(TakeWhile, RefusesWhatIsNoPredicate) {
  const Status status = build_status([] {
    return Dataset::range(3).take_while([](std::int64_t x) { return x; });
  });
  EXPECT_EQ(
      status.message(),
      "take_while: the predicate must give a bool scalar, it gives int64");
}

TEST(TakeWhile, DoesNotKnowItsCardinality) {
  const auto yes = [](std::int64_t) { return true; };
  EXPECT_TRUE(Dataset::range(3).take_while(yes).cardinality().is_unknown());
  EXPECT_EQ(Dataset::range(0).take_while(yes).cardinality().value(), 0);
}

TEST(TakeWhile, ResumesAnywhere) {
  testing::expect_resumes_everywhere([] {
    return Dataset::range(100).take_while(
        [](std::int64_t x) { return x < 17; });
  });
  testing::expect_resumes_everywhere([] {
    return testing::stream(12)
        .take_while([](std::int64_t x) { return x < 9; })
        .repeat(3);
  });
}

}  // namespace
}  // namespace penstock
