// A graph again, with stages put in front of its operators.
//
// The suite does not ask operators for special examples with errors or slow
// functions in front: it takes the graph of an example apart and builds it
// anew, with further maps where they are wanted.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "penstock/penstock.h"

namespace penstock::testing {

/// `dataset` built anew, with `wrap` around every input of the operators named
/// `op` (of all operators if it is empty). Nothing if there is no such input,
/// or the operator refuses what `wrap` gives it.
std::optional<Dataset> with_inputs_wrapped(
    const Dataset& dataset, const std::string& op,
    const std::function<Dataset(const Dataset&)>& wrap);

/// The elements of `dataset`, but some, chosen by their origins, are errors.
Dataset failing(const Dataset& dataset);

/// The elements of `dataset`, some of them late while jitter is on.
Dataset jittery(const Dataset& dataset);

/// Lets jittery() datasets delay elements while it lives.
class JitterScope {
 public:
  JitterScope();
  ~JitterScope();
  JitterScope(const JitterScope&) = delete;
  JitterScope& operator=(const JitterScope&) = delete;
};

}  // namespace penstock::testing
