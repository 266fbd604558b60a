#include "penstock/ops/choose_from_datasets/choose_from_datasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/penstock.h"
#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::outcomes;

Dataset choices(std::vector<std::int64_t> list) {
  const auto n = static_cast<std::int64_t>(list.size());
  return Dataset::range(n).map(
      [list](std::int64_t i) { return list[static_cast<std::size_t>(i)]; });
}

TEST(ChooseFromDatasets, FollowsTheChoices) {
  EXPECT_THAT(outcomes(Dataset::choose_from_datasets(
                  {Dataset::range(5), Dataset::range(100, 105)},
                  choices({1, 1, 0, 1, 0}))),
              ElementsAre("100", "101", "0", "102", "1"));
}

TEST(ChooseFromDatasets, EndsWhereAChosenDatasetIsEmpty) {
  EXPECT_THAT(outcomes(Dataset::choose_from_datasets(
                  {Dataset::range(1), Dataset::range(100, 105)},
                  choices({1, 0, 0, 1}))),
              ElementsAre("100", "0"));
}

TEST(ChooseFromDatasets, PassesOverEmptyOnesIfAsked) {
  EXPECT_THAT(outcomes(Dataset::choose_from_datasets(
                  {Dataset::range(1), Dataset::range(100, 105)},
                  choices({1, 0, 0, 1}), {.stop_on_empty_dataset = false})),
              ElementsAre("100", "0", "101"));
}

TEST(ChooseFromDatasets, ErrorsNumberTheDatasetsAsChoicesDo) {
  const Dataset fails =
      Dataset::range(3).map([](std::int64_t) -> StatusOr<std::int64_t> {
        return absl::DataLossError("planted");
      });
  EXPECT_THAT(outcomes(Dataset::choose_from_datasets({Dataset::range(3), fails},
                                                     choices({0, 1}))),
              ElementsAre("0", HasSubstr("choose_from_datasets#2[1].map#1")));
}

TEST(ChooseFromDatasets, EndlessChoicesEndWithTheLastDataset) {
  EXPECT_THAT(
      outcomes(Dataset::choose_from_datasets(
          {Dataset::range(1), Dataset::range(2)}, Dataset::range(2).repeat(),
          {.stop_on_empty_dataset = false})),
      ElementsAre("0", "0", "1"));
}

TEST(ChooseFromDatasets, AChoiceThatNamesNoDatasetIsAnErrorInPlace) {
  EXPECT_THAT(outcomes(Dataset::choose_from_datasets(
                  {Dataset::range(5), Dataset::range(100, 105)},
                  choices({1, 2, 0, -1, 1}))),
              ElementsAre("100", HasSubstr("a choice must be in [0, 2), got 2"),
                          "0", HasSubstr("got -1"), "101"));
}

TEST(ChooseFromDatasets, AFailedChoiceIsAnErrorInPlace) {
  const auto choice = Dataset::range(3).map([](std::int64_t x) {
    if (x == 1) throw std::runtime_error("bad");
    return x % 2;
  });
  EXPECT_THAT(
      outcomes(Dataset::choose_from_datasets({Dataset::range(5)}, choice)),
      ElementsAre("0", HasSubstr("bad"), "1"));
}

TEST(ChooseFromDatasets, RefusesBadArguments) {
  EXPECT_EQ(
      build_error([] { Dataset::choose_from_datasets({}, Dataset::range(3)); }),
      "choose_from_datasets: datasets must not be empty, got 0");
  EXPECT_THAT(build_error([] {
                Dataset::choose_from_datasets(
                    {Dataset::range(3)},
                    Dataset::range(3).map([](std::int64_t) { return 1.f; }));
              }),
              HasSubstr("choice must give int64 scalars, it gives float32"));
}

TEST(ChooseFromDatasets, ChoicesOfUnknownSpecAreCheckedAtRunTime) {
  const auto choice = Dataset::range(2).map([](const Element& e) -> Element {
    if (e[0].value<std::int64_t>() == 0) return Element(Tensor::scalar(0.5f));
    return Element(Tensor::scalar<std::int64_t>(0));
  });
  EXPECT_THAT(
      outcomes(Dataset::choose_from_datasets({Dataset::range(5)}, choice)),
      ElementsAre(HasSubstr("must be an int64 scalar"), "0"));
}

TEST(ChooseFromDatasets, WithoutChoicesItIsEmpty) {
  const auto ds =
      Dataset::choose_from_datasets({Dataset::range(5)}, Dataset::range(0));
  EXPECT_EQ(ds.cardinality(), Cardinality(0));
  EXPECT_THAT(outcomes(ds), IsEmpty());
}

}  // namespace
}  // namespace penstock
