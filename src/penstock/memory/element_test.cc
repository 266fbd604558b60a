#include "penstock/memory/element.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "penstock/base/error.h"

namespace penstock {
namespace {

Element example() {
  return Element::dict(
      {{"image", Tensor::from({1, 2, 3})},
       {"meta", Element::tuple({Tensor::string("cat"), Element::absent()})},
       {"none", Element::absent()}});
}

TEST(Element, FlattensItsStructure) {
  const Element e = example();
  EXPECT_EQ(e.size(), 2u);
  EXPECT_EQ(e["image"], Tensor::from({1, 2, 3}));
  EXPECT_EQ(e[1].str(), "cat");
  EXPECT_EQ(e["meta"].str(), "cat");  // its first leaf
  EXPECT_EQ(e.byte_size(), 15);
  EXPECT_EQ(e.to_string(),
            "{'image': [1, 2, 3], 'meta': ('cat', None), 'none': None}");
}

TEST(Element, OrderLikeMovesKeysAndNothingElse) {
  const auto inner = [](int x, int y) {
    return Element::dict({{"x", Tensor::from({x})}, {"y", Tensor::from({y})}});
  };
  const Element wanted = Element::dict(
      {{"a", Tensor::from({0})}, {"b", Element::tuple({inner(0, 0)})}});
  Element e = Element::dict(
      {{"b", Element::tuple({Element::dict(
                 {{"y", Tensor::from({2})}, {"x", Tensor::from({1})}})})},
       {"a", Tensor::from({3})}});
  ASSERT_TRUE(e.order_like(wanted.structure()));
  EXPECT_EQ(e.to_string(), "{'a': [3], 'b': ({'x': [1], 'y': [2]},)}");

  Element other =
      Element::dict({{"b", Tensor::from({1})}, {"a", Tensor::from({2})}});
  const Element before = other;
  EXPECT_FALSE(other.order_like(wanted.structure()));
  EXPECT_FALSE(other.order_like(Structure::leaf()));
  EXPECT_FALSE(other.order_like(Structure::leaves(2)));
  EXPECT_FALSE(other.order_like(nullptr));
  EXPECT_EQ(other, before);
}

TEST(Element, ChildrenAreElementsOfTheirOwn) {
  const Element e = example();
  EXPECT_EQ(e.child(1), e.child("meta"));
  EXPECT_EQ(e.child("meta"),
            Element::tuple({Tensor::string("cat"), Element::absent()}));
  EXPECT_EQ(e.child("meta").child(1), Element::absent());
  EXPECT_EQ(e.child("image")[0].data(), e[0].data());
}

TEST(Element, AMissingKeyThrows) {
  const Element e = example();
  EXPECT_THROW(e["label"], std::out_of_range);
  EXPECT_THROW(e.child("label"), std::out_of_range);
  EXPECT_THROW(e["none"], std::out_of_range);  // there is no tensor under it
  EXPECT_THROW(Element()["x"], std::out_of_range);
  EXPECT_THROW(Element().child("x"), std::out_of_range);
  EXPECT_THROW(Element(Tensor::scalar(1))["x"], std::out_of_range);
  EXPECT_THROW(Element::tuple({Tensor::scalar(1)})["x"], std::out_of_range);
}

TEST(Element, EqualityLooksAtStructureAndValues) {
  EXPECT_EQ(example(), example());
  EXPECT_FALSE(Element(Tensor::scalar(1)) ==
               Element::tuple({Tensor::scalar(1)}));
  EXPECT_FALSE(Element::dict({{"a", Tensor::scalar(1)}}) ==
               Element::dict({{"b", Tensor::scalar(1)}}));
  EXPECT_EQ(Element(), Element());
  EXPECT_FALSE(Element().defined());
  EXPECT_TRUE(Element::absent().defined());
}

TEST(Element, RaggedHoldsValuesAndSplits) {
  const Element e =
      Element::ragged(Tensor::from({1, 2, 3}),
                      {Tensor::from(std::vector<std::int64_t>{0, 2, 3})});
  EXPECT_EQ(e.size(), 2u);
  EXPECT_EQ(e.structure(), Structure::ragged(1));
  EXPECT_EQ(e.to_string(), "ragged([1, 2, 3], [0, 2, 3])");
}

TEST(Element, RaggedRefusesSplitsThatAreNone) {
  using Ints = std::vector<std::int64_t>;
  const Tensor values = Tensor::from(Ints{1, 2, 3});
  for (const Ints& splits :
       {Ints{}, Ints{0, 2}, Ints{0, 4}, Ints{1, 3}, Ints{0, 2, 1, 3}}) {
    EXPECT_THROW(Element::ragged(values, {Tensor::from(splits)}), Error);
  }
  const Tensor good = Tensor::from(Ints{0, 2, 3});
  EXPECT_THROW(Element::ragged(values, {Tensor::from({0, 2, 3})}), Error);
  EXPECT_THROW(Element::ragged(values, {good, good}), Error);
  EXPECT_THROW(Element::ragged(Tensor(), {good}), Error);
  EXPECT_THROW(Element::ragged(values, {Tensor()}), Error);
  EXPECT_THROW(Element::ragged(Tensor::scalar(1), {good}), Error);
  EXPECT_NO_THROW(Element::ragged(values, {Tensor::from(Ints{0, 1, 2}), good}));
}

TEST(Element, RefusesUndefinedChildrenAndAKeyTwice) {
  const Element one = Tensor::scalar(1);
  EXPECT_THROW(Element::tuple({one, Element()}), Error);
  EXPECT_THROW(Element::dict({{"a", Element()}}), Error);
  EXPECT_THROW(Element::dict({{"a", one}, {"a", one}}), Error);
}

}  // namespace
}  // namespace penstock
