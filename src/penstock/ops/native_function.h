// A program as the function of a map or filter.
//
// Blocks whose columns are packed are computed as a whole; loose ones, and
// programs with operations that work element by element, row by row. It is not
// user code: it needs no GIL and its cost is known to be small, unless one of
// its operations reads files.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "penstock/expr/program.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

FunctionRef make_native_function(expr::ProgramRef program);
/// The program that `function` was made of; null if it is no such function.
expr::ProgramRef program_of(const Function& function);

/// What a function becomes once the elements are known: a native program, or
/// null where it cannot be one for elements of this spec.
using Specializer = std::function<expr::ProgramRef(const Spec& element)>;

/// For a function behind an unknown spec: asks `specialize` when the first
/// data shows structure, dtypes and ranks, once for each that comes, and
/// calls `fallback` for elements without a program. `specialize` must be
/// thread-safe; `declared` is the spec of the result as far as it is known.
FunctionRef make_late_native_function(Specializer specialize,
                                      FunctionRef fallback, Spec declared,
                                      std::string identity);

}  // namespace penstock::ops
