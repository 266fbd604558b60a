#include "penstock/memory/ragged.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using I64 = std::int64_t;

Element::Leaves ragged(std::vector<I64> values,
                       std::vector<std::vector<I64>> splits) {
  Element::Leaves out;
  out.push_back(Tensor::from(values));
  for (const auto& s : splits) out.push_back(Tensor::from(s));
  return out;
}
std::span<const Tensor> span(const Element::Leaves& l) {
  return {l.data(), l.size()};
}

TEST(Ragged, StacksDenseRowsOfDifferentLength) {
  const std::vector<Element::Leaves> rows = {ragged({1, 2}, {}), ragged({}, {}),
                                             ragged({3}, {})};
  const Element::Leaves out = *stack_ragged(rows);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(out[0].as<I64>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(out[1].as<I64>(), ElementsAre(0, 2, 2, 3));
  EXPECT_TRUE(check_ragged(span(out)).ok());
}

TEST(Ragged, RowUndoesStack) {
  const std::vector<Element::Leaves> rows = {
      ragged({1, 2, 3}, {{0, 1, 3}}),      // [[1], [2, 3]]
      ragged({}, {{0}}),                   // []
      ragged({4, 5, 6}, {{0, 0, 2, 3}})};  // [[], [4, 5], [6]]
  const Element::Leaves out = *stack_ragged(rows);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_THAT(out[1].as<I64>(), ElementsAre(0, 2, 2, 5));
  EXPECT_THAT(out[2].as<I64>(), ElementsAre(0, 1, 3, 3, 5, 6));
  ASSERT_TRUE(check_ragged(span(out)).ok());
  EXPECT_EQ(ragged_rows(span(out)), 3);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Element::Leaves row = *ragged_row(span(out), static_cast<I64>(i));
    EXPECT_EQ(row, rows[i]) << i;
  }
}

TEST(Ragged, DenseTensorHasUniformRows) {
  const Tensor dense =
      Tensor::from<I64>({1, 2, 3, 4, 5, 6}).reshaped(Shape{2, 3});
  const Element::Leaves out = *ragged_from_dense(dense, 1);
  EXPECT_THAT(out[0].as<I64>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(out[1].as<I64>(), ElementsAre(0, 3, 6));
  EXPECT_FALSE(ragged_from_dense(dense, 2).ok());
}

TEST(Ragged, RefusesMalformedSplits) {
  const auto why = [](const Element::Leaves& l) {
    return std::string(check_ragged(span(l)).message());
  };
  EXPECT_THAT(why(ragged({1, 2}, {{0, 3}})), HasSubstr("rise from 0 to 2"));
  EXPECT_THAT(why(ragged({1, 2}, {{1, 2}})), HasSubstr("rise from 0 to 2"));
  EXPECT_THAT(why(ragged({1, 2}, {{0, 2, 1, 2}})), HasSubstr("rise from 0"));
  EXPECT_THAT(why(ragged({1, 2}, {{}})), HasSubstr("at least one value"));
  EXPECT_THAT(why(ragged({1, 2}, {{0, 3}, {0, 1, 2}})),
              HasSubstr("row_splits 0 must rise from 0 to 2"));
}

TEST(Ragged, ComponentsAreFoundThroughNesting) {
  const Structure* s = Structure::tuple(
      {Structure::leaf(), Structure::absent(),
       Structure::dict({{"r", Structure::ragged(2)}, {"x", Structure::leaf()}},
                       "Tag")});
  const auto components = ragged_components(s);
  ASSERT_EQ(components.size(), 3u);
  EXPECT_EQ(components[1].first_leaf, 1u);
  EXPECT_EQ(components[1].ragged_rank, 2);
  EXPECT_EQ(components[2].first_leaf, 4u);
  EXPECT_TRUE(s->has_ragged());
  const std::vector<int> ranks = {1, 3, 0};
  EXPECT_EQ(with_ragged_ranks(s, ranks),
            Structure::tuple({Structure::ragged(1), Structure::absent(),
                              Structure::dict({{"r", Structure::ragged(3)},
                                               {"x", Structure::leaf()}},
                                              "Tag")}));
}

}  // namespace
}  // namespace penstock
