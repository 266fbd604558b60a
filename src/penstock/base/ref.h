// Intrusive reference counting for objects that are shared between threads.
//
// RefCounted<T> carries the count, Ref<T> is the smart pointer. One atomic
// increment per copy; Ref is one word, so a Tensor stays small.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace penstock {

/// Base of a shared object. T may hide `destroy()` to be freed another way.
template <class T>
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      static_cast<T*>(const_cast<RefCounted*>(this))->destroy();
    }
  }
  /// True when the caller's reference is the only one.
  bool unique() const { return refs_.load(std::memory_order_acquire) == 1; }
  void destroy() { delete static_cast<T*>(this); }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<std::uint32_t> refs_{1};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  /// Takes over the reference that `raw` carries.
  static Ref adopt(T* raw) {
    Ref ref;
    ref.ptr_ = raw;
    return ref;
  }
  /// Adds a reference of its own.
  static Ref share(T* raw) {
    if (raw) raw->retain();
    return adopt(raw);
  }
  Ref(const Ref& other) : ptr_(other.ptr_) {
    if (ptr_) ptr_->retain();
  }
  Ref(Ref&& other) noexcept : ptr_(std::exchange(other.ptr_, nullptr)) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Ref(Ref<U> other) : ptr_(other.detach()) {}  // NOLINT
  Ref& operator=(Ref other) noexcept {
    std::swap(ptr_, other.ptr_);
    return *this;
  }
  ~Ref() {
    if (ptr_) ptr_->release();
  }

  T* get() const { return ptr_; }
  T* operator->() const { return ptr_; }
  T& operator*() const { return *ptr_; }
  explicit operator bool() const { return ptr_ != nullptr; }
  T* detach() { return std::exchange(ptr_, nullptr); }
  void reset() { *this = Ref(); }
  friend bool operator==(const Ref& a, const Ref& b) {
    return a.ptr_ == b.ptr_;
  }

 private:
  T* ptr_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace penstock
