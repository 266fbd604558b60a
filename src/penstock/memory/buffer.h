// Reference-counted memory and the pool it comes from.
//
// Buffers are 64-byte aligned and padded to 64 bytes, so SIMD loops may read
// past the end. From kPooledBytes on they are recycled: writing into fresh
// pages costs 8x a write into recycled ones. From kHugeBytes on the kernel is
// asked for huge pages. The pool is process-wide, thread-safe and leaked at
// exit, because buffers may outlive every iterator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "penstock/base/ref.h"

namespace penstock {

class Buffer final : public RefCounted<Buffer> {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kPooledBytes = 4096;
  static constexpr std::size_t kHugeBytes = std::size_t{2} << 20;

  /// Uninitialised memory of at least `size` bytes; null when out of memory.
  static Ref<Buffer> allocate(std::size_t size);
  /// Memory that somebody else owns; `release` runs when the last user is
  /// gone, on any thread. `writable` if the engine may hand it on as its own.
  static Ref<Buffer> external(const void* data, std::size_t size,
                              std::function<void()> release,
                              bool writable = false);
  /// Keeps all of `buffers` alive; has no memory of its own.
  static Ref<Buffer> together(std::vector<Ref<Buffer>> buffers);

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Bytes that this buffer really occupies.
  std::size_t capacity() const { return capacity_; }
  /// False for memory that belongs to somebody else.
  bool writable() const { return kind_ != Kind::kExternal || writable_; }
  void destroy();

 private:
  friend class BufferPool;
  enum class Kind : std::uint8_t { kMalloc, kPooled, kExternal };

  Buffer() = default;
  ~Buffer() = default;

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  Kind kind_ = Kind::kMalloc;
  bool writable_ = false;
  std::uint16_t size_class_ = 0;
  std::function<void()> release_;
};

class BufferPool {
 public:
  /// Bytes kept for reuse, not in use by anybody.
  static std::size_t idle_bytes();
  /// Bytes of all buffers in use.
  static std::size_t live_bytes();
  /// The most that may lie idle; more is given back to the system.
  static void set_idle_limit(std::size_t bytes);
  /// Gives all idle memory back.
  static void trim();
};

}  // namespace penstock
