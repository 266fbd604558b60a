// Machine code that Python packages made, as functions of stages.
#pragma once

#include <cstdint>

#include "bindings.h"

namespace penstock::python {

/// (call, addresses of the values, their dimensions one behind the other): 0,
/// or anything else for an exception.
using CompiledPointer = int (*)(void* call, const void* const* values,
                                const std::int64_t* dims);

void bind_compiled(nb::module_& m);

}  // namespace penstock::python
