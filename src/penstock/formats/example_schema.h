// Which features can be asked for, and the specs of what is read: internal to
// formats/.
#pragma once

#include <vector>

#include "penstock/formats/example.h"

namespace penstock::wire {

/// InvalidArgument naming a feature that cannot be, or is given twice.
Status check_features(const std::vector<Feature>& features);

/// What has to be read for `features`: themselves, then the integers of their
/// partitions.
std::vector<Feature> with_partitions(const std::vector<Feature>& features);

/// `first`, then the dimensions of `rest`.
PartialShape partial(std::initializer_list<std::int64_t> first,
                     const Shape& rest);

/// Values of a ragged feature behind `rank` levels, the outermost of which has
/// `outer` numbers.
Spec ragged_spec(const Feature& feature, int rank, std::int64_t outer);

}  // namespace penstock::wire
