#pragma once

#include <string>
#include <vector>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Rows (along the first dimension) of the arrays in .npy files, one file after
/// the other; of .npz files dicts of the rows of all arrays. The files are
/// mapped: rows are views of them.
StatusOr<std::shared_ptr<const Operator>> make_npy(
    const std::vector<std::string>& files);

}  // namespace penstock::ops
