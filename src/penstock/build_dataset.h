// How the facade makes a dataset of an operator; not installed API.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "penstock/dataset.h"

namespace penstock::detail {

using OpOr = StatusOr<std::shared_ptr<const Operator>>;

/// `op` on `inputs`, under the error policy of the chain; throws what refuses
/// it.
Dataset build_dataset(OpOr op, std::vector<NodeRef> inputs, std::string name);

}  // namespace penstock::detail
