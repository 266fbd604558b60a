#pragma once

#include "penstock/graph/operator.h"

namespace penstock {

/// shuffle(kGlobal): a permutation of all elements, computed from the index.
constexpr std::int64_t kGlobal = -100;

namespace ops {

struct ShuffleOptions {
  std::int64_t buffer_size = 0;
  std::optional<std::uint64_t> seed;
  bool reshuffle_each_iteration = true;
};

StatusOr<std::shared_ptr<const Operator>> make_shuffle(ShuffleOptions options);

/// Key of a stage's random order in this epoch.
std::uint64_t order_key(std::optional<std::uint64_t> seed, bool reshuffle,
                        const Epoch& epoch, std::uint64_t stage_salt,
                        const PathRef& path);

}  // namespace ops
}  // namespace penstock
