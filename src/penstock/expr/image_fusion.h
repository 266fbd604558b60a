// Fusing image operations: decode, crop, resize, flip, normalise and arithmetic
// become one pass over the file (image/fused.h), inside a program.
//
// A chain begins at decode_jpeg or decode_image and takes at most one crop, one
// resize, one flip to the left and a normalisation, in this order, and behind
// them + - * / with constants (one, or one for each channel), with a cast to
// float32 in between, as long as every picture on the way has one reader.
// The results have the bits of the single operations; errors are theirs too.
#pragma once

#include <string>

#include "penstock/expr/program.h"

namespace penstock::expr {

struct Fusion {
  ProgramRef program;  // the one given, where nothing was fused
  /// "decode_jpeg + resize + normalize run as one pass"; "" without images.
  std::string note;
};

Fusion fuse_images(ProgramRef program);

}  // namespace penstock::expr
