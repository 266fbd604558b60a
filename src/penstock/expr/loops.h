// Inner loops: one operation over n values of one dtype.
//
// Strides count values, not bytes; 0 repeats one value. Loops never trap:
// integers wrap around, a division by zero gives 0 as NumPy does. Each table
// gives null for a dtype that the operation is not defined for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/expr/op.h"
#include "penstock/memory/dtype.h"

namespace penstock::expr {

using UnaryLoop = void (*)(const std::byte* in, std::int64_t stride,
                           std::byte* out, std::int64_t n);
using BinaryLoop = void (*)(const std::byte* a, std::int64_t stride_a,
                            const std::byte* b, std::int64_t stride_b,
                            std::byte* out, std::int64_t n);
using TernaryLoop = void (*)(const std::byte* a, std::int64_t stride_a,
                             const std::byte* b, std::int64_t stride_b,
                             const std::byte* c, std::int64_t stride_c,
                             std::byte* out, std::int64_t n);

UnaryLoop unary_loop(Op op, DType dtype);
BinaryLoop binary_loop(Op op, DType dtype);
BinaryLoop compare_loop(Op op, DType dtype);
UnaryLoop cast_loop(DType from, DType to);
TernaryLoop choose_loop(Op op, DType dtype);

/// Functions of the math library. NumPy has its own, vectorised ones whose
/// last bit differs; a front end for NumPy installs them here, so that a
/// native expression gives NumPy's bits. Without them it is the C library.
struct MathLoop {
  /// As a NumPy ufunc's inner loop: byte strides, data.
  using Fn = void (*)(char** args, const std::ptrdiff_t* dims,
                      const std::ptrdiff_t* strides, void* data);
  Fn fn = nullptr;
  void* data = nullptr;
  /// Gives other bits for many values than for one: call it one by one.
  bool one_by_one = false;
};
/// Not thread-safe: to be called before any program runs.
void set_math_loop(Op op, DType dtype, MathLoop loop);
const MathLoop& math_loop(Op op, DType dtype);
/// The C library's, for operations of kMath and kMath2.
UnaryLoop math_unary_loop(Op op, DType dtype);
BinaryLoop math_binary_loop(Op op, DType dtype);

}  // namespace penstock::expr
