// NumPy's .npy header, and the members of an uncompressed .npz.
// Input is hostile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/base/status.h"
#include "penstock/memory/dtype.h"
#include "penstock/memory/shape.h"

namespace penstock {

struct NpyHeader {
  DType dtype = DType::kInvalid;
  Shape shape;
  std::size_t data_offset = 0;
  std::size_t data_bytes = 0;
};

/// The header of `file`, which holds at least the header. Unimplemented for
/// dtypes we have not, byte orders and Fortran order.
StatusOr<NpyHeader> parse_npy(std::string_view file);

struct NpzMember {
  std::string name;  // without ".npy"
  std::size_t begin = 0;
  std::size_t size = 0;  // in the file
};

/// The arrays of a zip archive. Unimplemented for compressed ones.
StatusOr<std::vector<NpzMember>> parse_npz(std::string_view file);

}  // namespace penstock
