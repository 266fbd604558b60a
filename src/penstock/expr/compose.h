// Two programs, one after the other, as one.
#pragma once

#include "penstock/expr/program.h"

namespace penstock::expr {

/// What `second` makes of what `first` gives. InvalidArgument where the result
/// of the one is not what the other takes.
StatusOr<Program> compose(const Program& first, const Program& second);

/// Calls of native operations that its result needs.
int native_calls(const Program& program);

}  // namespace penstock::expr
