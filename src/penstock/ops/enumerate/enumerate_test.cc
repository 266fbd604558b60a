#include <gmock/gmock.h>

#include "tests/support/show.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::show;

TEST(Enumerate, NumbersElementsFromStart) {
  EXPECT_THAT(show(Dataset::range(5, 8).enumerate()),
              ElementsAre("(0, 5)", "(1, 6)", "(2, 7)"));
  EXPECT_THAT(show(Dataset::range(5, 7).enumerate(-10)),
              ElementsAre("(-10, 5)", "(-9, 6)"));
  EXPECT_THAT(show(Dataset::range(0).enumerate()), IsEmpty());
}

TEST(Enumerate, NumbersWhatAFilterLeaves) {
  const Dataset ds =
      Dataset::range(10).filter([](std::int64_t x) { return x % 4 == 1; });
  EXPECT_THAT(show(ds.enumerate(100)),
              ElementsAre("(100, 1)", "(101, 5)", "(102, 9)"));
}

TEST(Enumerate, AnErrorUsesUpANumber) {
  EXPECT_THAT(show(testing::with_error(4, 1).enumerate()),
              ElementsAre("(0, 0)", "<map#1: element 1: bad element>", "(2, 2)",
                          "(3, 3)"));
  EXPECT_THAT(show(testing::with_error(1, 0).enumerate()),
              ElementsAre("<map#1: element 0: bad element>"));
}

TEST(Enumerate, GivesRandomAccess) {
  testing::expect_random_access(Dataset::range(20).enumerate(3));
  testing::expect_random_access(Dataset::range(20).enumerate().skip(5));
  testing::expect_random_access(
      Dataset::range(20).enumerate().shuffle(kGlobal, 1));
}

TEST(Enumerate, ResumesAnywhere) {
  testing::expect_resumes_everywhere(
      [] { return Dataset::range(20).enumerate(); });
  testing::expect_resumes_everywhere([] {
    return testing::stream(30).enumerate(7).filter(
        [](std::int64_t i, std::int64_t) { return i % 3 == 0; });
  });
}

TEST(Enumerate, HasANestedSpec) {
  EXPECT_EQ(Dataset::range(3).batch(2).enumerate().element_spec(),
            Spec::tuple({Spec::scalar<std::int64_t>(),
                         Spec::tensor(DType::kInt64, {kUnknownDim})}));
  EXPECT_EQ(Dataset::range(3).enumerate().cardinality().value(), 3);
  const Dataset unknown =
      Dataset::range(3).map([](const Element& e) { return e; });
  EXPECT_FALSE(unknown.enumerate().element_spec().known());
}

TEST(Enumerate, TakesElementsOfDifferentStructure) {
  const Dataset ds = Dataset::range(3).map([](const Element& e) {
    return e[0].value<std::int64_t>() == 1 ? Element::tuple({e, e}) : e;
  });
  EXPECT_THAT(show(ds.enumerate()),
              ElementsAre("(0, 0)", "(1, (1, 1))", "(2, 2)"));
}

}  // namespace
}  // namespace penstock
