// Who holds how many bytes.
//
// An Account counts the bytes that the engine holds for one iterator; its
// parent counts them for the process. Charges are RAII and may be released on
// any thread. The decision whether a charge may be made (credit, reserve of
// the critical path) is the runtime's: Account only counts, so it never waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace penstock {

class Account {
 public:
  explicit Account(std::int64_t budget, Account* parent = nullptr)
      : budget_(budget), parent_(parent) {}
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  void add(std::int64_t bytes);
  std::int64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  std::int64_t budget() const { return budget_; }
  /// Bytes that may still be charged here and in all parents.
  std::int64_t available() const;

  /// Of the process: a quarter of the memory available to the cgroup.
  static Account& process();

 private:
  friend class Settlement;
  void enter(std::int64_t bytes);

  // Of a line of its own: all who hold blocks write to it.
  alignas(64) std::atomic<std::int64_t> used_{0};
  std::atomic<std::int64_t> peak_{0};
  const std::int64_t budget_;
  Account* const parent_;
};

/// While it lives, what its thread charges to `account` and lets go of there is
/// summed up; the sum enters when it ends. So bytes that change hands are
/// neither free for others in between nor counted twice.
class Settlement {
 public:
  explicit Settlement(Account& account);
  ~Settlement();
  Settlement(const Settlement&) = delete;
  Settlement& operator=(const Settlement&) = delete;

 private:
  friend class Account;
  Account& account_;
  std::int64_t net_ = 0;
  Settlement* const outer_;
};

/// Bytes charged to an account until this is gone.
class Charge {
 public:
  Charge() = default;
  Charge(Account* account, std::int64_t bytes)
      : account_(account), bytes_(bytes) {
    if (account_) account_->add(bytes_);
  }
  Charge(Charge&& other) noexcept
      : account_(std::exchange(other.account_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    // What it held is released now, not when `other` is gone.
    Charge taken(std::move(other));
    std::swap(account_, taken.account_);
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  ~Charge() { reset(); }

  void reset() {
    if (account_) account_->add(-bytes_);
    account_ = nullptr;
    bytes_ = 0;
  }
  void resize(std::int64_t bytes) {
    if (account_) account_->add(bytes - bytes_);
    bytes_ = bytes;
  }
  /// This and `other`, which is none then, become one of `bytes`.
  void merge(Charge& other, std::int64_t bytes) {
    if (other.account_ == account_) {
      bytes_ += std::exchange(other.bytes_, 0);
      other.account_ = nullptr;
    } else {
      other.reset();
    }
    resize(bytes);
  }
  /// A charge of `bytes`, taken from this one as far as it goes.
  Charge split(std::int64_t bytes) {
    const std::int64_t taken = std::min(bytes, bytes_);
    bytes_ -= taken;
    Charge part;
    part.account_ = account_;
    part.bytes_ = taken;
    part.resize(bytes);
    return part;
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  Account* account_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace penstock
