#include <gmock/gmock.h>

#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::show;

TEST(Zip, StopsAtTheShortest) {
  EXPECT_THAT(show(Dataset::zip({Dataset::range(3), Dataset::range(10, 20)})),
              ElementsAre("(0, 10)", "(1, 11)", "(2, 12)"));
  EXPECT_THAT(show(Dataset::zip({testing::stream(5), testing::stream(2)})),
              ElementsAre("(0, 0)", "(1, 1)"));
  EXPECT_THAT(show(Dataset::zip({Dataset::range(0), Dataset::range(5)})),
              IsEmpty());
  EXPECT_THAT(
      show(Dataset::zip({Dataset::range(2).repeat(), Dataset::range(3)})),
      ElementsAre("(0, 0)", "(1, 1)", "(0, 2)"));
}

TEST(Zip, NestsAsItIsTold) {
  const Dataset a = Dataset::range(1, 2);
  const Dataset b = Dataset::range(2, 3).batch(1);
  EXPECT_THAT(show(Dataset::zip({{"x", a}, {"y", b}})),
              ElementsAre("{'x': 1, 'y': [2]}"));
  const Structure* leaf = Structure::leaf();
  const Structure* nested = Structure::tuple(
      {Structure::dict({{"p", leaf}}), Structure::absent(), leaf});
  EXPECT_THAT(show(Dataset::zip(nested, {a, b})),
              ElementsAre("({'p': 1}, None, [2])"));
  EXPECT_THAT(show(Dataset::zip(std::vector<Dataset>{a})), ElementsAre("(1,)"));
  EXPECT_THAT(show(Dataset::zip({Dataset::zip({a, a}), b})),
              ElementsAre("((1, 1), [2])"));
}

TEST(Zip, OneDatasetTwiceGivesEqualElements) {
  const Dataset a = testing::stream(3);
  EXPECT_THAT(show(Dataset::zip({a, a})),
              ElementsAre("(0, 0)", "(1, 1)", "(2, 2)"));
}

TEST(Zip, AnErrorInAnyInputIsOneErrorAndTheRestStaysAligned) {
  const Dataset ds =
      Dataset::zip({testing::with_error(5, 1), testing::with_error(5, 3),
                    testing::with_error(5, 3)});
  const std::vector<std::string> all = show(ds);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0], "(0, 0, 0)");
  EXPECT_THAT(all[1], HasSubstr("zip#2[0].map#1: element 1: bad element"));
  EXPECT_EQ(all[2], "(2, 2, 2)");
  EXPECT_THAT(all[3], HasSubstr("zip#2[1].map#1: element 3: bad element"));
  EXPECT_THAT(show(ds.ignore_errors()),
              ElementsAre("(0, 0, 0)", "(2, 2, 2)", "(4, 4, 4)"));
}

TEST(Zip, NothingButErrors) {
  EXPECT_EQ(
      show(Dataset::zip({testing::with_error(1, 0), Dataset::range(9)})).size(),
      1u);
}

TEST(Zip, KnowsItsCardinality) {
  const Dataset endless = Dataset::range(3).repeat();
  const Dataset unknown = testing::stream(3);
  const auto n = [](const std::vector<Dataset>& datasets) {
    return Dataset::zip(datasets).cardinality();
  };
  EXPECT_EQ(n({endless, Dataset::range(7)}).value(), 7);
  EXPECT_TRUE(n({endless, endless}).is_infinite());
  EXPECT_TRUE(n({unknown, Dataset::range(7)}).is_unknown());
  EXPECT_EQ(n({unknown, Dataset::range(0)}).value(), 0);
}

TEST(Zip, CarriesUnknownSpecsAndMixedElements) {
  const Dataset mixed = Dataset::range(3).map([](const Element& e) {
    return e[0].value<std::int64_t>() == 1 ? Element::absent() : e;
  });
  const Dataset ds = Dataset::zip({mixed, Dataset::range(3)});
  EXPECT_FALSE(ds.element_spec().known());
  EXPECT_THAT(show(ds), ElementsAre("(0, 0)", "(None, 1)", "(2, 2)"));
}

TEST(Zip, RefusesBadArguments) {
  EXPECT_THAT(std::string(build_status([] {
                            return Dataset::zip(std::vector<Dataset>{});
                          }).message()),
              HasSubstr("zip: datasets must hold at least one dataset"));
  EXPECT_THAT(std::string(build_status([] {
                            return Dataset::zip({{"a", Dataset::range(1)},
                                                 {"a", Dataset::range(1)}});
                          }).message()),
              HasSubstr("got 'a' twice"));
  EXPECT_THAT(std::string(build_status([] {
                            return Dataset::zip(
                                Structure::leaf(),
                                {Dataset::range(1), Dataset::range(1)});
                          }).message()),
              HasSubstr("as many as the structure"));
}

TEST(Zip, GivesRandomAccess) {
  testing::expect_random_access(
      Dataset::zip({Dataset::range(9), Dataset::range(20).batch(2)}));
  testing::expect_random_access(
      Dataset::zip(
          {Dataset::range(9).shuffle(kGlobal, 5), testing::with_error(9, 4)})
          .shuffle(kGlobal, 2));
}

TEST(Zip, ResumesAnywhere) {
  testing::expect_resumes_everywhere([] {
    return Dataset::zip({Dataset::range(30), testing::stream(25),
                         Dataset::range(90).shuffle(4, 1).batch(3)});
  });
}

// Random values behind a zip hang on the element's number, not on its inputs.
TEST(Zip, RandomValuesAreThoseOfRandomAccess) {
  const auto random = [](std::int64_t x, RandomStream& r) {
    return x + static_cast<std::int64_t>(r.below(1000)) * 100;
  };
  const Dataset a = Dataset::range(12).map(random);
  testing::expect_random_access(Dataset::zip({a, a}).map(
      [](std::int64_t x, std::int64_t y, RandomStream& r) {
        return x - y + static_cast<std::int64_t>(r.below(1000));
      }));
}

}  // namespace
}  // namespace penstock
