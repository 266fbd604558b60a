// Loops of one input: signs, rounding, tests, casts.
#include "penstock/expr/loop_templates.h"

namespace penstock::expr {
namespace {

struct NegativeOp {
  template <Int T>
  static T of(T a) {
    return wrap<T>(0 - bits(a));
  }
  template <Float T>
  static T of(T a) {
    return -a;
  }
};
struct AbsoluteOp {
  template <Int T>
  static T of(T a) {
    return a < 0 ? wrap<T>(0 - bits(a)) : a;
  }
  template <Float T>
  static T of(T a) {
    return std::fabs(a);
  }
  static bool of(bool a) { return a; }
};
struct SignOp {
  template <class T>
  static T of(T a) {
    if (a > 0) return T{1};
    if constexpr (std::is_unsigned_v<T>)
      return T{0};
    else
      return a < 0 ? T(-1) : (a == 0 ? T{0} : a);
  }
};
struct InvertOp {
  template <Int T>
  static T of(T a) {
    return static_cast<T>(~a);
  }
  static bool of(bool a) { return !a; }
};
struct SquareOp {
  template <Int T>
  static T of(T a) {
    return wrap<T>(bits(a) * bits(a));
  }
  template <Float T>
  static T of(T a) {
    return a * a;
  }
};
struct ReciprocalOp {
  template <Int T>
  static T of(T a) {
    return float_to_int<T>(1.0 / static_cast<double>(a));
  }
  template <Float T>
  static T of(T a) {
    return T{1} / a;
  }
};
struct SqrtOp {
  template <Float T>
  static T of(T a) {
    return std::sqrt(a);
  }
};
#define PS_ROUNDING(Name, function)      \
  struct Name {                          \
    template <Float T>                   \
    static T of(T a) {                   \
      return std::function(a);           \
    }                                    \
    template <Int T>                     \
    static T of(T a) {                   \
      return a;                          \
    }                                    \
    static bool of(bool a) { return a; } \
  }
PS_ROUNDING(FloorOp, floor);
PS_ROUNDING(CeilOp, ceil);
PS_ROUNDING(TruncOp, trunc);
PS_ROUNDING(RintOp, rint);
#undef PS_ROUNDING

struct LogicalNotOp {
  template <class T>
  static bool of(T a) {
    return a == 0;
  }
};
struct IsNanOp {
  template <class T>
  static bool of(T a) {
    return is_nan(a);
  }
};
struct IsInfOp {
  template <class T>
  static bool of(T a) {
    if constexpr (Float<T>)
      return std::isinf(a);
    else
      return false;
  }
};
struct IsFiniteOp {
  template <class T>
  static bool of(T a) {
    if constexpr (Float<T>)
      return std::isfinite(a);
    else
      return true;
  }
};
struct SignbitOp {
  template <Float T>
  static bool of(T a) {
    return std::signbit(a);
  }
};

enum Kinds { kBools = 1, kInts = 2, kFloats = 4, kNumbers = 6, kAllKinds = 7 };

template <class T>
constexpr int kKindOf = std::is_same_v<T, bool> ? kBools
                        : std::is_integral_v<T> ? kInts
                                                : kFloats;

template <class F, int kKinds>
UnaryLoop same(DType dtype) {
  return visit_dtype<UnaryLoop>(dtype, []<class T>() -> UnaryLoop {
    if constexpr ((kKindOf<T> & kKinds) != 0) {
      return run_unary<T, T, Apply<T, F>>;
    } else {
      return nullptr;
    }
  });
}
template <class F, int kKinds = kAllKinds>
UnaryLoop test(DType dtype) {
  return visit_dtype<UnaryLoop>(dtype, []<class T>() -> UnaryLoop {
    if constexpr ((kKindOf<T> & kKinds) != 0) {
      return run_unary<T, bool, ApplyToBool<T, F>>;
    } else {
      return nullptr;
    }
  });
}

template <class From, class To>
struct Convert {
  static To apply(From v) { return convert<To>(v); }
};

template <class From>
UnaryLoop cast_from(DType to) {
  if (to == DType::kBFloat16) {
    return run_unary<From, BFloat16, Convert<From, BFloat16>>;
  }
  return visit_dtype<UnaryLoop>(to, []<class To>() -> UnaryLoop {
    return run_unary<From, To, Convert<From, To>>;
  });
}

}  // namespace

UnaryLoop unary_loop(Op op, DType dtype) {
  switch (op) {
    case Op::kNegative:
      return same<NegativeOp, kNumbers>(dtype);
    case Op::kAbsolute:
      return same<AbsoluteOp, kAllKinds>(dtype);
    case Op::kSign:
      return same<SignOp, kNumbers>(dtype);
    case Op::kInvert:
      return same<InvertOp, kBools | kInts>(dtype);
    case Op::kSquare:
      return same<SquareOp, kNumbers>(dtype);
    case Op::kReciprocal:
      return same<ReciprocalOp, kNumbers>(dtype);
    case Op::kSqrt:
      return same<SqrtOp, kFloats>(dtype);
    case Op::kFloor:
      return same<FloorOp, kAllKinds>(dtype);
    case Op::kCeil:
      return same<CeilOp, kAllKinds>(dtype);
    case Op::kTrunc:
      return same<TruncOp, kAllKinds>(dtype);
    case Op::kRint:
      return same<RintOp, kAllKinds>(dtype);
    case Op::kLogicalNot:
      return test<LogicalNotOp>(dtype);
    case Op::kIsNan:
      return test<IsNanOp>(dtype);
    case Op::kIsInf:
      return test<IsInfOp>(dtype);
    case Op::kIsFinite:
      return test<IsFiniteOp>(dtype);
    case Op::kSignbit:
      return test<SignbitOp, kFloats>(dtype);
    default:
      return nullptr;
  }
}

UnaryLoop cast_loop(DType from, DType to) {
  if (from == DType::kBFloat16) return cast_from<BFloat16>(to);
  return visit_dtype<UnaryLoop>(
      from, [to]<class From>() -> UnaryLoop { return cast_from<From>(to); });
}

}  // namespace penstock::expr
