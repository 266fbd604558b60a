// A whole file as a string.
#pragma once

#include <string_view>

#include "penstock/base/status.h"
#include "penstock/memory/tensor.h"

namespace penstock {

/// The bytes of a file, read once into memory that the string owns. Blocks.
StatusOr<Tensor> read_whole_file(std::string_view path);

}  // namespace penstock
