#include "bytes_memory.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "interpreter.h"
#include "penstock/memory/string_memory.h"

namespace penstock::python {
namespace {

constexpr std::size_t kHeader = offsetof(PyBytesObject, ob_sval);

struct String {
  std::size_t size;
  bool object;  // it has become one
};

struct Strings {
  std::mutex mutex;
  absl::flat_hash_map<const void*, String> places;
};

// Leaked: buffers may outlive the interpreter. In the child of a fork another
// thread may have held the lock; what the parent made is never freed there.
Strings& strings() {
  static Strings* const instance = [] {
    pthread_atfork(nullptr, nullptr, [] { new (&strings()) Strings; });
    return new Strings;
  }();
  return *instance;
}

void release(void* memory, const void* place) {
  Strings& all = strings();
  bool object = false;
  {
    const std::lock_guard lock(all.mutex);
    const auto at = all.places.find(place);
    if (at == all.places.end()) return;
    object = at->second.object;
    all.places.erase(at);
  }
  if (object) {
    drop_reference(static_cast<PyObject*>(memory));
  } else {
    PyMem_RawFree(memory);
  }
}

Ref<Buffer> allocate(std::size_t size) {
  auto* const memory =
      static_cast<std::byte*>(PyMem_RawMalloc(kHeader + size + 1));
  if (memory == nullptr) return nullptr;
  std::byte* const place = memory + kHeader;
  {
    Strings& all = strings();
    const std::lock_guard lock(all.mutex);
    all.places.emplace(place, String{size, false});
  }
  return Buffer::external(place, size,
                          [memory, place] { release(memory, place); });
}

// Of large objects these give back what they were given to whoever gave it,
// also where it was asked for through another of Python's domains: to malloc().
// mimalloc and the debug hooks know only their own.
bool plain_allocator() {
#ifdef Py_GIL_DISABLED
  return false;
#else
  using Name = const char* (*)();
  const auto current = reinterpret_cast<Name>(
      dlsym(RTLD_DEFAULT, "_PyMem_GetCurrentAllocatorName"));
  const char* const name = current != nullptr ? current() : nullptr;
  return name != nullptr && (std::strcmp(name, "pymalloc") == 0 ||
                             std::strcmp(name, "malloc") == 0);
#endif
}

}  // namespace

void offer_bytes_memory() {
  if (!plain_allocator()) return;
  set_string_memory(allocate);
}

PyObject* bytes_in_place(std::string_view value) {
  if (static_cast<std::int64_t>(value.size()) < kOwnStringBytes) return nullptr;
  Strings& all = strings();
  bool made = false;
  {
    const std::lock_guard lock(all.mutex);
    const auto at = all.places.find(value.data());
    // A part of a string may begin where it begins.
    if (at == all.places.end() || at->second.size != value.size()) {
      return nullptr;
    }
    made = std::exchange(at->second.object, true);
  }
  auto* const memory = const_cast<char*>(value.data()) - kHeader;
  auto* const object = reinterpret_cast<PyBytesObject*>(memory);
  if (!made) {
    PyObject_InitVar(reinterpret_cast<PyVarObject*>(object), &PyBytes_Type,
                     static_cast<Py_ssize_t>(value.size()));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    object->ob_shash = -1;
#pragma GCC diagnostic pop
    object->ob_sval[value.size()] = '\0';
  }
  auto* const bytes = reinterpret_cast<PyObject*>(object);
  Py_INCREF(bytes);
  return bytes;
}

}  // namespace penstock::python
