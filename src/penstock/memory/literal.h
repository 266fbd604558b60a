// Numbers that were written without a dtype, as the dtype they meet.
#pragma once

#include <optional>

#include "penstock/memory/tensor.h"

namespace penstock {

/// The rank-0 `value` as `dtype`, by NumPy's rule for numbers in a program: a
/// whole number becomes any integer type that holds it or a floating one, a
/// floating one any floating type. Nothing where a value would be lost.
std::optional<Tensor> literal_as(const Tensor& value, DType dtype);

}  // namespace penstock
