#include <gmock/gmock.h>

#include "tests/support/show.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::show;

TEST(Unique, GivesEveryElementOnceInOrder) {
  EXPECT_THAT(show(Dataset::range(20)
                       .map([](std::int64_t x) { return x * x % 7; })
                       .unique()),
              ElementsAre("0", "1", "4", "2"));
  EXPECT_THAT(show(testing::stream(3).repeat(4).unique()),
              ElementsAre("0", "1", "2"));
  EXPECT_THAT(show(Dataset::range(0).unique()), IsEmpty());
}

TEST(Unique, ComparesStructureTypeShapeAndValue) {
  const Dataset ds = Dataset::range(12).map([](const Element& e) -> Element {
    switch (e[0].value<std::int64_t>() % 6) {
      case 0:
        return Element(Tensor::scalar<std::int64_t>(1));
      case 1:
        return Element(Tensor::scalar<std::int32_t>(1));
      case 2:
        return Element(Tensor::from<std::int64_t>({1}));
      case 3:
        return Element::tuple({Element(Tensor::scalar<std::int64_t>(1))});
      case 4:
        return Element(Tensor::string("a"));
      default:
        return Element(Tensor::string("ab"));
    }
  });
  EXPECT_THAT(show(ds.unique()),
              ElementsAre("1", "1", "[1]", "(1,)", "'a'", "'ab'"));
}

TEST(Unique, TellsStringsApartByTheirBounds) {
  const Dataset ds = Dataset::range(2).map([](const Element& e) {
    const bool first = e[0].value<std::int64_t>() == 0;
    const std::vector<std::string_view> words =
        first ? std::vector<std::string_view>{"ab", "c"}
              : std::vector<std::string_view>{"a", "bc"};
    return Element(Tensor::strings(words, Shape{2}).value());
  });
  EXPECT_EQ(show(ds.unique()).size(), 2u);
}

TEST(Unique, ErrorsPassEachInItsPlace) {
  const Dataset ds = testing::with_error(2, 1).repeat(2).unique();
  const auto all = show(ds);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], "0");
  EXPECT_THAT(all[1], HasSubstr("bad element"));
  EXPECT_THAT(all[2], HasSubstr("bad element"));
}

TEST(Unique, CannotCompareNestedDatasets) {
  EXPECT_THAT(std::string(testing::build_status([] {
                            return Dataset::range(3).window(2).unique();
                          }).message()),
              HasSubstr("unique: nested datasets cannot be compared"));
  const Dataset unknown =
      Dataset::range(3).window(2).map([](const Element& e) { return e; });
  EXPECT_THAT(show(unknown.unique()),
              ElementsAre(HasSubstr("nested datasets cannot be compared"),
                          HasSubstr("nested datasets cannot be compared")));
}

TEST(Unique, SaysThatItReplays) {
  EXPECT_THAT(Dataset::range(3).unique().explain(),
              HasSubstr("replays the input from the start"));
}

TEST(Unique, ResumesAnywhere) {
  testing::expect_resumes_everywhere([] {
    return Dataset::range(200)
        .map([](std::int64_t x) { return x * 37 % 50; })
        .unique();
  });
  testing::expect_resumes_everywhere(
      [] { return testing::stream(9).shuffle(4, 1).repeat(3).unique(); });
}

}  // namespace
}  // namespace penstock
