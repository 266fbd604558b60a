// Reductions over axes of an element, in NumPy's order of additions.
//
// Floats are added pairwise along the innermost reduced dimension, in chunks
// of eight running sums and 128 values, and one after the other across outer
// dimensions, so that a sum has NumPy's bits for a C-contiguous array.
#include <limits>

#include "penstock/expr/kernels.h"
#include "penstock/expr/loop_templates.h"

namespace penstock::expr {
namespace {

struct Group {
  std::int64_t size = 1;
  bool reduced = false;
};

template <class T>
auto pairwise(const T* p, std::int64_t n) -> typename Wide<T>::Type {
  using W = Wide<T>;
  using A = typename W::Type;
  if (n < 8) {
    A sum = A(-0.0);
    for (std::int64_t i = 0; i < n; ++i) sum += W::load(p[i]);
    return sum;
  }
  if (n <= 128) {
    A r[8];
    for (int k = 0; k < 8; ++k) r[k] = W::load(p[k]);
    std::int64_t i = 8;
    for (; i < n - n % 8; i += 8) {
      for (int k = 0; k < 8; ++k) r[k] += W::load(p[i + k]);
    }
    A sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; ++i) sum += W::load(p[i]);
    return sum;
  }
  std::int64_t half = n / 2;
  half -= half % 8;
  const A left = pairwise(p, half);
  return left + pairwise(p + half, n - half);
}

template <class T, class O>
struct SumOf {
  static O identity() { return O{}; }
  static O add(O acc, T v) {
    if constexpr (Int<T>)
      return wrap<T>(bits(acc) + bits(v));
    else
      return Wide<T>::store(Wide<T>::load(acc) + Wide<T>::load(v));
  }
  static O fold(O acc, const T* p, std::int64_t n) {
    if constexpr (Int<T>) {
      Bits<T> sum = bits(acc);
      for (std::int64_t i = 0; i < n; ++i) sum += bits(p[i]);
      return wrap<T>(sum);
    } else {
      return Wide<T>::store(Wide<T>::load(acc) + pairwise(p, n));
    }
  }
};
template <class T, class O>
struct ProdOf {
  static O identity() { return convert<O>(1.0f); }
  static O add(O acc, T v) {
    if constexpr (Int<T>)
      return wrap<T>(bits(acc) * bits(v));
    else
      return Wide<T>::store(Wide<T>::load(acc) * Wide<T>::load(v));
  }
  static O fold(O acc, const T* p, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) acc = add(acc, p[i]);
    return acc;
  }
};
template <class T, class O, bool kMax>
struct ExtremeOf {
  static O identity() {
    if constexpr (std::is_same_v<T, bool>)
      return !kMax;
    else if constexpr (Int<T>)
      return kMax ? std::numeric_limits<T>::min()
                  : std::numeric_limits<T>::max();
    else
      return convert<T>(kMax ? -std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::infinity());
  }
  static O add(O a, T b) {
    if constexpr (std::is_same_v<T, Float16>) {
      const float x = to_float(a);
      const float y = to_float(b);
      return (kMax ? x >= y : x <= y) || x != x ? a : b;
    } else {
      return (kMax ? a > b : a < b) || is_nan(a) ? a : b;
    }
  }
  static O fold(O acc, const T* p, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) acc = add(acc, p[i]);
    return acc;
  }
};
template <class T, class O>
using MaxOf = ExtremeOf<T, O, true>;
template <class T, class O>
using MinOf = ExtremeOf<T, O, false>;
template <class T, class O>
struct AnyOf {
  static O identity() { return false; }
  static O add(O acc, T v) { return acc | (Wide<T>::load(v) != 0); }
  static O fold(O acc, const T* p, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) acc = add(acc, p[i]);
    return acc;
  }
};
template <class T, class O>
struct AllOf {
  static O identity() { return true; }
  static O add(O acc, T v) { return acc & (Wide<T>::load(v) != 0); }
  static O fold(O acc, const T* p, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) acc = add(acc, p[i]);
    return acc;
  }
};

// Walks the groups in C order; `out` advances with the kept ones only.
template <class T, class O, class F>
const T* walk(std::span<const Group> groups, const T* in, O* out,
              std::int64_t out_size) {
  const Group& group = groups[0];
  if (groups.size() == 1) {
    if (group.reduced) {
      *out = F::fold(*out, in, group.size);
    } else {
      for (std::int64_t i = 0; i < group.size; ++i) {
        out[i] = F::add(out[i], in[i]);
      }
    }
    return in + group.size;
  }
  // Values of the output under one step of this group.
  const std::int64_t step = group.reduced ? 0 : out_size / group.size;
  const std::int64_t inner = group.reduced ? out_size : step;
  for (std::int64_t i = 0; i < group.size; ++i) {
    in = walk<T, O, F>(groups.subspan(1), in, out + i * step, inner);
  }
  return in;
}

template <class T, class O, class F>
void reduce(std::span<const Group> groups, const Tensor& in, Tensor& out) {
  O* const o = reinterpret_cast<O*>(out.mutable_data());
  const std::int64_t n = out.num_elements();
  for (std::int64_t i = 0; i < n; ++i) o[i] = F::identity();
  if (in.num_elements() == 0 || n == 0) return;
  walk<T, O, F>(groups, reinterpret_cast<const T*>(in.data()), o, n);
}

template <class T, bool kMax>
void arg_extreme(const T* p, std::int64_t pre, std::int64_t size,
                 std::int64_t post, std::int64_t* out) {
  using W = Wide<T>;
  for (std::int64_t i = 0; i < pre; ++i) {
    for (std::int64_t j = 0; j < post; ++j) {
      const T* const at = p + i * size * post + j;
      auto best = W::load(at[0]);
      std::int64_t where = 0;
      for (std::int64_t k = 1; k < size && !is_nan(best); ++k) {
        const auto v = W::load(at[k * post]);
        if ((kMax ? v > best : v < best) || is_nan(v)) {
          best = v;
          where = k;
        }
      }
      out[i * post + j] = where;
    }
  }
}

}  // namespace

StatusOr<Value> run_reduce(const Node& node, const Value& in,
                           std::int64_t rows) {
  const Shape shape = in.element_shape();
  const auto rank = static_cast<std::int64_t>(shape.rank());
  absl::InlinedVector<bool, 4> reduced(shape.rank());
  for (const std::int64_t axis : node.ints) {
    reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  Shape out_shape;
  absl::InlinedVector<Group, 4> groups;
  const auto push = [&](std::int64_t size, bool is_reduced) {
    if (size == 1) return;
    if (!groups.empty() && groups.back().reduced == is_reduced) {
      groups.back().size *= size;
    } else {
      groups.push_back({size, is_reduced});
    }
  };
  if (in.batched) push(rows, false);
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    push(shape[i], reduced[i]);
    if (!reduced[i])
      out_shape.push_back(shape[i]);
    else if (node.keepdims)
      out_shape.push_back(1);
  }
  if (groups.empty()) groups.push_back({1, true});
  const DType dtype = in.tensor.dtype();
  const bool arg = node.op == Op::kArgmax || node.op == Op::kArgmin;
  const bool test = node.op == Op::kAny || node.op == Op::kAll;
  PS_ASSIGN_OR_RETURN(Value out, allocate_value(arg    ? DType::kInt64
                                                : test ? DType::kBool
                                                       : dtype,
                                                out_shape, in.batched, rows));
  const bool needs_values = arg || node.op == Op::kMax || node.op == Op::kMin;
  if (needs_values && in.tensor.num_elements() == 0 &&
      out.tensor.num_elements() != 0) {
    return invalid_argument(to_absl(op_name(node.op)),
                            ": an axis has no values");
  }
  if (arg) {
    const std::int64_t axis =
        node.ints[0] < 0 ? node.ints[0] + rank : node.ints[0];
    std::int64_t pre = in.batched ? rows : 1;
    std::int64_t post = 1;
    for (std::int64_t i = 0; i < rank; ++i) {
      const std::int64_t d = shape[static_cast<std::size_t>(i)];
      if (i < axis) pre *= d;
      if (i > axis) post *= d;
    }
    const std::int64_t size = shape[static_cast<std::size_t>(axis)];
    auto* const to = reinterpret_cast<std::int64_t*>(out.tensor.mutable_data());
    visit_dtype<bool>(dtype, [&]<class T>() {
      const T* const p = reinterpret_cast<const T*>(in.tensor.data());
      if (node.op == Op::kArgmax) {
        arg_extreme<T, true>(p, pre, size, post, to);
      } else {
        arg_extreme<T, false>(p, pre, size, post, to);
      }
      return true;
    });
    return out;
  }
  visit_dtype<bool>(dtype, [&]<class T>() {
    switch (node.op) {
      case Op::kMax:
        reduce<T, T, MaxOf<T, T>>(groups, in.tensor, out.tensor);
        break;
      case Op::kMin:
        reduce<T, T, MinOf<T, T>>(groups, in.tensor, out.tensor);
        break;
      case Op::kAny:
        reduce<T, bool, AnyOf<T, bool>>(groups, in.tensor, out.tensor);
        break;
      case Op::kAll:
        reduce<T, bool, AllOf<T, bool>>(groups, in.tensor, out.tensor);
        break;
      default:
        break;
    }
    if constexpr (!std::is_same_v<T, bool>) {
      if (node.op == Op::kSum) {
        reduce<T, T, SumOf<T, T>>(groups, in.tensor, out.tensor);
      } else if (node.op == Op::kProd) {
        reduce<T, T, ProdOf<T, T>>(groups, in.tensor, out.tensor);
      }
    }
    return true;
  });
  return out;
}

}  // namespace penstock::expr
