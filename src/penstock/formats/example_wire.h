// What the readers of Example and SequenceExample share: lists of values in the
// wire format, and the entries of its maps.
//
// What writers write is read without protozero: a field after the other, each
// once, none over 2 MiB. Anything else, and all that is damaged, takes the
// general way, which throws protozero::exception on bytes that are no message.
// Internal to formats/.
#pragma once

#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "penstock/formats/example.h"

namespace penstock {

/// Features by key. Records mostly have their keys in one order: what followed
/// a feature last time is tried first.
class ExampleParser::Lookup {
 public:
  explicit Lookup(const std::vector<Feature>& features) {
    for (std::size_t i = 0; i < features.size(); ++i) {
      keys_.push_back(features[i].key.empty() ? features[i].name
                                              : features[i].key);
    }
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const auto [it, fresh] = first_.try_emplace(keys_[i], i);
      next_.push_back(kEnd);
      if (!fresh) {
        std::size_t last = it->second;
        while (next_[last] != kEnd) last = next_[last];
        next_[last] = i;
      }
    }
  }
  static constexpr std::size_t kEnd = static_cast<std::size_t>(-1);

  std::size_t find(std::string_view key, std::size_t guess) const {
    if (guess < keys_.size() && keys_[guess] == key) return guess;
    const auto it = first_.find(key);
    return it == first_.end() ? kEnd : it->second;
  }
  /// Another feature of the same key, or kEnd.
  std::size_t next(std::size_t i) const { return next_[i]; }

 private:
  std::vector<std::string> keys_;
  absl::flat_hash_map<std::string_view, std::size_t> first_;
  std::vector<std::size_t> next_;
};

namespace wire {

/// Field numbers of Feature: which list it holds.
enum List : std::uint32_t { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };

inline List list_of(DType dtype) {
  switch (dtype) {
    case DType::kString:
      return kBytes;
    case DType::kFloat32:
      return kFloat;
    default:
      return kInt64;
  }
}

constexpr unsigned char kField1 = 0x0a;  // length-delimited
constexpr unsigned char kField2 = 0x12;
constexpr unsigned char kField3 = 0x1a;

/// Goes behind the head of a field `tag` at `p`, if it is one of `size` bytes
/// that lie before `end`.
inline bool enter(const char*& p, const char* end, unsigned char tag,
                  std::size_t& size) {
  const auto at = [&](int i) { return static_cast<unsigned char>(p[i]); };
  if (end - p < 4) {
    // Only what is as short as an empty list.
    if (end - p < 2 || at(0) != tag || at(1) > end - p - 2) return false;
    size = at(1);
    p += 2;
    return true;
  }
  if (at(0) != tag) return false;
  std::size_t n = at(1);
  std::ptrdiff_t head = 2;
  if (n >= 0x80) {
    n = (n & 0x7f) | static_cast<std::size_t>(at(2) & 0x7f) << 7;
    head = 3;
    if (at(2) >= 0x80) {
      if (at(3) >= 0x80) return false;
      n |= static_cast<std::size_t>(at(3)) << 14;
      head = 4;
    }
  }
  if (n > static_cast<std::size_t>(end - p - head)) return false;
  p += head;
  size = n;
  return true;
}

/// The one field `tag` that `bytes` are; false if they are not.
inline bool only_field(std::string_view bytes, unsigned char tag,
                       std::string_view& field) {
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  std::size_t size = 0;
  if (!enter(p, end, tag, size) || p + size != end) return false;
  field = {p, size};
  return true;
}

/// The list in a Feature's bytes: the last one counts.
std::pair<List, std::string_view> find_any_list(std::string_view feature);
inline std::pair<List, std::string_view> find_list(std::string_view feature) {
  if (!feature.empty()) {
    const auto tag = static_cast<unsigned char>(feature[0]);
    std::string_view list;
    if ((tag == kField1 || tag == kField2 || tag == kField3) &&
        only_field(feature, tag, list)) {
      return {static_cast<List>(tag >> 3), list};
    }
  }
  return find_any_list(feature);
}

/// Values of one feature, as they are collected.
struct Values {
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> strings;

  std::size_t size(List list) const {
    return list == kFloat   ? floats.size()
           : list == kInt64 ? ints.size()
                            : strings.size();
  }
  void resize(List list, std::size_t n) {
    if (list == kFloat) floats.resize(n);
    if (list == kInt64) ints.resize(n);
    if (list == kBytes) strings.resize(n);
  }
  void reserve(List list, std::size_t n) {
    if (list == kFloat) floats.reserve(n);
    if (list == kInt64) ints.reserve(n);
    if (list == kBytes) strings.reserve(n);
  }
};

/// The varint at `p`, which is moved behind it.
std::int64_t read_long_int(const char*& p, const char* end);
inline std::int64_t read_int(const char*& p, const char* end) {
  const auto at = [&](int i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i]));
  };
  if (at(0) < 0x80) {
    const std::uint64_t v = at(0);
    ++p;
    return static_cast<std::int64_t>(v);
  }
  if (end - p >= 3) {
    if (at(1) < 0x80) {
      const std::uint64_t v = (at(0) & 0x7f) | at(1) << 7;
      p += 2;
      return static_cast<std::int64_t>(v);
    }
    if (at(2) < 0x80) {
      const std::uint64_t v =
          (at(0) & 0x7f) | (at(1) & 0x7f) << 7 | at(2) << 14;
      p += 3;
      return static_cast<std::int64_t>(v);
    }
  }
  return read_long_int(p, end);
}

inline void append_packed_ints(std::string_view packed,
                               std::vector<std::int64_t>& out) {
  const char* p = packed.data();
  const char* const end = p + packed.size();
  std::int64_t some[64];
  while (p != end) {
    std::size_t n = 0;
    do {
      some[n++] = read_int(p, end);
    } while (n < std::size(some) && p != end);
    out.insert(out.end(), some, some + n);
  }
}

/// Reads `count` integers that are all of `packed`; false if it has others.
inline bool read_ints(std::string_view packed, std::size_t count,
                      std::int64_t* out) {
  const char* p = packed.data();
  const char* const end = p + packed.size();
  std::size_t n = 0;
  for (; n < count && p != end; ++n) out[n] = read_int(p, end);
  return n == count && p == end;
}

[[noreturn]] void throw_bad_length();
inline void append_floats(std::string_view packed, std::vector<float>& out) {
  if (packed.size() % sizeof(float) != 0) {
    throw_bad_length();
  }
  const std::size_t at = out.size();
  out.resize(at + packed.size() / sizeof(float));
  if (!packed.empty()) {
    std::memcpy(out.data() + at, packed.data(), packed.size());
  }
}

/// Adds what a list holds, packed or not.
void append_any_list(List list, std::string_view bytes, Values& out);
inline void append_list(List list, std::string_view bytes, Values& out) {
  std::string_view only;
  if (!only_field(bytes, kField1, only)) {
    append_any_list(list, bytes, out);
    return;
  }
  if (list == kBytes) out.strings.push_back(only);
  if (list == kFloat) append_floats(only, out.floats);
  if (list == kInt64) append_packed_ints(only, out.ints);
}

/// Appends `count` values of the default, or zeros.
void append_default(const Feature& feature, List list, std::size_t count,
                    Values& out);

StatusOr<Tensor> to_tensor(List list, const Values& values, const Shape& shape);

/// Keeps the bytes of each wanted entry of a map field; the last wins. `guess`
/// holds what was found at each place the record before.
void collect_entries(std::string_view features,
                     const ExampleParser::Lookup& lookup,
                     std::vector<std::optional<std::string_view>>& found,
                     std::vector<std::size_t>& guess, std::size_t& place);

Status missing(const Feature& feature);
Status wrong_list(const Feature& feature, List found);

}  // namespace wire
}  // namespace penstock
