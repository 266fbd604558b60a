// JSON text as tokens, and what strings and numbers among them say. Input is
// hostile; nothing here reads beyond what it was given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace penstock {

/// Where the tokens of a text begin: brackets, colons, commas, opening quotes
/// and the first byte of all else. Memory is used again for the next text.
class JsonTokens {
 public:
  JsonTokens();
  ~JsonTokens();
  JsonTokens(const JsonTokens&) = delete;
  JsonTokens& operator=(const JsonTokens&) = delete;

  /// The tokens of `text`, less than 4 GiB; no string in it spans two lines.
  /// Gives what is wrong with it, null if it may be JSON.
  const char* find(std::string_view text);

  /// Offsets in the text. Behind the last one lies that of the first.
  const std::uint32_t* begin() const { return begin_; }
  const std::uint32_t* end() const { return end_; }

 private:
  struct Finder;
  std::unique_ptr<Finder> finder_;
  const std::uint32_t* begin_ = nullptr;
  const std::uint32_t* end_ = nullptr;
};

/// Whether each escape in the inside of a string is one. Halves of surrogate
/// pairs, which the grammar allows, are.
bool valid_json_escapes(std::string_view inside);

/// Writes the inside of a string without its escapes to `to`, which has room
/// for as many bytes. Gives the end of it, null for what is no UTF-8 then.
char* unescape_json(std::string_view inside, char* to);

struct JsonNumber {
  std::uint64_t digits = 0;  // all of them as one number, if at most 19
  std::int64_t count = 0;    // of digits
  std::int64_t exponent = 0;
  bool negative = false;
  bool whole = true;  // neither fraction nor exponent are written
  const char* begin = nullptr;
  const char* end = nullptr;
};

inline constexpr std::array<bool, 256> kJsonWordEnds = [] {
  std::array<bool, 256> ends{};
  for (const char c : {',', '}', ']', ' ', '\n', '\t', '\r'}) {
    ends[static_cast<unsigned char>(c)] = true;
  }
  return ends;
}();

/// Whether `c` may follow a number or a word.
inline bool ends_json_word(char c) {
  return kJsonWordEnds[static_cast<unsigned char>(c)];
}

inline bool is_json_digit(char c) {
  return static_cast<unsigned char>(c - '0') <= 9;
}

/// Adds the digits from `p` on to `value`; gives their end.
inline const char* read_json_digits(const char* p, std::uint64_t& value) {
  for (; is_json_digit(*p); ++p) {
    value = value * 10 + static_cast<unsigned char>(*p - '0');
  }
  return p;
}

// Behind the numbers that these read a byte of ends_json_word() comes sooner or
// later. They give false for what is no number.
bool read_json_number(const char* p, JsonNumber& out);

inline bool is_json_number(const char* p) {
  const char* const first = p + (*p == '-' ? 1 : 0);
  const char* end = first;
  while (is_json_digit(*end)) ++end;
  // Most end here, and begin with no zero.
  if (end != first && (*first != '0' || end - first == 1) &&
      ends_json_word(*end)) {
    return true;
  }
  JsonNumber number;
  return read_json_number(p, number);
}

/// Those that take the fewest steps; false for all others.
inline bool read_short_json_int(const char* p, std::int64_t& out) {
  const bool negative = *p == '-';
  const char* const first = p + (negative ? 1 : 0);
  std::uint64_t digits = 0;
  const char* const end = read_json_digits(first, digits);
  const auto count = static_cast<std::size_t>(end - first);
  if (count - 1 >= 18 || !ends_json_word(*end) ||
      (*first == '0' && count > 1)) {
    return false;
  }
  out = static_cast<std::int64_t>(negative ? 0 - digits : digits);
  return true;
}

inline constexpr double kJsonTens[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline bool read_short_json_double(const char* p, double& out) {
  const bool negative = *p == '-';
  const char* const first = p + (negative ? 1 : 0);
  std::uint64_t digits = 0;
  const char* const point = read_json_digits(first, digits);
  if (point == first || (*first == '0' && point - first > 1)) return false;
  const char* end = point;
  if (*point == '.') {
    end = read_json_digits(point + 1, digits);
    if (end == point + 1) return false;
  }
  // 15 digits are exact, and so is the power of ten: the result is rounded
  // once.
  if (end - first > 16 || digits >= 1'000'000'000'000'000 ||
      !ends_json_word(*end)) {
    return false;
  }
  auto value = static_cast<double>(static_cast<std::int64_t>(digits));
  if (end != point) value /= kJsonTens[end - point - 1];
  out = negative ? -value : value;
  return true;
}

/// False for a number that is too large.
bool json_double(const JsonNumber& number, double& out);
/// False for a number that is not written as an integer, or does not fit.
bool json_int64(const JsonNumber& number, std::int64_t& out);
bool json_uint64(const JsonNumber& number, std::uint64_t& out);

}  // namespace penstock
