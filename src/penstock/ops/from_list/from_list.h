#pragma once

#include <vector>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// The elements of a list.
StatusOr<std::shared_ptr<const Operator>> make_from_list(
    std::vector<Element> elements);

}  // namespace penstock::ops
