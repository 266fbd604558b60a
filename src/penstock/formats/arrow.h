// Columns from the Arrow C stream interface, without the Arrow library.
//
// The structures are the interface's own, field by field: a producer in the
// same process fills them in. Numbers, also in lists, and large strings are not
// copied; the producer's memory lives until the last tensor over it is gone.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/memory/element.h"

extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}

namespace penstock {

/// Every record batch of a stream as a dict of columns, every array of a stream
/// of arrays as its values; reads it to its end and releases it. An empty
/// stream gives one batch without rows. Lists are ragged values, records dicts,
/// dictionaries their values. InvalidArgument naming the column whose type has
/// no tensor (decimals, maps, unions, lists of records), which has nulls in
/// anything but floats (those become NaN), or whose offsets and indices lead
/// out of it.
StatusOr<std::vector<Element>> read_arrow_stream(ArrowArrayStream& stream);

}  // namespace penstock
