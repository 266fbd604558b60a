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

// [0], [1, 1], [2, 2, 2] ...: element x is x + 1 times x.
TEST(Unbatch, UndoesABatch) {
  EXPECT_THAT(show(Dataset::range(5).batch(2).unbatch()),
              ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_THAT(show(Dataset::range(4).batch(2).batch(2).unbatch()),
              ElementsAre("[0, 1]", "[2, 3]"));
  EXPECT_THAT(show(Dataset::range(3).enumerate(5).batch(2).unbatch()),
              ElementsAre("(5, 0)", "(6, 1)", "(7, 2)"));
}

TEST(Unbatch, TakesBatchesOfDifferentAndOfNoLength) {
  EXPECT_THAT(show(growing(3, 1).unbatch()),
              ElementsAre("0", "1", "1", "2", "2", "2"));
  const Dataset some_empty = Dataset::range(4).map([](std::int64_t x) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(x % 2), x);
  });
  EXPECT_THAT(show(some_empty.unbatch()), ElementsAre("1", "3"));
  EXPECT_THAT(show(Dataset::range(0).batch(2).unbatch()), IsEmpty());
}

TEST(Unbatch, TakesLargeRowsAndStrings) {
  const Dataset large =
      Dataset::range(6)
          .map([](std::int64_t x) {
            return std::vector<float>(1000, static_cast<float>(x));
          })
          .batch(4);
  const auto rows = large.unbatch().to_list();
  ASSERT_EQ(rows.size(), 6u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][0].shape(), Shape{1000});
    EXPECT_EQ(rows[i][0].as<float>()[999], static_cast<float>(i));
  }
  const Dataset words = Dataset::range(3).map([](std::int64_t x) {
    return std::string(static_cast<std::size_t>(x), 'a');
  });
  EXPECT_THAT(show(words.batch(2).unbatch()), ElementsAre("''", "'a'", "'aa'"));
}

TEST(Unbatch, TakesRaggedValuesApart) {
  const Dataset ds = Dataset::range(1).map([](const Element&) {
    return Element::tuple(
        {Element::ragged(Tensor::from<std::int64_t>({1, 2, 3}),
                         {Tensor::from<std::int64_t>({0, 1, 1, 2}),
                          Tensor::from<std::int64_t>({0, 2, 3})}),
         Element(Tensor::from<std::int64_t>({7, 8, 9}))});
  });
  const auto rows = ds.unbatch().to_list();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], Element::tuple(
                         {Element::ragged(Tensor::from<std::int64_t>({1, 2}),
                                          {Tensor::from<std::int64_t>({0, 2})}),
                          Element(Tensor::scalar<std::int64_t>(7))}));
  EXPECT_EQ(rows[1][0].shape(), Shape{0});
  EXPECT_EQ(rows[2], Element::tuple(
                         {Element::ragged(Tensor::from<std::int64_t>({3}),
                                          {Tensor::from<std::int64_t>({0, 1})}),
                          Element(Tensor::scalar<std::int64_t>(9))}));
}

TEST(Unbatch, ABatchThatFailedIsOneError) {
  EXPECT_THAT(
      show(testing::with_error(6, 2).batch(2).unbatch()),
      ElementsAre("0", "1", "<map#1: element 2: bad element>", "4", "5"));
}

TEST(Unbatch, LeavesMustAgree) {
  const Dataset ds = Dataset::range(2).map([](std::int64_t x) {
    return std::make_tuple(
        std::vector<std::int64_t>(2, x),
        std::vector<std::int64_t>(static_cast<std::size_t>(2 + x), x));
  });
  const auto all = show(ds.unbatch());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], "(0, 0)");
  EXPECT_EQ(all[2],
            "<unbatch#2: element 1: the leaves differ in their first "
            "dimension: 2 in leaf 0, 3 in leaf 1>");
}

TEST(Unbatch, RefusesScalars) {
  EXPECT_EQ(build_status([] { return Dataset::range(2).unbatch(); }).message(),
            "unbatch: leaf 0 is a scalar: it has no first dimension");
  const Dataset unknown =
      Dataset::range(1).map([](const Element& e) { return e; });
  EXPECT_THAT(show(unknown.unbatch()),
              ElementsAre(HasSubstr("leaf 0 is a scalar")));
  const Dataset none =
      Dataset::range(1).map([](const Element&) { return Element::absent(); });
  EXPECT_THAT(show(none.unbatch()), ElementsAre(HasSubstr("holds no tensor")));
}

TEST(Unbatch, KnowsSpecAndCardinality) {
  const Dataset whole = Dataset::range(10).batch(3, {.drop_remainder = true});
  EXPECT_EQ(whole.unbatch().cardinality().value(), 9);
  EXPECT_EQ(whole.unbatch().element_spec(), Spec::scalar<std::int64_t>());
  EXPECT_TRUE(Dataset::range(10).batch(3).unbatch().cardinality().is_unknown());
  EXPECT_TRUE(whole.repeat().unbatch().cardinality().is_infinite());
}

// Row 1 of batch 0 is another element than row 0 of batch 1.
TEST(Unbatch, EveryRowHasItsOwnOrigin) {
  const Dataset ds = Dataset::range(40).batch(4).unbatch().map(
      [](std::int64_t, RandomStream& r) {
        return static_cast<std::int64_t>(r.below(1'000'000'000'000));
      });
  auto all = show(ds);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
}

TEST(Unbatch, ResumesAnywhere) {
  testing::expect_resumes_everywhere(
      [] { return Dataset::range(23).batch(4).unbatch(); });
  testing::expect_resumes_everywhere([] {
    return growing(8, 1).unbatch().filter(
        [](std::int64_t x) { return x % 3 != 0; });
  });
}

TEST(Unbatch, RaggedRowsNeedInt64Splits) {
  const Dataset ds = Dataset::range(1).map([](const Element&) {
    return Element(Structure::ragged(1), {Tensor::from<std::int64_t>({1, 2}),
                                          Tensor::from<float>({0, 1, 2})});
  });
  const auto fails = ElementsAre(HasSubstr("no flat int64 row_splits"));
  EXPECT_THAT(show(ds.unbatch()), fails);
  EXPECT_THAT(show(ds.rebatch(1)), fails);
}

}  // namespace
}  // namespace penstock
