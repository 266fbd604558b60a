// What the fields of JSON objects have become, while lines are read.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "penstock/formats/json_lines.h"
#include "penstock/formats/json_tokens.h"

namespace penstock {

/// The inside of the string at `token`; the token behind it is at `next`.
inline std::string_view json_inside(const char* token, const char* next) {
  // Nothing but blanks lies between its end and the next token.
  const char* end = next - 1;
  while (*end != '"') --end;
  return {token + 1, static_cast<std::size_t>(end - token - 1)};
}

/// Whether the word at `p` is `word`, of which the first byte was looked at.
template <std::size_t kSize>
bool is_json_word(const char* p, const char (&word)[kSize]) {
  for (std::size_t i = 1; i + 1 < kSize; ++i) {
    if (p[i] != word[i]) return false;
  }
  return ends_json_word(p[kSize - 1]);
}

/// What a column holds while it grows; finish() makes the dtype of it.
enum class JsonHeld { kInts, kFloats, kDoubles, kBools, kStrings };

JsonHeld json_held_as(DType dtype);

/// The values of one field, of one line after the other.
class JsonColumn {
 public:
  /// Empty, with room for `rows` values; what it holds stays for reuse.
  void start(const JsonField& field, std::size_t rows);
  std::size_t held_bytes() const;

  /// Adds the value of which `token` is the only token, and `next` where the
  /// one behind it begins. False if it is none of the field's dtype; nothing is
  /// added then. `escapes`: whether strings may have some.
  [[gnu::always_inline]] bool add(const char* token, const char* next,
                                  bool escapes) {
    if (held_ == JsonHeld::kStrings) {
      return *token == '"' && add_string(json_inside(token, next), escapes);
    }
    std::int64_t i = 0;
    if (dtype_ == DType::kInt64 && read_short_json_int(token, i)) {
      ints_.push_back(i);
      return true;
    }
    double d = 0;
    if (dtype_ == DType::kFloat32 && read_short_json_double(token, d)) {
      floats_.push_back(static_cast<float>(d));
      return true;
    }
    return held_ == JsonHeld::kBools ? add_bool(token) : add_number(token);
  }
  void add_default(const JsonField& field);
  void end_list() { splits_.push_back(size()); }
  /// Keeps the first `rows` rows.
  void cut(std::size_t rows);
  /// One more row than `rows`, which stands for no value.
  void add_nothing(std::size_t rows);

  StatusOr<Tensor> finish() const;
  const std::vector<std::int64_t>& splits() const { return splits_; }

 private:
  std::int64_t size() const;
  void resize(std::int64_t to);
  bool add_bool(const char* token);
  bool add_number(const char* token);
  bool add_string(std::string_view inside, bool escapes) {
    if (escapes || inside.size() > text_room_ - text_size_) {
      return add_written(inside, escapes);
    }
    std::memcpy(text_.get() + text_size_, inside.data(), inside.size());
    text_size_ += inside.size();
    ends_.push_back(static_cast<std::int64_t>(text_size_));
    return true;
  }
  bool add_written(std::string_view inside, bool escapes);
  void make_room(std::size_t bytes);

  DType dtype_ = DType::kInvalid;
  JsonHeld held_ = JsonHeld::kInts;
  bool list_ = false;
  std::vector<std::int64_t> ints_;  // uint64: the same bits
  std::vector<double> doubles_;
  std::vector<float> floats_;
  std::vector<std::uint8_t> bools_;
  std::unique_ptr<char[]> text_;  // strings, one after the other
  std::size_t text_size_ = 0;
  std::size_t text_room_ = 0;
  std::vector<std::int64_t> ends_;
  std::vector<std::int64_t> splits_{0};
};

}  // namespace penstock
