// The rows of ragged features, of columns of records or of steps: internal to
// formats/.
#pragma once

#include <utility>
#include <vector>

#include "penstock/formats/example.h"

namespace penstock::wire {

/// Cuts the values of each of `features` that has partitions. `columns` are
/// those of with_partitions(features); the ones of the partitions are removed.
/// A record whose partitions do not fit is named in `failed`.
Status cut_features(const std::vector<Feature>& features,
                    std::vector<FeatureColumn>& columns,
                    std::vector<std::pair<std::int64_t, Status>>& failed);

/// All records of a column as one ragged value.
StatusOr<Element> ragged_of(FeatureColumn column);

}  // namespace penstock::wire
