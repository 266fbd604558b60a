// A map or filter as rewrites see it: a stage that is one function.
#pragma once

#include <memory>

#include "penstock/ops/function.h"

namespace penstock::ops {

class FunctionStage {
 public:
  virtual ~FunctionStage() = default;
  virtual const FunctionRef& function() const = 0;
  /// The same stage with another function.
  virtual std::shared_ptr<const Transform> with_function(
      FunctionRef function) const = 0;
  /// A filter: the elements it keeps go on as they are.
  virtual bool passes_elements() const = 0;
  /// It skips or replaces errors: what it gives is not the function's alone.
  virtual bool changes_errors() const = 0;
};

/// Null for any other transform, and for a stage that changes errors.
inline const FunctionStage* function_stage(const Transform& transform) {
  const auto* stage = dynamic_cast<const FunctionStage*>(&transform);
  return stage != nullptr && !stage->changes_errors() ? stage : nullptr;
}

}  // namespace penstock::ops
