// How the integers of a partition cut values into rows. Input is hostile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/formats/example.h"

namespace penstock {

/// Appends the lengths of the rows that `given`, as TensorFlow means it for
/// this kind of partition, makes of `count` values; an error if it does not
/// fit them.
Status row_lengths(const Feature::Partition& partition,
                   std::span<const std::int64_t> given, std::int64_t count,
                   std::vector<std::int64_t>& out);

}  // namespace penstock
