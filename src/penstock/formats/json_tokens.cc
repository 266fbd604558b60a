#include "penstock/formats/json_tokens.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

#include "absl/strings/numbers.h"

namespace penstock {
namespace {

// Texts are about this long.
constexpr std::size_t kTextBytes = 64 * 1024;
// Memory, four bytes for each of a text, is kept for texts of this size and for
// those of a quarter of the last one.
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;

/// Four hexadecimal digits, or -1.
std::int32_t hex4(const char* p) {
  std::int32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    const char letter = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      value = value * 16 + (c - '0');
    } else if (letter >= 'a' && letter <= 'f') {
      value = value * 16 + (letter - 'a' + 10);
    } else {
      return -1;
    }
  }
  return value;
}

/// The byte that `\c` means; 0 if it is no such escape.
char short_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

char* write_utf8(std::uint32_t code, char* to) {
  const auto put = [&](std::uint32_t byte) { *to++ = static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
  return to;
}

const char* find_backslash(const char* begin, const char* end) {
  const void* found =
      std::memchr(begin, '\\', static_cast<std::size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

}  // namespace

struct JsonTokens::Finder {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
};

JsonTokens::JsonTokens() : finder_(std::make_unique<Finder>()) {}
JsonTokens::~JsonTokens() = default;

const char* JsonTokens::find(std::string_view text) {
  auto& parser = finder_->parser;
  if (parser && (parser->capacity() < text.size() ||
                 parser->capacity() / 4 > std::max(text.size(), kKeptBytes))) {
    parser.reset();
  }
  if (!parser) {
    const auto error =
        simdjson::get_active_implementation()->create_dom_parser_implementation(
            std::max(text.size(), kTextBytes), simdjson::DEFAULT_MAX_DEPTH,
            parser);
    if (error != simdjson::SUCCESS) return simdjson::error_message(error);
  }
  const auto error =
      parser->stage1(reinterpret_cast<const std::uint8_t*>(text.data()),
                     text.size(), simdjson::stage1_mode::regular);
  if (error == simdjson::EMPTY) return "it is empty";
  if (error != simdjson::SUCCESS) return simdjson::error_message(error);
  std::uint32_t* const begins = parser->structural_indexes.get();
  const std::size_t count = parser->n_structural_indexes;
  begins[count] = begins[0];
  begin_ = begins;
  end_ = begins + count;
  return nullptr;
}

bool valid_json_escapes(std::string_view inside) {
  const char* const end = inside.data() + inside.size();
  for (const char* p = inside.data();;) {
    p = find_backslash(p, end);
    if (p == end) return true;
    if (end - p < 2) return false;
    if (p[1] == 'u') {
      if (end - p < 6 || hex4(p + 2) < 0) return false;
      p += 6;
    } else {
      if (short_escape(p[1]) == 0) return false;
      p += 2;
    }
  }
}

char* unescape_json(std::string_view inside, char* to) {
  const char* const end = inside.data() + inside.size();
  for (const char* p = inside.data();;) {
    const char* const plain = p;
    p = find_backslash(p, end);
    to = std::copy(plain, p, to);
    if (p == end) return to;
    if (end - p < 2) return nullptr;
    if (p[1] != 'u') {
      const char byte = short_escape(p[1]);
      if (byte == 0) return nullptr;
      *to++ = byte;
      p += 2;
      continue;
    }
    if (end - p < 6) return nullptr;
    std::int32_t code = hex4(p + 2);
    if (code < 0) return nullptr;
    p += 6;
    if (code >= 0xd800 && code < 0xe000) {
      // Two halves of a code point beyond the first 2^16.
      if (code >= 0xdc00 || end - p < 6 || p[0] != '\\' || p[1] != 'u') {
        return nullptr;
      }
      const std::int32_t low = hex4(p + 2);
      if (low < 0xdc00 || low >= 0xe000) return nullptr;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      p += 6;
    }
    to = write_utf8(static_cast<std::uint32_t>(code), to);
  }
}

bool read_json_number(const char* p, JsonNumber& out) {
  out = {};
  out.begin = p;
  out.negative = *p == '-';
  const char* const first = p + (out.negative ? 1 : 0);
  p = read_json_digits(first, out.digits);
  out.count = p - first;
  if (out.count == 0 || (*first == '0' && out.count > 1)) return false;
  if (*p == '.') {
    const char* const point = p++;
    p = read_json_digits(p, out.digits);
    if (p == point + 1) return false;
    out.exponent = point + 1 - p;
    out.count -= out.exponent;
    out.whole = false;
  }
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool down = *p == '-';
    if (down || *p == '+') ++p;
    if (!is_json_digit(*p)) return false;
    std::int64_t power = 0;
    for (; is_json_digit(*p); ++p) {
      if (power < 100'000) power = power * 10 + (*p - '0');
    }
    out.exponent += down ? -power : power;
    out.whole = false;
  }
  out.end = p;
  return ends_json_word(*p);
}

bool json_double(const JsonNumber& number, double& out) {
  constexpr auto kMost = static_cast<std::int64_t>(std::size(kJsonTens)) - 1;
  // Both operands are exact, so the result is rounded once.
  if (number.count <= 19 && number.digits <= std::uint64_t{1} << 53 &&
      number.exponent >= -kMost && number.exponent <= kMost) {
    const auto digits =
        static_cast<double>(static_cast<std::int64_t>(number.digits));
    const double value = number.exponent < 0
                             ? digits / kJsonTens[-number.exponent]
                             : digits * kJsonTens[number.exponent];
    out = number.negative ? -value : value;
    return true;
  }
  const auto parsed = std::from_chars(number.begin, number.end, out);
  if (parsed.ec == std::errc::result_out_of_range) {
    const auto size = static_cast<std::size_t>(number.end - number.begin);
    return absl::SimpleAtod({number.begin, size}, &out);  // infinite, or 0
  }
  return parsed.ec == std::errc();
}

bool json_int64(const JsonNumber& number, std::int64_t& out) {
  constexpr auto kMost = static_cast<std::uint64_t>(INT64_MAX);
  if (!number.whole || number.count > 19 ||
      number.digits > kMost + (number.negative ? 1 : 0)) {
    return false;
  }
  out = static_cast<std::int64_t>(number.negative ? 0 - number.digits
                                                  : number.digits);
  return true;
}

bool json_uint64(const JsonNumber& number, std::uint64_t& out) {
  if (!number.whole || number.negative || number.count > 20) return false;
  if (number.count < 20) {
    out = number.digits;
    return true;
  }
  return std::from_chars(number.begin, number.end, out).ec == std::errc();
}

}  // namespace penstock
