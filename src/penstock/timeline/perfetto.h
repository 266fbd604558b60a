// Recorded traces as a Perfetto trace: TrackEvent packets, written with
// protozero.
//
// One packet sequence per track: on each of them timestamps rise, and slices
// begin and end in pairs. Names are interned at the start of a sequence. A flow
// is written only where at least two slices have it.
#pragma once

#include <span>
#include <string>

#include "penstock/runtime/trace.h"

namespace penstock {

/// The trace of one iterator.
struct TimelinePart {
  std::string name;  // "pipeline 1: batch#3"
  Trace trace;
};

/// A perfetto.protos.Trace of all parts, which are of this process.
std::string encode_perfetto(std::span<const TimelinePart> parts);

}  // namespace penstock
