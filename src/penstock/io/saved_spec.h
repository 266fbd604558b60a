// Specs as bytes, for the metadata of files.
#pragma once

#include "penstock/base/codec.h"
#include "penstock/memory/spec.h"

namespace penstock {

void encode_spec(const Spec& spec, Encoder& out);
/// DataLoss if the bytes are not a spec; what follows it stays in `in`.
StatusOr<Spec> decode_spec(Decoder& in);

}  // namespace penstock
