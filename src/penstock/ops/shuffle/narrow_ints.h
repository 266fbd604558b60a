// A vector of numbers that lie close together: four bytes each while they do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace penstock::ops {

class NarrowInts {
 public:
  std::size_t size() const { return wide() ? wide_.size() : narrow_.size(); }
  bool empty() const { return size() == 0; }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(narrow_.size() * 4 + wide_.size() * 8);
  }

  std::int64_t operator[](std::size_t i) const {
    return wide() ? wide_[i] : base_ + narrow_[i];
  }
  std::int64_t back() const { return (*this)[size() - 1]; }

  void set(std::size_t i, std::int64_t value) {
    if (!wide() && fit(value)) {
      narrow_[i] = static_cast<std::uint32_t>(value - base_);
    } else {
      wide_[i] = value;
    }
  }
  /// `expected`: how many there will be; room for them is taken at once.
  void push_back(std::int64_t value, std::int64_t expected = 0) {
    if (!wide() && fit(value)) {
      if (narrow_.empty()) reserve(expected);
      narrow_.push_back(static_cast<std::uint32_t>(value - base_));
    } else {
      wide_.push_back(value);
    }
  }
  void pop_back() {
    if (wide()) {
      wide_.pop_back();
    } else {
      narrow_.pop_back();
    }
  }
  /// New ones are whatever is cheapest.
  void resize(std::size_t size) {
    if (wide()) {
      wide_.resize(size);
    } else {
      narrow_.resize(size);
    }
  }
  /// Room for many, so that a vector that grows does not leave its former
  /// places behind. Memory that is not written costs nothing.
  void reserve(std::int64_t size) {
    constexpr std::int64_t kMost = std::int64_t{1} << 24;
    if (!wide())
      narrow_.reserve(static_cast<std::size_t>(std::min(size, kMost)));
  }
  void clear() { *this = NarrowInts(); }

 private:
  static constexpr std::int64_t kReach =
      std::numeric_limits<std::uint32_t>::max();
  static constexpr std::int64_t kLeast =
      std::numeric_limits<std::int64_t>::min();

  bool wide() const { return is_wide_; }

  /// Moves the base so that `value` is within reach, or goes wide.
  bool fit(std::int64_t value) {
    if (value >= base_ &&
        static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(base_) <=
            static_cast<std::uint64_t>(kReach)) {
      return true;
    }
    std::int64_t least = value;
    std::int64_t most = value;
    for (const std::uint32_t offset : narrow_) {
      least = std::min(least, base_ + offset);
      most = std::max(most, base_ + offset);
    }
    if (static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least) <=
        static_cast<std::uint64_t>(kReach)) {
      // With room on both sides: numbers that fall one by one are rare then.
      const std::uint64_t slack =
          static_cast<std::uint64_t>(kReach - (most - least)) / 2;
      const std::uint64_t below = static_cast<std::uint64_t>(least) -
                                  static_cast<std::uint64_t>(kLeast);
      const std::int64_t base =
          least - static_cast<std::int64_t>(std::min(slack, below));
      for (std::uint32_t& offset : narrow_) {
        offset = static_cast<std::uint32_t>(base_ + offset - base);
      }
      base_ = base;
      return true;
    }
    wide_.reserve(narrow_.size() + 1);
    for (const std::uint32_t offset : narrow_) wide_.push_back(base_ + offset);
    narrow_ = {};
    is_wide_ = true;
    return false;
  }

  bool is_wide_ = false;
  std::int64_t base_ = 0;
  std::vector<std::uint32_t> narrow_;
  std::vector<std::int64_t> wide_;
};

}  // namespace penstock::ops
