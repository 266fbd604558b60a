#include "penstock/memory/spec.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

LeafSpec leaf(DType dtype, PartialShape shape) { return {dtype, shape}; }

TEST(Spec, OfAnElementAcceptsExactlyIt) {
  const Element e = Element::dict(
      {{"x", Tensor::from({1.0f, 2.0f})}, {"y", Tensor::string("s")}});
  const Spec spec = Spec::of(e);
  EXPECT_EQ(spec.to_string(), "{'x': float32(2,), 'y': string}");
  EXPECT_TRUE(spec.check(e).ok());
  EXPECT_TRUE(spec.known());
  EXPECT_FALSE(spec.fixed_size());  // a string has no fixed size
  EXPECT_TRUE(spec.child(0).fixed_size());
  EXPECT_EQ(spec.child(1), Spec::tensor(DType::kString, Shape{}));
}

TEST(Spec, CheckSaysWhatDoesNotFit) {
  const Spec spec(Structure::leaves(2),
                  {leaf(DType::kInt32, {kUnknownDim, 3}),
                   leaf(DType::kInvalid, PartialShape())});
  const auto message = [&](const Element& e) {
    return std::string(to_std(spec.check(e).message()));
  };
  const Tensor ok = Tensor::allocate<std::int32_t>({5, 3}).value();
  EXPECT_EQ(message(Element::tuple({ok, Tensor::string("anything")})), "");
  EXPECT_EQ(message(Element::tuple({Tensor::from({1, 2}), ok})),
            "expected int32(?, 3) in leaf 0, got int32(2,)");
  EXPECT_EQ(message(ok),
            "expected structure (int32(?, 3), ?), got int32(5, 3)");
  EXPECT_FALSE(message(Element()).empty());
  EXPECT_TRUE(Spec().check(ok).ok());  // unknown accepts everything
  EXPECT_EQ(std::string(to_std(
                Spec::scalar<float>().check(Tensor::scalar(1.0)).message())),
            "expected float32, got float64");
}

TEST(Spec, UnifyWidensShapesAndRefusesTheRest) {
  const Spec a = Spec::tensor(DType::kInt8, Shape{2, 3});
  const Spec b = Spec::tensor(DType::kInt8, Shape{2, 4});
  EXPECT_EQ(Spec::unify(a, b)->to_string(), "int8(2, ?)");
  EXPECT_EQ(Spec::unify(a, Spec::tensor(DType::kInt8, Shape{2}))->to_string(),
            "int8<unknown>");
  EXPECT_EQ(Spec::unify(a, a).value(), a);
  // What is unknown on one side is unknown in the result.
  EXPECT_FALSE(Spec::unify(a, Spec())->known());
  EXPECT_EQ(Spec::unify(a, Spec::tensor(DType::kInvalid, Shape{2, 3}))
                ->leaves()[0]
                .dtype,
            DType::kInvalid);
  const Status dtypes =
      Spec::unify(a, Spec::tensor(DType::kInt16, Shape{2, 3})).status();
  EXPECT_EQ(dtypes.message(),
            "dtypes of leaf 0 differ: int8(2, 3) and int16(2, 3)");
  const Status structures = Spec::unify(a, Spec::tuple({a})).status();
  EXPECT_EQ(structures.code(), StatusCode::kInvalidArgument);
}

TEST(Spec, AnUnknownComponentMakesTheWholeUnknown) {
  EXPECT_FALSE(Spec::tuple({Spec::scalar<int>(), Spec()}).known());
  EXPECT_FALSE(Spec::dict({{"a", Spec()}}).known());
  EXPECT_EQ(Spec::tuple({}).to_string(), "()");
  EXPECT_TRUE(Spec::tuple({}).fixed_size());
  EXPECT_EQ(Spec().to_string(), "<unknown>");
  EXPECT_FALSE(Spec().child(0).known());
}

TEST(Spec, FixedSizeNeedsEveryDimension) {
  EXPECT_TRUE(Spec::tensor(DType::kFloat32, Shape{2}).fixed_size());
  EXPECT_FALSE(Spec::tensor(DType::kFloat32, {kUnknownDim}).fixed_size());
  EXPECT_FALSE(Spec::tensor(DType::kFloat32, PartialShape()).fixed_size());
  EXPECT_FALSE(Spec::tensor(DType::kInvalid, Shape{2}).fixed_size());
}

}  // namespace
}  // namespace penstock
