// Where long strings that the caller takes as they are should lie.
//
// A front end whose strings are objects of its own (Python's bytes) would copy
// each one that the engine read. It may give memory that becomes such an object
// instead: the planner offers it to sources whose strings nothing but moves
// handles on their way to the caller, and they read each long string into
// memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/base/ref.h"
#include "penstock/memory/buffer.h"

namespace penstock {

/// Memory for one string of exactly `size` bytes; null if there is none. Called
/// by any thread.
using StringMemory = Ref<Buffer> (*)(std::size_t size);

/// Shorter ones are not worth an allocation each.
constexpr std::int64_t kOwnStringBytes = std::int64_t{16} << 10;

/// Set once, by the front end; null: strings lie where they were read.
void set_string_memory(StringMemory allocate);
StringMemory string_memory();

/// What is offered to this thread, or null. Set with StringMemoryScope.
StringMemory offered_string_memory();

class StringMemoryScope {
 public:
  explicit StringMemoryScope(StringMemory offer);
  ~StringMemoryScope();
  StringMemoryScope(const StringMemoryScope&) = delete;
  StringMemoryScope& operator=(const StringMemoryScope&) = delete;

 private:
  StringMemory previous_;
};

}  // namespace penstock
