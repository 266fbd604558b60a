// Functions from elements to datasets that were traced.
#pragma once

#include "bindings.h"
#include "penstock/expr/program.h"

namespace penstock::python {

/// A source in a template whose arguments depend on the element.
Dataset make_template_hole(Spec spec);

/// `prototype` is the graph with holes. `sources` says what they become:
/// (hole, kind, options), in the order of the program's results.
DatasetFunctionHandle make_template_function(expr::ProgramRef program,
                                             const Dataset& prototype,
                                             const nb::list& sources);

}  // namespace penstock::python
