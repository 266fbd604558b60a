// The operator behind every sequential source of a user.
#pragma once

#include <string>

#include "penstock/graph/operator.h"
#include "penstock/ops/from_source/source.h"

namespace penstock::ops {

struct SequentialOptions {
  /// The method that made it: "from_generator".
  std::string op;
  /// Part of the fingerprint: what tells this source from others.
  std::string identity;
  /// Every element is checked against it.
  Spec spec;
  /// As declared. At most that many elements are read; ending earlier is an
  /// error.
  Cardinality cardinality;
};

StatusOr<std::shared_ptr<const Operator>> make_sequential(
    SequentialFactory open, SequentialOptions options);

}  // namespace penstock::ops
