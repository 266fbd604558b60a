#include "penstock/memory/string_memory.h"

#include <atomic>
#include <utility>

namespace penstock {
namespace {

std::atomic<StringMemory> g_string_memory{nullptr};
thread_local StringMemory t_string_memory_offer = nullptr;

}  // namespace

void set_string_memory(StringMemory allocate) {
  g_string_memory.store(allocate, std::memory_order_release);
}

StringMemory string_memory() {
  return g_string_memory.load(std::memory_order_acquire);
}

StringMemory offered_string_memory() { return t_string_memory_offer; }

StringMemoryScope::StringMemoryScope(StringMemory offer)
    : previous_(std::exchange(t_string_memory_offer, offer)) {}
StringMemoryScope::~StringMemoryScope() { t_string_memory_offer = previous_; }

}  // namespace penstock
