// How a scalar operation becomes a loop. Included by the *_loops.cc only.
#pragma once

#include "penstock/expr/loops.h"
#include "penstock/expr/scalar.h"
#include "penstock/memory/visit_dtype.h"

namespace penstock::expr {

template <class T>
const T* typed(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}

// Each stride that matters gets a loop of its own, which the compiler
// vectorises; the others are rare.
template <class In, class Out, class F>
void run_unary(const std::byte* in, std::int64_t stride, std::byte* out,
               std::int64_t n) {
  const In* const a = typed<In>(in);
  Out* const o = reinterpret_cast<Out*>(out);
  if (stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i * stride]);
  }
}

template <class In, class Out, class F>
void run_binary(const std::byte* in_a, std::int64_t stride_a,
                const std::byte* in_b, std::int64_t stride_b, std::byte* out,
                std::int64_t n) {
  const In* const a = typed<In>(in_a);
  const In* const b = typed<In>(in_b);
  Out* const o = reinterpret_cast<Out*>(out);
  if (stride_a == 1 && stride_b == 1) {
    for (std::int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i], b[i]);
  } else if (stride_a == 1 && stride_b == 0) {
    const In c = *b;
    for (std::int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i], c);
  } else if (stride_a == 0 && stride_b == 1) {
    const In c = *a;
    for (std::int64_t i = 0; i < n; ++i) o[i] = F::apply(c, b[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      o[i] = F::apply(a[i * stride_a], b[i * stride_b]);
    }
  }
}

/// `F::of(x...)` on what T is computed in.
template <class T, class F>
struct Apply {
  using W = Wide<T>;
  static T apply(T a) { return W::store(F::of(W::load(a))); }
  static T apply(T a, T b) { return W::store(F::of(W::load(a), W::load(b))); }
};
template <class T, class F>
struct ApplyToBool {
  using W = Wide<T>;
  static bool apply(T a) { return F::of(W::load(a)); }
  static bool apply(T a, T b) { return F::of(W::load(a), W::load(b)); }
};

}  // namespace penstock::expr
