// Byte encoding for states, fingerprints and cache files.
//
// Integers are LEB128 varints (zig-zag when signed), strings are length and
// bytes. A Decoder treats its input as hostile: every read is checked, the
// first failure sticks, and sizes are bounded by the bytes that are left.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/base/status.h"

namespace penstock {

class Encoder {
 public:
  void u64(std::uint64_t v);
  /// What u64(v) takes.
  static std::size_t u64_size(std::uint64_t v) {
    return v < 128 ? 1 : static_cast<std::size_t>(std::bit_width(v) + 6) / 7;
  }
  /// Room for as many more bytes, and for no others: large states are kept.
  void reserve(std::size_t bytes) { out_.reserve(out_.size() + bytes); }
  void i64(std::int64_t v);
  void fixed64(std::uint64_t v);
  void boolean(bool v) { u64(v ? 1 : 0); }
  void f64(double v);
  void bytes(std::string_view v);
  void raw(std::string_view v) { out_.append(v); }

  const std::string& str() const { return out_; }
  std::string take() && { return std::move(out_); }
  std::size_t size() const { return out_.size(); }

 private:
  std::string out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view in) : in_(in) {}

  std::uint64_t u64();
  std::int64_t i64();
  std::uint64_t fixed64();
  bool boolean() { return u64() != 0; }
  double f64();
  std::string_view bytes();
  std::string_view raw(std::size_t n);
  /// A count of items of at least `min_item_bytes` each; 0 and failed if the
  /// remaining input cannot hold that many.
  std::size_t count(std::size_t min_item_bytes = 1);

  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }
  std::size_t remaining() const { return in_.size(); }
  void fail() {
    ok_ = false;
    in_ = {};
  }
  /// DataLoss naming `what` unless everything so far was well formed.
  Status status(std::string_view what) const;

 private:
  std::string_view in_;
  bool ok_ = true;
};

/// CRC-32C of `data`.
std::uint32_t crc32c(std::string_view data, std::uint32_t seed = 0);

/// Order-dependent 128-bit hash, for graph fingerprints.
class Fingerprint {
 public:
  void add(std::string_view bytes);
  void add(std::uint64_t v);
  std::string hex() const;
  std::uint64_t low() const { return a_; }
  std::uint64_t high() const { return b_; }

 private:
  std::uint64_t a_ = 0x6a09e667f3bcc908ull;
  std::uint64_t b_ = 0xbb67ae8584caa73bull;
};

}  // namespace penstock
