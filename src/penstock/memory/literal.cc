#include "penstock/memory/literal.h"

#include <limits>
#include <type_traits>

#include "penstock/memory/visit_dtype.h"

namespace penstock {
namespace {

using Literal = std::optional<Tensor>;

template <class T>
constexpr bool kWhole = std::is_integral_v<T> && !std::is_same_v<T, bool>;

double wide(Float16 value) { return to_float(value); }
double wide(double value) { return value; }

Literal floating_as(double value, DType dtype) {
  const auto single = static_cast<float>(value);
  if (dtype == DType::kFloat16) return Tensor::scalar(to_float16(single));
  if (dtype == DType::kBFloat16) return Tensor::scalar(to_bfloat16(single));
  if (dtype == DType::kFloat32) return Tensor::scalar(single);
  if (dtype == DType::kFloat64) return Tensor::scalar(value);
  return std::nullopt;
}

Literal whole_as(__int128 value, DType dtype) {
  return visit_dtype<Literal>(dtype, [&]<class T>() -> Literal {
    if constexpr (kWhole<T>) {
      using Limits = std::numeric_limits<T>;
      if (value < Limits::min() || value > Limits::max()) return std::nullopt;
      return Tensor::scalar(static_cast<T>(value));
    }
    return std::nullopt;
  });
}

}  // namespace

std::optional<Tensor> literal_as(const Tensor& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  if (!value.defined() || value.rank() != 0) return std::nullopt;
  if (value.dtype() == DType::kBFloat16) {
    return floating_as(to_float(value.value<BFloat16>()), dtype);
  }
  return visit_dtype<Literal>(value.dtype(), [&]<class T>() -> Literal {
    if constexpr (std::is_same_v<T, bool>) {
      return std::nullopt;
    } else if constexpr (kWhole<T>) {
      const T number = value.value<T>();
      Literal made = whole_as(number, dtype);
      return made ? made : floating_as(static_cast<double>(number), dtype);
    } else {
      return floating_as(wide(value.value<T>()), dtype);
    }
  });
}

}  // namespace penstock
