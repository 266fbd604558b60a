#include "penstock/memory/shape.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock {
namespace {

TEST(Shape, CountsItsElements) {
  EXPECT_EQ(Shape{}.num_elements(), 1);
  EXPECT_EQ((Shape{2, 3, 4}).num_elements(), 24);
  EXPECT_EQ((Shape{5, 0, 7}).num_elements(), 0);
}

TEST(Shape, RefusesToCountWhatCannotBe) {
  constexpr std::int64_t kBig = std::int64_t{1} << 40;
  EXPECT_EQ((Shape{2, 3}).checked_num_elements(), 6);
  EXPECT_EQ((Shape{kBig, kBig}).checked_num_elements(), std::nullopt);
  EXPECT_EQ((Shape{2, -1}).checked_num_elements(), std::nullopt);
  EXPECT_EQ((Shape{0, kBig}).checked_num_elements(), 0);
  EXPECT_EQ((Shape{kBig, 0}).checked_num_elements(), 0);
  // Too large is too large wherever a zero stands.
  EXPECT_EQ((Shape{0, kBig, kBig}).checked_num_elements(), std::nullopt);
  EXPECT_EQ((Shape{kBig, 0, kBig}).checked_num_elements(), std::nullopt);
  EXPECT_EQ((Shape{kBig, kBig, 0}).checked_num_elements(), std::nullopt);
}

TEST(Shape, GainsAndLosesItsFirstDimension) {
  const Shape shape{3, 4};
  EXPECT_EQ(shape.prepended(2), (Shape{2, 3, 4}));
  EXPECT_EQ(shape.without_first(), Shape{4});
  EXPECT_EQ(Shape{}.prepended(7), Shape{7});
  EXPECT_EQ(shape.prepended(2).without_first(), shape);
  Shape long_one{1, 2, 3, 4, 5, 6};  // beyond what is stored inline
  EXPECT_EQ(long_one.prepended(0).rank(), 7u);
  EXPECT_EQ(long_one.prepended(0).without_first(), long_one);
}

TEST(Shape, PrintsLikeATuple) {
  EXPECT_EQ(Shape{}.to_string(), "()");
  EXPECT_EQ(Shape{3}.to_string(), "(3,)");
  EXPECT_EQ((Shape{224, 224, 3}).to_string(), "(224, 224, 3)");
}

TEST(PartialShape, AcceptsWhatItLeavesOpen) {
  const PartialShape unknown;
  const PartialShape partial{kUnknownDim, 3};
  EXPECT_TRUE(unknown.accepts(Shape{}));
  EXPECT_TRUE(unknown.accepts(Shape{1, 2}));
  EXPECT_TRUE(partial.accepts(Shape{9, 3}));
  EXPECT_FALSE(partial.accepts(Shape{9, 4}));
  EXPECT_FALSE(partial.accepts(Shape{3}));
  EXPECT_TRUE(PartialShape(Shape{}).accepts(Shape{}));
  EXPECT_FALSE(PartialShape(Shape{}).accepts(Shape{1}));
}

TEST(PartialShape, KnowsWhetherItIsKnown) {
  EXPECT_FALSE(PartialShape().fully_known());
  EXPECT_FALSE((PartialShape{kUnknownDim}).fully_known());
  EXPECT_TRUE(PartialShape(Shape{}).fully_known());
  EXPECT_EQ((PartialShape{2, 3}).to_shape(), (Shape{2, 3}));
}

std::vector<PartialShape> some_shapes() {
  return {PartialShape(),
          PartialShape(Shape{}),
          {kUnknownDim},
          {2},
          {3},
          {kUnknownDim, kUnknownDim},
          {kUnknownDim, 3},
          {2, kUnknownDim},
          {2, 3},
          {2, 4}};
}

TEST(PartialShape, UnifyAcceptsWhatEitherAccepts) {
  const std::vector<Shape> concrete = {Shape{},     Shape{2},    Shape{3},
                                       Shape{2, 3}, Shape{2, 4}, Shape{5, 3},
                                       Shape{5, 5}};
  for (const PartialShape& a : some_shapes()) {
    for (const PartialShape& b : some_shapes()) {
      const PartialShape u = PartialShape::unify(a, b);
      EXPECT_EQ(u, PartialShape::unify(b, a));
      for (const Shape& s : concrete) {
        if (a.accepts(s) || b.accepts(s)) {
          EXPECT_TRUE(u.accepts(s));
        }
      }
    }
    EXPECT_EQ(PartialShape::unify(a, a), a);
  }
  EXPECT_EQ(PartialShape::unify({2, 3}, {2, 4}),
            (PartialShape{2, kUnknownDim}));
}

TEST(PartialShape, CompatibleWhereSomeTensorHasBoth) {
  const std::vector<Shape> concrete = {Shape{},     Shape{2},    Shape{3},
                                       Shape{9},    Shape{2, 3}, Shape{2, 4},
                                       Shape{5, 3}, Shape{9, 9}};
  for (const PartialShape& a : some_shapes()) {
    for (const PartialShape& b : some_shapes()) {
      bool both = false;
      for (const Shape& s : concrete) both |= a.accepts(s) && b.accepts(s);
      EXPECT_EQ(PartialShape::compatible(a, b), both)
          << a.to_string() << " " << b.to_string();
    }
  }
}

TEST(PartialShape, GainsAndLosesItsFirstDimension) {
  EXPECT_EQ((PartialShape{3}).prepended(kUnknownDim),
            (PartialShape{kUnknownDim, 3}));
  EXPECT_FALSE(PartialShape().prepended(2).has_rank());
  EXPECT_EQ((PartialShape{kUnknownDim, 3}).without_first(), (PartialShape{3}));
  EXPECT_FALSE(PartialShape().without_first().has_rank());
  EXPECT_EQ((PartialShape{kUnknownDim, 3}).to_string(), "(?, 3)");
  EXPECT_EQ(PartialShape().to_string(), "<unknown>");
}

}  // namespace
}  // namespace penstock
