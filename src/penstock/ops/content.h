// What tells sources in memory apart in a graph's fingerprint.
#pragma once

#include "penstock/base/codec.h"
#include "penstock/memory/element.h"

namespace penstock::ops {

/// Adds structure, dtypes, shapes and the payload of `element` to `fp`, the
/// payload only while `budget` bytes last, and samples of what is left of it: a
/// fingerprint is taken for every iterator and must not read gigabytes.
void add_content(Fingerprint& fp, const Element& element, std::size_t& budget);

constexpr std::size_t kContentBytes = 64 * 1024;

}  // namespace penstock::ops
