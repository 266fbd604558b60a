#include "penstock/base/codec.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_format.h"
#include "penstock/base/random.h"

namespace penstock {

void Encoder::u64(std::uint64_t v) {
  while (v >= 0x80) {
    out_.push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out_.push_back(static_cast<char>(v));
}

void Encoder::i64(std::int64_t v) {
  u64((static_cast<std::uint64_t>(v) << 1) ^
      static_cast<std::uint64_t>(v >> 63));
}

void Encoder::fixed64(std::uint64_t v) {
  char b[8];
  std::memcpy(b, &v, 8);
  out_.append(b, 8);
}

void Encoder::f64(double v) { fixed64(std::bit_cast<std::uint64_t>(v)); }

void Encoder::bytes(std::string_view v) {
  u64(v.size());
  out_.append(v);
}

std::uint64_t Decoder::u64() {
  std::uint64_t v = 0;
  for (int shift = 0; shift < 64 && !in_.empty(); shift += 7) {
    const auto b = static_cast<unsigned char>(in_.front());
    in_.remove_prefix(1);
    if (shift == 63 && b > 1) break;
    v |= static_cast<std::uint64_t>(b & 0x7f) << shift;
    if ((b & 0x80) == 0) return v;
  }
  fail();
  return 0;
}

std::int64_t Decoder::i64() {
  const std::uint64_t v = u64();
  return static_cast<std::int64_t>((v >> 1) ^ (0 - (v & 1)));
}

std::uint64_t Decoder::fixed64() {
  const std::string_view b = raw(8);
  std::uint64_t v = 0;
  if (b.size() == 8) std::memcpy(&v, b.data(), 8);
  return v;
}

double Decoder::f64() { return std::bit_cast<double>(fixed64()); }

std::string_view Decoder::raw(std::size_t n) {
  if (n > in_.size()) {
    fail();
    return {};
  }
  const std::string_view v = in_.substr(0, n);
  in_.remove_prefix(n);
  return v;
}

std::string_view Decoder::bytes() {
  const std::uint64_t n = u64();
  if (n > in_.size()) {
    fail();
    return {};
  }
  return raw(static_cast<std::size_t>(n));
}

std::size_t Decoder::count(std::size_t min_item_bytes) {
  const std::uint64_t n = u64();
  if (n > in_.size() / (min_item_bytes == 0 ? 1 : min_item_bytes)) {
    fail();
    return 0;
  }
  return static_cast<std::size_t>(n);
}

Status Decoder::status(std::string_view what) const {
  if (ok_) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(to_absl(what), ": malformed or truncated bytes"));
}

void Fingerprint::add(std::uint64_t v) {
  a_ = mix64(a_, v);
  b_ = mix64(b_ ^ 0x5bd1e995u, a_ + v);
}

void Fingerprint::add(std::string_view bytes) {
  add(static_cast<std::uint64_t>(bytes.size()));
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t n = bytes.size() < 8 ? bytes.size() : 8;
    std::memcpy(&word, bytes.data(), n);
    add(word);
    bytes.remove_prefix(n);
  }
}

std::string Fingerprint::hex() const {
  return absl::StrFormat("%016x%016x", a_, b_);
}

}  // namespace penstock
