#pragma once

#include <functional>
#include <string>
#include <utility>

#include "penstock/graph/operator.h"

namespace penstock {

/// (state, element) -> (next state, output).
using ScanFunction = std::function<StatusOr<std::pair<Element, Element>>(
    const Element& state, const Element& element)>;

/// (state, element) -> next state.
using ReduceFunction = std::function<StatusOr<Element>(const Element& state,
                                                       const Element& element)>;

namespace ops {

struct ScanOptions {
  /// What the function gives out, as far as it is known.
  Spec output_signature = {};
  /// Identifies the function in a fingerprint.
  std::string identity = "";
};

/// Calls `fn` on one element after the other, each with the state that the
/// call before gave.
StatusOr<std::shared_ptr<const Operator>> make_scan(Element initial_state,
                                                    ScanFunction fn,
                                                    ScanOptions options);

/// OK if `next` may follow a state like `first`: equal structure and dtypes.
/// Shapes may change.
Status check_state(const Element& first, const Element& next);

}  // namespace ops
}  // namespace penstock
