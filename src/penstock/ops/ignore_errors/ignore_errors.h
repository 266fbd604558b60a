#pragma once

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Drops elements that are errors, up to a limit; then raises the next one.
StatusOr<std::shared_ptr<const Operator>> make_ignore_errors(
    std::optional<std::int64_t> limit);

/// The same as a part of another stage, with its skip policy.
std::shared_ptr<const Sequencer> make_error_skipper(const ErrorPolicy& policy);

/// Puts `value` in the place of every error.
Status replace_errors(Block& block, const Element& value, CallContext& context);

}  // namespace penstock::ops
