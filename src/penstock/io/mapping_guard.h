// Mappings of files whose pages may go away: a file that becomes shorter takes
// them, and reading one of them is a SIGBUS, which ends the process.
//
// The first mapping installs a handler. For an address in a guarded mapping it
// puts pages of zeros in the place of all that follow, notes where they begin,
// and the read goes on; every other SIGBUS goes where it went before.
// docs/decisions/0011 has the reasons.
//
// Thread-safe, without locks, so that the handler and forked children may look
// at any time. Slots are recycled, their memory is never given back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace penstock {

/// A place in the table of guarded mappings.
struct GuardedMapping {
  std::atomic<bool> taken = false;
  /// 0 while nothing is guarded; written last.
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  /// So many bytes of it are the file's; the others may be zeros.
  std::atomic<std::size_t> intact = 0;
};

/// Guards the `size` bytes at `data`, which begin with a page.
GuardedMapping* guard_mapping(const void* data, std::size_t size);

/// Before the bytes are unmapped. Nobody may be reading them.
void end_guard(GuardedMapping* mapping);

/// Notes that only the first `size` bytes are the file's.
void note_intact(GuardedMapping* mapping, std::size_t size);

}  // namespace penstock
