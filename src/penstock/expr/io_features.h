// The features of an Example as attributes of an operation.
//
// names, keys, kinds, dtypes: lists of equal length; shape.<i>, default.<i>,
// allow_missing.<i> and partitions.<i> where feature i has one. `prefix` stands
// before each.
#pragma once

#include <string>
#include <vector>

#include "penstock/expr/attributes.h"
#include "penstock/formats/example.h"

namespace penstock::expr {

StatusOr<std::vector<Feature>> features_of(const Attributes& attributes,
                                           const std::string& prefix);

/// kInvalid for a name of none.
DType dtype_from_name(std::string_view name);

}  // namespace penstock::expr
