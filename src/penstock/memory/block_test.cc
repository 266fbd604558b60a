#include "penstock/memory/block.h"

#include <gtest/gtest.h>

#include "penstock/base/random.h"

namespace penstock {
namespace {

Tensor matrix(std::int64_t rows, std::int64_t columns) {
  Tensor t = Tensor::allocate<float>({rows, columns}).value();
  float v = 0;
  for (float& x : t.mutable_as<float>()) x = v++;
  return t;
}

ErrorRef error(std::string text) {
  auto e = std::make_shared<ElementError>();
  e->status = absl::DataLossError(text);
  return e;
}

Block build(const std::vector<Element>& elements) {
  BlockBuilder builder;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Origin origin{nullptr, static_cast<std::int64_t>(i)};
    if (elements[i].defined()) {
      builder.add(elements[i], origin);
    } else {
      builder.add_error(error("e" + std::to_string(i)), origin);
    }
  }
  return builder.finish().value();
}

/// The elements as text; errors as "!message".
std::vector<std::string> show(const Block& block) {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < block.size(); ++i) {
    if (const ElementError* e = block.error_at(i)) {
      out.push_back("!" + std::string(to_std(e->status.message())));
    } else {
      out.push_back(block.element(i).to_string());
    }
  }
  return out;
}

using Strings = std::vector<std::string>;

TEST(StackTensors, IsAViewWhereRowsLieSideBySide) {
  const Tensor t = matrix(6, 4);
  const std::vector<Tensor> rows = {t.row(2), t.row(3), t.row(4)};
  const Tensor stacked = stack_tensors(rows).value();
  EXPECT_EQ(stacked.data(), t.row(2).data());
  EXPECT_EQ(stacked.shape(), (Shape{3, 4}));
  EXPECT_EQ(stacked, t.rows(2, 5));
}

TEST(StackTensors, SharesLongStringsThatFillTheirMemory) {
  const std::string first(100'000, 'a');
  const std::string second(30'000, 'b');
  const std::vector<Tensor> rows = {Tensor::string(first),
                                    Tensor::string(second)};
  const Tensor stacked = stack_tensors(rows).value();
  EXPECT_EQ(stacked.strs(), (std::vector<std::string_view>{first, second}));
  EXPECT_EQ(stacked.str(1).data(), rows[1].str().data());
  // A string that keeps much more alive is copied, and so are short ones.
  const std::vector<std::string_view> many(10, first);
  const Tensor wide = Tensor::strings(many, Shape{10}).value();
  const std::vector<Tensor> one = {wide.row(3)};
  EXPECT_NE(stack_tensors(one)->str(0).data(), wide.str(3).data());
  const std::vector<Tensor> words = {Tensor::string("ab"), rows[1]};
  EXPECT_NE(stack_tensors(words)->str(1).data(), rows[1].str().data());
}

TEST(JoinBlocks, JoinsStringsThatLieAnywhere) {
  const std::string text(20'000, 'x');
  const std::vector<Tensor> rows = {Tensor::string(text), Tensor::string(text)};
  const Tensor scattered = stack_tensors(rows).value();
  const Tensor packed = Tensor::strings({{"a", "b"}}, Shape{2}).value();
  std::vector<Block> parts;
  for (const Tensor& t : {packed, scattered, scattered.rows(1, 2)}) {
    Block::Columns columns;
    columns.emplace_back(t);
    parts.emplace_back(Structure::leaf(), std::move(columns), t.shape()[0],
                       Origins());
  }
  EXPECT_EQ(join_blocks(parts)->column(0).tensor().strs(),
            (std::vector<std::string_view>{"a", "b", text, text, text}));
}

TEST(StackTensors, CopiesWhatLiesApart) {
  const Tensor t = matrix(6, 4);
  const std::vector<Tensor> rows = {t.row(2), t.row(4), t.row(3)};
  const Tensor stacked = stack_tensors(rows).value();
  EXPECT_NE(stacked.data(), t.row(2).data());
  EXPECT_EQ(stacked.row(0), t.row(2));
  EXPECT_EQ(stacked.row(1), t.row(4));
  EXPECT_EQ(stacked.row(2), t.row(3));
  const std::vector<Tensor> scalars = {Tensor::scalar(1), Tensor::scalar(2)};
  EXPECT_EQ(stack_tensors(scalars).value(), Tensor::from({1, 2}));
  const std::vector<Tensor> words = {Tensor::string("a"), Tensor::string("")};
  EXPECT_EQ(stack_tensors(words)->strs(),
            (std::vector<std::string_view>{"a", ""}));
  const std::vector<Tensor> empty(3, Tensor::allocate<float>({0, 2}).value());
  EXPECT_EQ(stack_tensors(empty)->shape(), (Shape{3, 0, 2}));
}

TEST(BlockBuilder, PacksWhatHasOneShape) {
  const Block block = build({Tensor::scalar(1), Tensor::scalar(2)});
  ASSERT_TRUE(block.column(0).packed());
  EXPECT_EQ(block.column(0).tensor(), Tensor::from({1, 2}));
  const Block loose = build({Tensor::from({1}), Tensor::from({1, 2})});
  EXPECT_FALSE(loose.column(0).packed());
  EXPECT_EQ(show(loose), (Strings{"[1]", "[1, 2]"}));
}

TEST(BlockBuilder, DoesNotCopyLargeRows) {
  const Tensor t = matrix(4, 1000);
  const Block apart = build({t.row(0), t.row(2)});
  EXPECT_FALSE(apart.column(0).packed());
  EXPECT_EQ(apart.element(1)[0].data(), t.row(2).data());
  const Block adjacent = build({t.row(1), t.row(2)});
  ASSERT_TRUE(adjacent.column(0).packed());
  EXPECT_EQ(adjacent.column(0).tensor().data(), t.row(1).data());
}

TEST(BlockBuilder, KeepsErrorsInTheirPlaces) {
  const Block block = build(
      {Element(), Tensor::scalar(1), Element(), Tensor::scalar(3), Element()});
  EXPECT_EQ(show(block), (Strings{"!e0", "1", "!e2", "3", "!e4"}));
  EXPECT_FALSE(block.element(2).defined());
  const Block only = build({Element(), Element()});
  EXPECT_EQ(show(only), (Strings{"!e0", "!e1"}));
  EXPECT_EQ(only.structure(), nullptr);
}

TEST(BlockBuilder, TakesElementsOfDifferentStructure) {
  const Block block =
      build({Tensor::scalar(1), Element::tuple({Tensor::scalar(2)}), Element(),
             Element::absent()});
  EXPECT_TRUE(block.mixed());
  EXPECT_EQ(show(block), (Strings{"1", "(2,)", "!e2", "None"}));
  EXPECT_EQ(show(block.slice(1, 3)), (Strings{"(2,)", "!e2"}));
  EXPECT_TRUE(block.slice(2, 2).empty());
}

TEST(Block, SlicesShareMemory) {
  Block block = build(
      {Tensor::scalar(1), Element(), Tensor::scalar(3), Tensor::scalar(4)});
  const Block part = block.slice(1, 4);
  EXPECT_EQ(show(part), (Strings{"!e1", "3", "4"}));
  EXPECT_EQ(part.column(0).tensor().data(),
            block.column(0).tensor().data() + 4);
  EXPECT_EQ(part.origins().at(0).ordinal, 1);
  EXPECT_EQ(show(part.slice(1, 2)), Strings{"3"});
  EXPECT_TRUE(block.slice(2, 2).empty());
}

TEST(Block, GathersAnyRows) {
  const Block block = build({Tensor::scalar(1), Element(), Tensor::scalar(3)});
  const std::int64_t rows[] = {2, 1, 0, 2};
  const Block out = block.gather(rows).value();
  EXPECT_EQ(show(out), (Strings{"3", "!e1", "1", "3"}));
  EXPECT_EQ(out.origins().at(0).ordinal, 2);
  EXPECT_EQ(block.gather({}).value().size(), 0);
  Block kept = block;
  ASSERT_TRUE(kept.keep(std::vector<std::int64_t>{0, 2}).ok());
  EXPECT_EQ(show(kept), (Strings{"1", "3"}));
  ASSERT_TRUE(kept.keep({}).ok());
  EXPECT_TRUE(kept.empty());
}

TEST(GatherRows, WorksForEveryWidth) {
  const std::int64_t rows[] = {4, 0, 3};
  for (const std::int64_t columns : {0, 1, 2, 3, 5, 17}) {
    const Tensor t = matrix(5, columns);
    const Tensor out = gather_rows(t, rows).value();
    ASSERT_EQ(out.shape(), (Shape{3, columns}));
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(out.row(i), t.row(rows[i]));
  }
  const Tensor bytes =
      Tensor::from(std::vector<std::uint8_t>{10, 11, 12, 13, 14});
  EXPECT_EQ(gather_rows(bytes, rows).value(),
            Tensor::from(std::vector<std::uint8_t>{14, 10, 13}));
  const Tensor words =
      Tensor::strings(std::vector<std::string_view>{"a", "b", "", "dd", "e"},
                      {5})
          .value();
  EXPECT_EQ(gather_rows(words, rows)->strs(),
            (std::vector<std::string_view>{"e", "a", "dd"}));
}

TEST(JoinBlocks, IsAViewWherePartsLieSideBySide) {
  const Tensor t = matrix(6, 4);
  const Block whole(Structure::leaf(), {Column(t)}, 6, Origins(nullptr, 0));
  const std::vector<Block> parts = {whole.slice(1, 3), whole.slice(3, 5)};
  const Block joined = join_blocks(parts).value();
  EXPECT_EQ(joined.column(0).tensor().data(), t.row(1).data());
  EXPECT_EQ(joined.size(), 4);
  EXPECT_TRUE(joined.origins().affine());
  const std::vector<Block> apart = {whole.slice(3, 5), whole.slice(1, 3)};
  EXPECT_EQ(join_blocks(apart)->column(0).tensor().row(3), t.row(2));
}

TEST(JoinBlocks, LeavesLargeRowsWhereTheyLie) {
  const Tensor t = matrix(3, kMaxCopiedRow);
  const Block whole(Structure::leaf(), {Column(t)}, 3, Origins(nullptr, 0));
  const std::vector<Block> apart = {whole.slice(2, 3), whole.slice(0, 2)};
  const Block joined = join_blocks(apart).value();
  EXPECT_EQ(joined.size(), 3);
  EXPECT_EQ(joined.column(0).row(0).data(), t.row(2).data());
  EXPECT_EQ(joined.column(0).row(2).data(), t.row(1).data());
}

TEST(JoinBlocks, OfNothingOrOnlyEmptyBlocksIsEmpty) {
  EXPECT_TRUE(join_blocks({}).value().empty());
  const Block empty = build({Tensor::scalar(1)}).slice(0, 0);
  const std::vector<Block> parts = {empty, empty, Block()};
  EXPECT_TRUE(join_blocks(parts).value().empty());
  const std::vector<Block> with_one = {empty, build({Tensor::scalar(7)}),
                                       empty};
  EXPECT_EQ(show(join_blocks(with_one).value()), Strings{"7"});
}

// Any parts of any kind give the same elements as one list of them.
TEST(JoinBlocks, KeepsEveryElementErrorAndOrigin) {
  RandomStream random(21);
  const std::vector<Element> kinds = {
      Tensor::scalar(1),
      Tensor::scalar(2),
      Tensor::scalar(0.5),
      Tensor::from({1, 2}),
      Tensor::string("s"),
      Element::tuple({Tensor::scalar(1), Tensor::string("t")}),
      Element::tuple({}),
      Element()};
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t variety = 1 + random.below(kinds.size());
    std::vector<Block> parts;
    Strings expected;
    std::int64_t number = 0;
    const std::uint64_t count = 1 + random.below(5);
    for (std::uint64_t p = 0; p < count; ++p) {
      BlockBuilder builder;
      const std::uint64_t rows = random.below(4);
      for (std::uint64_t i = 0; i < rows; ++i) {
        const Element& e = kinds[kinds.size() - 1 - random.below(variety)];
        const Origin origin{nullptr, number++};
        if (e.defined()) {
          builder.add(e, origin);
          expected.push_back(e.to_string());
        } else {
          builder.add_error(error("x"), origin);
          expected.emplace_back("!x");
        }
      }
      parts.push_back(builder.finish().value());
    }
    const Block joined = join_blocks(parts).value();
    ASSERT_EQ(show(joined), expected) << round;
    for (std::int64_t i = 0; i < joined.size(); ++i) {
      ASSERT_EQ(joined.origins().at(i).ordinal, i) << round;
    }
  }
}

}  // namespace
}  // namespace penstock
