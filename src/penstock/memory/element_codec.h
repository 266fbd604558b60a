// Elements as bytes, for states that hold values and for files.
//
// Layout (version 1): the version, the structure, then leaf by leaf dtype,
// dimensions and values (strings as lengths and bytes). Dense values are
// stored as they lie in memory, little endian. The decoder treats its input as
// hostile: it never reads past the end, allocates no more than the input can
// fill, and refuses ragged splits that point outside their values.
#pragma once

#include <string>
#include <string_view>

#include "penstock/base/codec.h"
#include "penstock/base/status.h"
#include "penstock/memory/element.h"

namespace penstock {

/// Appends `element`. InvalidArgument, and nothing appended, if it is
/// undefined or holds an object (a nested dataset), which has no bytes.
Status encode_element(const Element& element, Encoder& out);
StatusOr<std::string> encode_element(const Element& element);

/// Reads one element; what follows it stays in `in`. The result shares no
/// memory with the input. DataLoss if the bytes are not an element.
StatusOr<Element> decode_element(Decoder& in);
/// `bytes` must be one element and nothing else.
StatusOr<Element> decode_element(std::string_view bytes);

/// The structure alone.
void encode_structure(const Structure& structure, Encoder& out);
StatusOr<const Structure*> decode_structure(Decoder& in);

/// OK, or why the element cannot be encoded.
Status check_encodable(const Element& element);

}  // namespace penstock
