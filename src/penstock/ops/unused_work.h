// Leaves work out of native maps that the maps behind them make no use of.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// `transforms` follow each other, with nobody between who sees an element.
/// Replaces those that can do less without a change of what the last one gives.
/// Returns which, and the leaves that are left out: "leaf 1 and 2".
std::vector<std::pair<std::size_t, std::string>> drop_unused_work(
    const std::vector<std::shared_ptr<const Transform>*>& transforms);

}  // namespace penstock::ops
