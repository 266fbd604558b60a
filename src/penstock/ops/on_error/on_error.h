// The error policy of a pipeline, for stages that have none of their own.
#pragma once

#include "penstock/graph/node.h"

namespace penstock::ops {

/// An operator with an `on_error` of its own.
class OwnErrorPolicy {
 public:
  virtual ~OwnErrorPolicy() = default;
  virtual const ErrorPolicy& error_policy() const = 0;
};

/// An operator whose own work fails on elements, without code of the user.
class FailsOnElements {
 public:
  virtual ~FailsOnElements() = default;
};

/// The graph with `policy` behind every stage that calls code of the user or
/// fails on elements, and says nothing about errors itself; replaces what an
/// earlier call did. Where `policy` is to inherit, each branch has its own.
/// Errors below a stage that needs random access are skipped behind that stage.
StatusOr<NodeRef> with_error_policy(const NodeRef& node,
                                    const ErrorPolicy& policy);

/// The graph as it was before any policy.
StatusOr<NodeRef> without_error_policy(const NodeRef& node);

}  // namespace penstock::ops
