// Functions of the math library, NumPy's where a front end installed them.
#include <array>

#include "penstock/expr/loop_templates.h"

namespace penstock::expr {
namespace {

std::array<std::array<MathLoop, kNumDTypes>, kNumOps>& installed() {
  static std::array<std::array<MathLoop, kNumDTypes>, kNumOps> loops;
  return loops;
}

#define PS_MATH(Name, function) \
  struct Name {                 \
    template <Float T>          \
    static T of(T a) {          \
      return std::function(a);  \
    }                           \
  }
PS_MATH(ExpOp, exp);
PS_MATH(Exp2Op, exp2);
PS_MATH(Expm1Op, expm1);
PS_MATH(LogOp, log);
PS_MATH(Log2Op, log2);
PS_MATH(Log10Op, log10);
PS_MATH(Log1pOp, log1p);
PS_MATH(SinOp, sin);
PS_MATH(CosOp, cos);
PS_MATH(TanOp, tan);
PS_MATH(ArcsinOp, asin);
PS_MATH(ArccosOp, acos);
PS_MATH(ArctanOp, atan);
PS_MATH(SinhOp, sinh);
PS_MATH(CoshOp, cosh);
PS_MATH(TanhOp, tanh);
PS_MATH(ArcsinhOp, asinh);
PS_MATH(ArccoshOp, acosh);
PS_MATH(ArctanhOp, atanh);
PS_MATH(CbrtOp, cbrt);
#undef PS_MATH

struct PowerOp {
  template <Float T>
  static T of(T a, T b) {
    return std::pow(a, b);
  }
};
struct Arctan2Op {
  template <Float T>
  static T of(T a, T b) {
    return std::atan2(a, b);
  }
};
struct HypotOp {
  template <Float T>
  static T of(T a, T b) {
    return std::hypot(a, b);
  }
};
struct FmaxOp {
  template <Float T>
  static T of(T a, T b) {
    return std::fmax(a, b);
  }
};
struct FminOp {
  template <Float T>
  static T of(T a, T b) {
    return std::fmin(a, b);
  }
};
struct LogaddexpOp {
  template <Float T>
  static T of(T a, T b) {
    if (a == b) return a + static_cast<T>(0.693147180559945309417232121458);
    const T d = a - b;
    if (d > 0) return a + std::log1p(std::exp(-d));
    if (d <= 0) return b + std::log1p(std::exp(d));
    return d;  // NaN
  }
};

template <class F>
UnaryLoop floats(DType dtype) {
  return visit_dtype<UnaryLoop>(dtype, []<class T>() -> UnaryLoop {
    if constexpr (Float<typename Wide<T>::Type>) {
      return run_unary<T, T, Apply<T, F>>;
    } else {
      return nullptr;
    }
  });
}
template <class F>
BinaryLoop floats2(DType dtype) {
  return visit_dtype<BinaryLoop>(dtype, []<class T>() -> BinaryLoop {
    if constexpr (Float<typename Wide<T>::Type>) {
      return run_binary<T, T, Apply<T, F>>;
    } else {
      return nullptr;
    }
  });
}

}  // namespace

void set_math_loop(Op op, DType dtype, MathLoop loop) {
  installed()[static_cast<std::size_t>(op)][static_cast<std::size_t>(dtype)] =
      loop;
}
const MathLoop& math_loop(Op op, DType dtype) {
  return installed()[static_cast<std::size_t>(op)]
                    [static_cast<std::size_t>(dtype)];
}

UnaryLoop math_unary_loop(Op op, DType dtype) {
  switch (op) {
    case Op::kExp:
      return floats<ExpOp>(dtype);
    case Op::kExp2:
      return floats<Exp2Op>(dtype);
    case Op::kExpm1:
      return floats<Expm1Op>(dtype);
    case Op::kLog:
      return floats<LogOp>(dtype);
    case Op::kLog2:
      return floats<Log2Op>(dtype);
    case Op::kLog10:
      return floats<Log10Op>(dtype);
    case Op::kLog1p:
      return floats<Log1pOp>(dtype);
    case Op::kSin:
      return floats<SinOp>(dtype);
    case Op::kCos:
      return floats<CosOp>(dtype);
    case Op::kTan:
      return floats<TanOp>(dtype);
    case Op::kArcsin:
      return floats<ArcsinOp>(dtype);
    case Op::kArccos:
      return floats<ArccosOp>(dtype);
    case Op::kArctan:
      return floats<ArctanOp>(dtype);
    case Op::kSinh:
      return floats<SinhOp>(dtype);
    case Op::kCosh:
      return floats<CoshOp>(dtype);
    case Op::kTanh:
      return floats<TanhOp>(dtype);
    case Op::kArcsinh:
      return floats<ArcsinhOp>(dtype);
    case Op::kArccosh:
      return floats<ArccoshOp>(dtype);
    case Op::kArctanh:
      return floats<ArctanhOp>(dtype);
    case Op::kCbrt:
      return floats<CbrtOp>(dtype);
    default:
      return nullptr;
  }
}

BinaryLoop math_binary_loop(Op op, DType dtype) {
  switch (op) {
    case Op::kPower:
      return floats2<PowerOp>(dtype);
    case Op::kArctan2:
      return floats2<Arctan2Op>(dtype);
    case Op::kHypot:
      return floats2<HypotOp>(dtype);
    case Op::kFmax:
      return floats2<FmaxOp>(dtype);
    case Op::kFmin:
      return floats2<FminOp>(dtype);
    case Op::kLogaddexp:
      return floats2<LogaddexpOp>(dtype);
    default:
      return nullptr;
  }
}

}  // namespace penstock::expr
