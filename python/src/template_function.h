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

/// A template made when the first elements show their spec: `specialize(spec)`
/// gives one, or None, and then `fallback` is called.
DatasetFunctionHandle make_late_template(nb::callable specialize,
                                         const DatasetFunctionHandle& fallback,
                                         Spec declared, std::string identity);

}  // namespace penstock::python
