// The most bytes of buffers alive at once, for tests of what is held.
#pragma once

#include <cstddef>

namespace penstock {

/// Since the start of the process, or since reset_peak_live_bytes().
std::size_t peak_live_bytes();
void reset_peak_live_bytes();

}  // namespace penstock
