// NumPy's .npy arrays, and the members of an .npz.
//
// What memory holds as a tensor does is left where it is: a header says so.
// The rest is converted by one copy. Input is hostile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/base/status.h"
#include "penstock/memory/buffer.h"
#include "penstock/memory/tensor.h"

namespace penstock {

struct NpyHeader {
  DType dtype = DType::kInvalid;  // kString for 'S' and 'U'
  Shape shape;
  std::size_t data_offset = 0;
  std::size_t data_bytes = 0;
  std::size_t item_bytes = 0;
  bool swapped = false;  // the other byte order
  bool fortran = false;  // the first dimension runs fastest
  bool unicode = false;  // strings are code points of 4 bytes

  /// The data are not as a tensor has them: read_npy makes them so.
  bool converted() const {
    return swapped || fortran || dtype == DType::kString;
  }
};

/// The header of `file`, which holds at least the header. Unimplemented for
/// dtypes we have not.
StatusOr<NpyHeader> parse_npy(std::string_view file);

/// A copy of the array whose data_bytes `data` are. Strings lose the NULs at
/// their end, 'U' becomes UTF-8; DataLoss where it is not Unicode.
StatusOr<Tensor> read_npy(const NpyHeader& header, std::string_view data);

struct NpzMember {
  std::string name;  // without ".npy"
  std::size_t begin = 0;
  std::size_t size = 0;  // in the file
  bool deflated = false;
  std::size_t plain_size = 0;  // at most 1032 times `size`, as deflate has it
  std::uint32_t crc = 0;       // of the plain bytes
};

/// The arrays of a zip archive. Unimplemented for methods but deflate.
StatusOr<std::vector<NpzMember>> parse_npz(std::string_view file);

/// The plain bytes of a deflated member; DataLoss if they are not all there.
StatusOr<Ref<Buffer>> inflate_npz(std::string_view file,
                                  const NpzMember& member);

}  // namespace penstock
