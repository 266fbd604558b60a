// Loops of two inputs of one dtype: arithmetic, bits, comparison, choice.
#include "penstock/expr/loop_templates.h"

namespace penstock::expr {
namespace {

#define PS_BINARY(Name, int_expr, float_expr) \
  struct Name {                               \
    template <Int T>                          \
    static T of(T a, T b) {                   \
      return int_expr;                        \
    }                                         \
    template <Float T>                        \
    static T of(T a, T b) {                   \
      return float_expr;                      \
    }                                         \
  }

PS_BINARY(AddOp, wrap<T>(bits(a) + bits(b)), a + b);
PS_BINARY(SubtractOp, wrap<T>(bits(a) - bits(b)), a - b);
PS_BINARY(MultiplyOp, wrap<T>(bits(a) * bits(b)), a* b);
PS_BINARY(FloorDivideOp, floor_divide(a, b), floor_divide(a, b));
PS_BINARY(RemainderOp, remainder(a, b), remainder(a, b));
PS_BINARY(FmodOp, c_remainder(a, b), c_remainder(a, b));
#undef PS_BINARY

struct DivideOp {
  template <Float T>
  static T of(T a, T b) {
    return a / b;
  }
};
struct CopysignOp {
  template <Float T>
  static T of(T a, T b) {
    return std::copysign(a, b);
  }
};
struct ScalarPowerOp {
  template <Float T>
  static T of(T a, T b) {
    return std::pow(a, b);
  }
};
struct PowerOp {
  template <Int T>
  static T of(T a, T b) {
    return integer_power(a, b);
  }
};

// Of two zeros NumPy's vector instructions give the second one; halves, which
// it compares one by one, the first.
template <class T, bool kMax>
struct Extreme {
  static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, Float16>) {
      const float x = to_float(a);
      const float y = to_float(b);
      return (kMax ? x >= y : x <= y) || x != x ? a : b;
    } else if constexpr (Float<T>) {
      return (kMax ? a > b : a < b) || a != a ? a : b;
    } else {
      return (kMax ? a > b : a < b) ? a : b;
    }
  }
};

struct AndOp {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct OrOp {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct XorOp {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct ShiftLeftOp {
  template <Int T>
  static T of(T a, T b) {
    return shift_left(a, b);
  }
};
struct ShiftRightOp {
  template <Int T>
  static T of(T a, T b) {
    return shift_right(a, b);
  }
};

#define PS_COMPARE(Name, expr) \
  struct Name {                \
    template <class T>         \
    static bool of(T a, T b) { \
      return expr;             \
    }                          \
  }
PS_COMPARE(EqualOp, a == b);
PS_COMPARE(NotEqualOp, a != b);
PS_COMPARE(LessOp, a < b);
PS_COMPARE(LessEqualOp, a <= b);
PS_COMPARE(GreaterOp, a > b);
PS_COMPARE(GreaterEqualOp, a >= b);
PS_COMPARE(LogicalAndOp, (a != 0) & (b != 0));
PS_COMPARE(LogicalOrOp, (a != 0) | (b != 0));
PS_COMPARE(LogicalXorOp, (a != 0) != (b != 0));
#undef PS_COMPARE

template <class F>
BinaryLoop arithmetic(DType dtype) {
  return visit_dtype<BinaryLoop>(dtype, []<class T>() -> BinaryLoop {
    if constexpr (std::is_same_v<T, bool>)
      return nullptr;
    else
      return run_binary<T, T, Apply<T, F>>;
  });
}
template <class F>
BinaryLoop floats_only(DType dtype) {
  return visit_dtype<BinaryLoop>(dtype, []<class T>() -> BinaryLoop {
    if constexpr (Float<typename Wide<T>::Type>) {
      return run_binary<T, T, Apply<T, F>>;
    } else {
      return nullptr;
    }
  });
}
template <class F, bool kBool = true>
BinaryLoop integers_only(DType dtype) {
  return visit_dtype<BinaryLoop>(dtype, []<class T>() -> BinaryLoop {
    if constexpr (Int<T> || (kBool && std::is_same_v<T, bool>)) {
      return run_binary<T, T, Apply<T, F>>;
    } else {
      return nullptr;
    }
  });
}
template <class F>
BinaryLoop comparison(DType dtype) {
  return visit_dtype<BinaryLoop>(dtype, []<class T>() -> BinaryLoop {
    return run_binary<T, bool, ApplyToBool<T, F>>;
  });
}
template <bool kMax>
BinaryLoop extreme(DType dtype) {
  return visit_dtype<BinaryLoop>(dtype, []<class T>() -> BinaryLoop {
    return run_binary<T, T, Extreme<T, kMax>>;
  });
}

template <class T>
void run_where(const std::byte* a, std::int64_t stride_a, const std::byte* b,
               std::int64_t stride_b, const std::byte* c, std::int64_t stride_c,
               std::byte* out, std::int64_t n) {
  const bool* const test = typed<bool>(a);
  const T* const yes = typed<T>(b);
  const T* const no = typed<T>(c);
  T* const o = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < n; ++i) {
    o[i] = test[i * stride_a] ? yes[i * stride_b] : no[i * stride_c];
  }
}

template <class T>
void run_clip(const std::byte* a, std::int64_t stride_a, const std::byte* b,
              std::int64_t stride_b, const std::byte* c, std::int64_t stride_c,
              std::byte* out, std::int64_t n) {
  using W = Wide<T>;
  const T* const x = typed<T>(a);
  const T* const low = typed<T>(b);
  const T* const high = typed<T>(c);
  T* const o = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < n; ++i) {
    auto v = W::load(x[i * stride_a]);
    const auto lo = W::load(low[i * stride_b]);
    const auto hi = W::load(high[i * stride_c]);
    v = is_nan(v) || v >= lo ? v : lo;
    o[i] = W::store(is_nan(v) || v <= hi ? v : hi);
  }
}

}  // namespace

BinaryLoop binary_loop(Op op, DType dtype) {
  const bool boolean = dtype == DType::kBool;
  switch (op) {
    case Op::kAdd:
      return boolean ? integers_only<OrOp>(dtype) : arithmetic<AddOp>(dtype);
    case Op::kMultiply:
      return boolean ? integers_only<AndOp>(dtype)
                     : arithmetic<MultiplyOp>(dtype);
    case Op::kSubtract:
      return arithmetic<SubtractOp>(dtype);
    case Op::kDivide:
      return floats_only<DivideOp>(dtype);
    case Op::kFloorDivide:
      return arithmetic<FloorDivideOp>(dtype);
    case Op::kRemainder:
      return arithmetic<RemainderOp>(dtype);
    case Op::kFmod:
      return arithmetic<FmodOp>(dtype);
    case Op::kMaximum:
      return extreme<true>(dtype);
    case Op::kMinimum:
      return extreme<false>(dtype);
    case Op::kBitwiseAnd:
      return integers_only<AndOp>(dtype);
    case Op::kBitwiseOr:
      return integers_only<OrOp>(dtype);
    case Op::kBitwiseXor:
      return integers_only<XorOp>(dtype);
    case Op::kLeftShift:
      return integers_only<ShiftLeftOp, false>(dtype);
    case Op::kRightShift:
      return integers_only<ShiftRightOp, false>(dtype);
    case Op::kCopysign:
      return floats_only<CopysignOp>(dtype);
    case Op::kScalarPower:
      return floats_only<ScalarPowerOp>(dtype);
    case Op::kPower:
      return integers_only<PowerOp, false>(dtype);
    default:
      return nullptr;
  }
}

BinaryLoop compare_loop(Op op, DType dtype) {
  switch (op) {
    case Op::kEqual:
      return comparison<EqualOp>(dtype);
    case Op::kNotEqual:
      return comparison<NotEqualOp>(dtype);
    case Op::kLess:
      return comparison<LessOp>(dtype);
    case Op::kLessEqual:
      return comparison<LessEqualOp>(dtype);
    case Op::kGreater:
      return comparison<GreaterOp>(dtype);
    case Op::kGreaterEqual:
      return comparison<GreaterEqualOp>(dtype);
    case Op::kLogicalAnd:
      return comparison<LogicalAndOp>(dtype);
    case Op::kLogicalOr:
      return comparison<LogicalOrOp>(dtype);
    case Op::kLogicalXor:
      return comparison<LogicalXorOp>(dtype);
    default:
      return nullptr;
  }
}

TernaryLoop choose_loop(Op op, DType dtype) {
  return visit_dtype<TernaryLoop>(dtype, [op]<class T>() -> TernaryLoop {
    if (op == Op::kWhere) return run_where<T>;
    if (op == Op::kClip) return run_clip<T>;
    return nullptr;
  });
}

}  // namespace penstock::expr
