// Native maps on pictures that run as one, because then the decoder need only
// do what the maps behind it use.
#pragma once

#include <memory>
#include <string>

#include "penstock/graph/operator.h"

namespace penstock::ops {

struct JoinedMaps {
  std::shared_ptr<const Transform> transform;  // null: better apart
  std::string note;     // what was fused, or why what could be was not
  bool random = false;  // the second draws random numbers: keyed by its stage
};

JoinedMaps join_maps(const Transform& first, const Transform& second);

}  // namespace penstock::ops
