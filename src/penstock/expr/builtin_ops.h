// The native operations that come with the library.
//
// They are registered when the table is first asked for, by calls and not by
// static objects: a linker drops objects of an archive that nobody names.
#pragma once

#include <vector>

#include "penstock/expr/native_ops.h"

namespace penstock::expr {

void add_image_ops(std::vector<NativeOp>& out);
void add_image_color_ops(std::vector<NativeOp>& out);
void add_image_random_ops(std::vector<NativeOp>& out);
void add_image_fused_op(std::vector<NativeOp>& out);
void add_io_ops(std::vector<NativeOp>& out);
void add_ragged_ops(std::vector<NativeOp>& out);
void add_random_ops(std::vector<NativeOp>& out);
void add_string_ops(std::vector<NativeOp>& out);

}  // namespace penstock::expr
