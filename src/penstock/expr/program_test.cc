#include "penstock/expr/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "penstock/dataset.h"
#include "penstock/expr/evaluate.h"
#include "penstock/memory/placement.h"
#include "penstock/ops/map/map.h"
#include "penstock/ops/native_function.h"

namespace penstock::expr {
namespace {

Spec scalar_of(DType dtype) {
  return Spec::tensor(dtype, PartialShape(Shape{}));
}

/// The program f(x) = op(x, constant).
template <class T>
StatusOr<Program> with_constant(Op op, T constant) {
  PS_ASSIGN_OR_RETURN(Program p, Program::make(scalar_of(dtype_of<T>())));
  PS_ASSIGN_OR_RETURN(const auto c, p.add_constant(Tensor::scalar(constant)));
  const std::int32_t in[] = {0, c};
  PS_ASSIGN_OR_RETURN(const auto out, p.add(op, in));
  PS_RETURN_IF_ERROR(p.set_result(Structure::leaf(), {out}));
  return p;
}

template <class T>
std::vector<T> run(const Program& program, const std::vector<T>& in) {
  const Tensor input = Tensor::from(in);
  Rows rows;
  rows.count = static_cast<std::int64_t>(in.size());
  rows.inputs = {&input, 1};
  std::vector<Tensor> out;
  RowErrors errors;
  const Status status = evaluate(program, rows, out, errors);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(errors.empty());
  const auto values = out.at(0).as<T>();
  return {values.begin(), values.end()};
}

TEST(Program, AddsOverAllRowsAndWrapsAround) {
  const auto p = with_constant<std::int32_t>(Op::kAdd, 1);
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(run<std::int32_t>(*p, {1, 2, 2147483647}),
            (std::vector<std::int32_t>{2, 3, -2147483647 - 1}));
}

TEST(Program, OnlyAResultTakesTheSlotThatIsOffered) {
  auto p = Program::make(Spec::tensor(DType::kFloat32, PartialShape(Shape{2})));
  ASSERT_TRUE(p.ok());
  const auto half = p->add_constant(Tensor::scalar(0.5F));
  const std::int32_t scaled_of[] = {0, *half};
  const auto scaled = p->add(Op::kMultiply, scaled_of);
  const std::int32_t moved_of[] = {*scaled, *half};
  const auto moved = p->add(Op::kAdd, moved_of);
  const std::int32_t sure_of[] = {*moved};
  const auto sure = p->add(Op::kEnsureShape, sure_of, {.ints = {2}});
  ASSERT_TRUE(sure.ok()) << sure.status();
  ASSERT_TRUE(p->set_result(Structure::leaf(), {*sure}).ok());

  const Tensor batch = Tensor::allocate<float>(Shape{3, 2}).value();
  Placement slot;
  slot.dtype = DType::kFloat32;
  slot.shape = Shape{2};
  slot.buffer = batch.buffer();
  slot.data = batch.buffer()->data() + 8;
  const Tensor input = Tensor::from<float>({2, 4});
  Rows rows;
  rows.inputs = {&input, 1};
  rows.batched = false;
  std::vector<Tensor> out;
  RowErrors errors;
  const PlacementScope offer(&slot);
  ASSERT_TRUE(evaluate(*p, rows, out, errors).ok());
  EXPECT_EQ(out.at(0).data(), slot.data);
  EXPECT_EQ(out[0], Tensor::from<float>({1.5, 2.5}));
}

TEST(Program, DividesIntegersAsNumPyWithoutTrapping) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::int64_t> in = {7, -7, 0, kMin};
  using V = std::vector<std::int64_t>;
  EXPECT_EQ(run(*with_constant<std::int64_t>(Op::kFloorDivide, 2), in),
            (V{3, -4, 0, kMin / 2}));
  EXPECT_EQ(run(*with_constant<std::int64_t>(Op::kFloorDivide, 0), in),
            (V{0, 0, 0, 0}));
  EXPECT_EQ(run(*with_constant<std::int64_t>(Op::kFloorDivide, -1), in),
            (V{-7, 7, 0, kMin}));
  EXPECT_EQ(run(*with_constant<std::int64_t>(Op::kRemainder, -1), in),
            (V{0, 0, 0, 0}));
  EXPECT_EQ(run(*with_constant<std::int64_t>(Op::kRemainder, -3), in),
            (V{-2, -1, 0, kMin % -3}));
}

TEST(Program, CastsWhatDoesNotFitAsX86Does) {
  auto p = Program::make(scalar_of(DType::kFloat64));
  ASSERT_TRUE(p.ok());
  const std::int32_t in[] = {0};
  const auto as_int = p->add(Op::kCast, in, {.dtype = DType::kInt32});
  ASSERT_TRUE(as_int.ok());
  ASSERT_TRUE(p->set_result(Structure::leaf(), {*as_int}).ok());
  const Tensor input = Tensor::from<double>({1.9, -1.9, NAN, 1e20});
  Rows rows;
  rows.count = 4;
  rows.inputs = {&input, 1};
  std::vector<Tensor> out;
  RowErrors errors;
  ASSERT_TRUE(evaluate(*p, rows, out, errors).ok());
  constexpr auto kMin = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(out[0], Tensor::from<std::int32_t>({1, -1, kMin, kMin}));
}

TEST(Program, RefusesDtypesAndShapesThatDoNotFit) {
  auto p = Program::make(Spec::tuple({scalar_of(DType::kInt32),
                                      Spec::tensor(DType::kFloat32, {2, 3}),
                                      Spec::tensor(DType::kFloat32, {4})}));
  ASSERT_TRUE(p.ok());
  const std::int32_t mixed[] = {0, 1};
  EXPECT_EQ(p->add(Op::kAdd, mixed).status().message(),
            "add: dtypes differ: int32 and float32");
  const std::int32_t shapes[] = {1, 2};
  EXPECT_EQ(p->add(Op::kAdd, shapes).status().message(),
            "add: shapes do not broadcast, got dimensions 3 and 4");
  const std::int32_t one[] = {1};
  EXPECT_EQ(p->add(Op::kReshape, one, {.ints = {4, -1}}).status().message(),
            "reshape: cannot give 6 values of (2, 3) the shape (4, ?)");
  EXPECT_EQ(p->add(Op::kEnsureShape, one, {.ints = {3, -1}}).status().message(),
            "ensure_shape: the shape must be (3, ?), got (2, 3)");
  EXPECT_FALSE(p->add(Op::kEnsureShape, one, {.ints = {2}}).ok());
  EXPECT_FALSE(p->add(Op::kEnsureShape, one, {.ints = {2, -2}}).ok());
  EXPECT_FALSE(p->add(Op::kSum, one, {.ints = {2}}).ok());
  const std::int32_t missing[] = {99};
  EXPECT_FALSE(p->add(Op::kNegative, missing).ok());
}

TEST(Program, FindsTheRowWhoseIndexIsOutOfBounds) {
  auto p = Program::make(scalar_of(DType::kInt64));
  ASSERT_TRUE(p.ok());
  const auto table = p->add_constant(Tensor::from<float>({10.f, 20.f, 30.f}));
  const std::int32_t in[] = {*table, 0};
  const auto taken = p->add(Op::kGather, in, {.ints = {0}});
  ASSERT_TRUE(taken.ok()) << taken.status();
  ASSERT_TRUE(p->set_result(Structure::leaf(), {*taken}).ok());
  const Tensor input = Tensor::from<std::int64_t>({0, -1, 3, 1});
  Rows rows;
  rows.count = 4;
  rows.inputs = {&input, 1};
  std::vector<Tensor> out;
  RowErrors errors;
  ASSERT_TRUE(evaluate(*p, rows, out, errors).ok());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].first, 2);
  EXPECT_EQ(errors[0].second.message(),
            "index 3 is out of bounds for axis 0 with size 3");
  EXPECT_EQ(out[0].as<float>()[1], 30.f);
  EXPECT_EQ(out[0].as<float>()[3], 20.f);
}

TEST(Program, SurvivesEncodingAndRefusesDamage) {
  const auto p = with_constant<std::int32_t>(Op::kMultiply, 3);
  const std::string bytes = p->encode();
  const auto again = Program::decode(bytes);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->encode(), bytes);
  EXPECT_EQ(again->fingerprint(), p->fingerprint());
  EXPECT_EQ(again->to_string(), p->to_string());
  EXPECT_EQ(run<std::int32_t>(*again, {5}), (std::vector<std::int32_t>{15}));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(Program::decode(bytes.substr(0, i)).ok()) << i;
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
    (void)Program::decode(damaged);  // any status, no crash
  }
}

TEST(Program, StopsAtTheLimitOfNodes) {
  auto p = Program::make(scalar_of(DType::kInt64));
  ASSERT_TRUE(p.ok());
  std::int32_t last = 0;
  Status status;
  for (int i = 0; i < 10'001 && status.ok(); ++i) {
    const std::int32_t in[] = {last};
    const auto next = p->add(Op::kNegative, in);
    status = next.status();
    if (next.ok()) last = *next;
  }
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
}

Dataset native_map(const Dataset& input, Program program) {
  auto fn = ops::make_native_function(
      std::make_shared<const Program>(std::move(program)));
  auto op = ops::make_map(std::move(fn), {});
  return Dataset(penstock::Node::make(*op, {input.node()}).value());
}

TEST(NativeFunction, MapsBlocksWholly) {
  const Dataset ds = native_map(Dataset::range(10'000),
                                *with_constant<std::int64_t>(Op::kAdd, 1))
                         .batch(100);
  std::int64_t next = 1;
  for (const Element& batch : ds) {
    for (const std::int64_t v : batch[0].as<std::int64_t>()) {
      ASSERT_EQ(v, next++);
    }
  }
  EXPECT_EQ(next, 10'001);
  EXPECT_EQ(ds.element_spec().to_string(), "int64(?,)");
}

TEST(NativeFunction, KeepsErrorsInTheirPlaces) {
  const Dataset ds =
      native_map(Dataset::range(6).map([](std::int64_t x) {
        if (x == 2) throw std::runtime_error("two");
        return x;
      }),
                 *with_constant<std::int64_t>(Op::kMultiply, 10));
  auto it = ds.iterator();
  std::vector<std::int64_t> values;
  int errors = 0;
  for (;;) {
    auto next = it.try_next();
    if (!next.ok()) {
      ++errors;
      values.push_back(-1);
      continue;
    }
    if (!next->has_value()) break;
    values.push_back((**next)[0].value<std::int64_t>());
  }
  EXPECT_EQ(errors, 1);
  EXPECT_EQ(values, (std::vector<std::int64_t>{0, 10, -1, 30, 40, 50}));
}

TEST(NativeOps, RefuseIncompleteAndDoubleEntries) {
  EXPECT_EQ(register_native_op({}).code(), StatusCode::kInvalidArgument);
  NativeOp op{.name = "test.twice",
              .infer = same_as_first(),
              .row = [](const RowCall& call, std::vector<Tensor>& out) {
                if (call.args[0].value<std::int64_t>() == 3) {
                  return invalid_argument("three");
                }
                out.push_back(Tensor::scalar<std::int64_t>(
                    2 * call.args[0].value<std::int64_t>()));
                return absl::OkStatus();
              }};
  ASSERT_TRUE(register_native_op(op).ok());
  EXPECT_EQ(register_native_op(op).code(), StatusCode::kAlreadyExists);
  auto p = Program::make(scalar_of(DType::kInt64));
  const std::int32_t in[] = {0};
  const auto call = p->add(Op::kNative, in, {.name = "test.twice"});
  ASSERT_TRUE(call.ok()) << call.status();
  const std::int32_t from[] = {*call};
  const auto result = p->add(Op::kResult, from, {.ints = {0}});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(p->set_result(Structure::leaf(), {*result}).ok());
  ASSERT_TRUE(Program::decode(p->encode()).ok());
  auto it = native_map(Dataset::range(5), *p).iterator();
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 0);
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 2);
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 4);
  const auto third = it.try_next();
  EXPECT_THAT(std::string(third.status().message()),
              ::testing::HasSubstr("test.twice: three"));
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 8);
}

}  // namespace
}  // namespace penstock::expr
