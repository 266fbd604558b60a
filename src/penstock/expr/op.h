// The operations a program is made of.
//
// They are typed strictly: the inputs of an arithmetic operation have one
// dtype and promotion is written out as casts, by whoever builds the program.
// So NumPy's rules, weak Python scalars included, live at the edge where
// NumPy itself can be asked for them. Names are NumPy's where it has one.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::expr {

enum class OpClass : std::uint8_t {
  kInput,    // leaf `ints[0]` of the element
  kConst,    // the same tensor for every element
  kUnary,    // T -> T
  kMath,     // T -> T, floats only; a function of the math library
  kTest,     // T -> bool
  kCast,     // T -> dtype
  kBinary,   // T, T -> T, broadcast
  kMath2,    // the same, floats only; of the math library
  kCompare,  // T, T -> bool, broadcast
  kChoose,   // where(bool, T, T), clip(T, T, T): -> T, broadcast
  kReduce,   // T -> T (bool for any/all, int64 for arg*): ints = axes
  kShape,    // moves values: reshape, transpose, slice, concat, ...
  kOther,    // matmul, random, native, result
};

// clang-format off
#define PENSTOCK_EXPR_OPS(X)                                              \
  X(Input, "input", kInput)           X(Const, "const", kConst)           \
  X(Negative, "negative", kUnary)     X(Absolute, "absolute", kUnary)     \
  X(Sign, "sign", kUnary)             X(Invert, "invert", kUnary)         \
  X(Square, "square", kUnary)         X(Reciprocal, "reciprocal", kUnary) \
  X(Sqrt, "sqrt", kUnary)             X(Floor, "floor", kUnary)           \
  X(Ceil, "ceil", kUnary)             X(Trunc, "trunc", kUnary)           \
  X(Rint, "rint", kUnary)                                                 \
  X(Exp, "exp", kMath)                X(Exp2, "exp2", kMath)              \
  X(Expm1, "expm1", kMath)            X(Log, "log", kMath)                \
  X(Log2, "log2", kMath)              X(Log10, "log10", kMath)            \
  X(Log1p, "log1p", kMath)            X(Sin, "sin", kMath)                \
  X(Cos, "cos", kMath)                X(Tan, "tan", kMath)                \
  X(Arcsin, "arcsin", kMath)          X(Arccos, "arccos", kMath)          \
  X(Arctan, "arctan", kMath)          X(Sinh, "sinh", kMath)              \
  X(Cosh, "cosh", kMath)              X(Tanh, "tanh", kMath)              \
  X(Arcsinh, "arcsinh", kMath)        X(Arccosh, "arccosh", kMath)        \
  X(Arctanh, "arctanh", kMath)        X(Cbrt, "cbrt", kMath)              \
  X(LogicalNot, "logical_not", kTest) X(IsNan, "isnan", kTest)            \
  X(IsInf, "isinf", kTest)            X(IsFinite, "isfinite", kTest)      \
  X(Signbit, "signbit", kTest)        X(Cast, "cast", kCast)              \
  X(Add, "add", kBinary)              X(Subtract, "subtract", kBinary)    \
  X(Multiply, "multiply", kBinary)    X(Divide, "divide", kBinary)        \
  X(FloorDivide, "floor_divide", kBinary)                                 \
  X(Remainder, "remainder", kBinary)  X(Fmod, "fmod", kBinary)            \
  X(Maximum, "maximum", kBinary)      X(Minimum, "minimum", kBinary)      \
  X(Fmax, "fmax", kMath2)             X(Fmin, "fmin", kMath2)             \
  X(BitwiseAnd, "bitwise_and", kBinary)                                   \
  X(BitwiseOr, "bitwise_or", kBinary)                                     \
  X(BitwiseXor, "bitwise_xor", kBinary)                                   \
  X(LeftShift, "left_shift", kBinary)                                     \
  X(RightShift, "right_shift", kBinary)                                   \
  X(Copysign, "copysign", kBinary)                                        \
  X(ScalarPower, "scalar_power", kBinary)                                 \
  X(Power, "power", kMath2)           X(Arctan2, "arctan2", kMath2)       \
  X(Hypot, "hypot", kMath2)           X(Logaddexp, "logaddexp", kMath2)   \
  X(Equal, "equal", kCompare)         X(NotEqual, "not_equal", kCompare)  \
  X(Less, "less", kCompare)           X(LessEqual, "less_equal", kCompare) \
  X(Greater, "greater", kCompare)                                         \
  X(GreaterEqual, "greater_equal", kCompare)                              \
  X(LogicalAnd, "logical_and", kCompare)                                  \
  X(LogicalOr, "logical_or", kCompare)                                    \
  X(LogicalXor, "logical_xor", kCompare)                                  \
  X(Where, "where", kChoose)          X(Clip, "clip", kChoose)            \
  X(Sum, "sum", kReduce)              X(Prod, "prod", kReduce)            \
  X(Max, "max", kReduce)              X(Min, "min", kReduce)              \
  X(Any, "any", kReduce)              X(All, "all", kReduce)              \
  X(Argmax, "argmax", kReduce)        X(Argmin, "argmin", kReduce)        \
  X(Reshape, "reshape", kShape)       X(Transpose, "transpose", kShape)   \
  X(BroadcastTo, "broadcast_to", kShape)                                  \
  X(ExpandDims, "expand_dims", kShape)                                    \
  X(Squeeze, "squeeze", kShape)       X(Slice, "slice", kShape)           \
  X(Concat, "concat", kShape)         X(Gather, "gather", kShape)         \
  X(ShapeOf, "shape", kShape)         X(EnsureShape, "ensure_shape", kShape) \
  X(Matmul, "matmul", kOther)         X(Random, "random", kOther)         \
  X(Native, "native", kOther)         X(Result, "result", kOther)
// clang-format on

enum class Op : std::uint8_t {
#define X(id, name, cls) k##id,
  PENSTOCK_EXPR_OPS(X)
#undef X
};
constexpr int kNumOps = 0
#define X(id, name, cls) +1
    PENSTOCK_EXPR_OPS(X)
#undef X
    ;

std::string_view op_name(Op op);
OpClass op_class(Op op);
/// False if there is no such operation.
bool op_from_name(std::string_view name, Op& out);

/// A bound of a slice that was left out.
constexpr std::int64_t kSliceNone = INT64_MIN;

enum class RandomKind : std::uint8_t {
  kUniform,      // [0, 1); integers: all bits
  kNormal,       // mean 0, deviation 1
  kBelow,        // (u)int64 in [0, bound), bound is the operation's input
  kPermutation,  // int64, 0 .. n - 1 in random order
};

}  // namespace penstock::expr
