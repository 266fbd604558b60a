// Tensors as bytes: raw values, and tensorflow.TensorProto.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "penstock/memory/tensor.h"

namespace penstock {

/// The values in `bytes`, as [count]. With fixed_length, so many bytes: longer
/// ones are cut, shorter ones padded with zeros.
StatusOr<Tensor> decode_raw(std::string_view bytes, DType dtype,
                            bool little_endian = true,
                            std::optional<std::int64_t> fixed_length = {});

/// A TensorProto, as tf.io.serialize_tensor writes it, and back. With a dtype
/// given another one is refused.
StatusOr<std::string> serialize_tensor(const Tensor& tensor);
StatusOr<Tensor> parse_tensor(std::string_view bytes,
                              DType dtype = DType::kInvalid);

}  // namespace penstock
