// How errors name one of several components.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::ops {

/// " of leaf 2", or nothing where there is only one.
inline std::string leaf_label(std::size_t leaf, std::size_t leaves) {
  return leaves == 1 ? "" : absl::StrCat(" of leaf ", leaf);
}

}  // namespace penstock::ops
