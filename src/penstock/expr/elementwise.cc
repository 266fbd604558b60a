// Elementwise operations: the loops of loops.h over broadcast operands.
#include "penstock/expr/kernels.h"
#include "penstock/expr/loops.h"
#include "penstock/expr/nest.h"
#include "penstock/memory/placement.h"

namespace penstock::expr {
namespace {

using PtrDiff = std::ptrdiff_t;

void call_math(const MathLoop& loop, std::array<char*, 3> args,
               std::array<PtrDiff, 3> strides, PtrDiff n) {
  if (!loop.one_by_one) {
    loop.fn(args.data(), &n, strides.data(), loop.data);
    return;
  }
  const PtrDiff one = 1;
  for (PtrDiff i = 0; i < n; ++i) {
    std::array<char*, 3> at = args;
    loop.fn(at.data(), &one, strides.data(), loop.data);
    for (std::size_t k = 0; k < 3; ++k) {
      if (args[k] != nullptr) args[k] += strides[k];
    }
  }
}

Status no_loop(const Node& node, DType dtype) {
  return internal_error(to_absl(op_name(node.op)), " has no loop for ",
                        to_absl(dtype_name(dtype)));
}

// Integers to negative powers have no integer result; NumPy raises.
template <class T>
void find_negative(const Value& exponent, std::int64_t rows,
                   RowErrors& errors) {
  const T* const p = reinterpret_cast<const T*>(exponent.tensor.data());
  const std::int64_t m = exponent.element_size();
  const Status status =
      invalid_argument("integers to negative integer powers are not allowed");
  for (std::int64_t r = 0; r < (exponent.batched ? rows : 1); ++r) {
    bool negative = false;
    for (std::int64_t i = 0; i < m; ++i) negative |= p[r * m + i] < 0;
    if (!negative) continue;
    if (exponent.batched) {
      errors.emplace_back(r, status);
    } else {
      for (std::int64_t k = 0; k < rows; ++k) errors.emplace_back(k, status);
    }
  }
}

void check_exponent(const Value& exponent, std::int64_t rows,
                    RowErrors& errors) {
  switch (exponent.tensor.dtype()) {
    case DType::kInt8:
      return find_negative<std::int8_t>(exponent, rows, errors);
    case DType::kInt16:
      return find_negative<std::int16_t>(exponent, rows, errors);
    case DType::kInt32:
      return find_negative<std::int32_t>(exponent, rows, errors);
    case DType::kInt64:
      return find_negative<std::int64_t>(exponent, rows, errors);
    default:
      return;
  }
}

StatusOr<Shape> broadcast_shape(const Node& node,
                                std::span<const Value* const> in) {
  std::size_t rank = 0;
  for (const Value* v : in) rank = std::max(rank, v->element_shape().rank());
  Shape out;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(1);
  for (const Value* v : in) {
    const Shape shape = v->element_shape();
    const std::size_t offset = rank - shape.rank();
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      std::int64_t& o = out[offset + i];
      if (shape[i] == 1 || shape[i] == o) continue;
      if (o != 1) {
        return invalid_argument(to_absl(op_name(node.op)),
                                ": shapes do not broadcast, got dimensions ", o,
                                " and ", shape[i]);
      }
      o = shape[i];
    }
  }
  return out;
}

}  // namespace

StatusOr<Value> allocate_value(DType dtype, const Shape& element, bool batched,
                               std::int64_t rows) {
  Value value;
  value.batched = batched;
  PS_ASSIGN_OR_RETURN(
      value.tensor,
      Tensor::allocate(dtype, batched ? element.prepended(rows) : element));
  return value;
}

StatusOr<Value> run_elementwise(const Node& node, const LeafSpec& out_spec,
                                std::span<const Value* const> in,
                                std::int64_t rows, RowErrors& errors) {
  bool batched = false;
  for (const Value* v : in) batched = batched || v->batched;
  PS_ASSIGN_OR_RETURN(const Shape shape, broadcast_shape(node, in));
  PS_ASSIGN_OR_RETURN(Value out,
                      allocate_value(out_spec.dtype, shape, batched, rows));
  std::byte* const to = out.tensor.mutable_data();
  const auto out_size = static_cast<std::int64_t>(dtype_size(out_spec.dtype));
  const DType dtype = in.back()->tensor.dtype();
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  const OpClass cls = op_class(node.op);

  if (in.size() == 1) {
    const std::byte* const a = in[0]->tensor.data();
    const std::int64_t n = out.tensor.num_elements();
    if (cls == OpClass::kMath) {
      const MathLoop& math = math_loop(node.op, dtype);
      if (math.fn != nullptr) {
        call_math(math,
                  {const_cast<char*>(reinterpret_cast<const char*>(a)),
                   reinterpret_cast<char*>(to), nullptr},
                  {size, size, 0}, n);
        return out;
      }
    }
    const UnaryLoop loop =
        cls == OpClass::kMath   ? math_unary_loop(node.op, dtype)
        : cls == OpClass::kCast ? cast_loop(dtype, node.dtype)
                                : unary_loop(node.op, dtype);
    if (loop == nullptr) return no_loop(node, dtype);
    loop(a, 1, to, n);
    return out;
  }

  if (in.size() == 2) {
    const std::byte* const a = in[0]->tensor.data();
    const std::byte* const b = in[1]->tensor.data();
    const auto nest = broadcast_nest<2>(batched, rows, shape, {in[0], in[1]});
    // NumPy looks at the exponents as it computes: of no elements at none.
    if (node.op == Op::kPower && out.tensor.num_elements() > 0) {
      check_exponent(*in[1], rows, errors);
    }
    if (cls == OpClass::kMath2) {
      const MathLoop& math = math_loop(node.op, dtype);
      if (math.fn != nullptr) {
        nest.run(
            [&](const auto& at, const auto& s, std::int64_t n, std::int64_t o) {
              const auto arg = [&](const std::byte* p, std::int64_t offset) {
                return const_cast<char*>(
                    reinterpret_cast<const char*>(p + offset * size));
              };
              call_math(math,
                        {arg(a, at[0]), arg(b, at[1]),
                         reinterpret_cast<char*>(to + o * size)},
                        {s[0] * size, s[1] * size, size}, n);
            });
        return out;
      }
    }
    BinaryLoop loop = nullptr;
    if (cls == OpClass::kCompare)
      loop = compare_loop(node.op, dtype);
    else if (cls == OpClass::kMath2)
      loop = math_binary_loop(node.op, dtype);
    if (loop == nullptr) loop = binary_loop(node.op, dtype);
    if (loop == nullptr) return no_loop(node, dtype);
    nest.run(
        [&](const auto& at, const auto& s, std::int64_t n, std::int64_t o) {
          loop(a + at[0] * size, s[0], b + at[1] * size, s[1],
               to + o * out_size, n);
        });
    return out;
  }

  const TernaryLoop loop = choose_loop(node.op, dtype);
  if (loop == nullptr) return no_loop(node, dtype);
  const auto first =
      static_cast<std::int64_t>(dtype_size(in[0]->tensor.dtype()));
  const auto nest =
      broadcast_nest<3>(batched, rows, shape, {in[0], in[1], in[2]});
  nest.run([&](const auto& at, const auto& s, std::int64_t n, std::int64_t o) {
    loop(in[0]->tensor.data() + at[0] * first, s[0],
         in[1]->tensor.data() + at[1] * size, s[1],
         in[2]->tensor.data() + at[2] * size, s[2], to + o * out_size, n);
  });
  return out;
}

}  // namespace penstock::expr
