#include "penstock/formats/csv.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "penstock/formats/compression.h"

namespace penstock {
namespace {

constexpr char kQuote = '"';
// The part of a header that an error shows.
constexpr std::size_t kHeaderShown = 200;
// A header that names are compared with is held as a whole up to this, or up to
// the size of records: a longer one is another.
constexpr std::int64_t kHeaderBytes = 64 * 1024;
// What tells gzip and zstd from text.
constexpr std::size_t kMagicBytes = 4;

// Where in a record the next byte lies; also SplitPassing::count.
enum Place : std::int64_t {
  kFieldStart,
  kPlain,        // in a field without quotes, or behind a closing one
  kQuoted,       // between quotes
  kBehindQuote,  // behind one that closes the field, or is the first of two
  kHeaderToCome  // of SplitPassing::count only
};

/// The '\n' at which the record that goes on at `at` ends, or npos. `place` is
/// that of the byte at `at`, and is brought to the end of what was looked at.
std::size_t record_end(std::string_view bytes, std::size_t at,
                       const CsvFormat& format, Place& place) {
  constexpr std::size_t kNone = std::string_view::npos;
  std::size_t newline = bytes.find('\n', at);
  if (!format.quotes) return newline;
  for (;;) {
    if (place == kQuoted) {
      const std::size_t quote = bytes.find(kQuote, at);
      if (quote == kNone) return kNone;
      at = quote + 1;
      place = kBehindQuote;
    }
    if (place == kBehindQuote) {
      if (at == bytes.size()) return kNone;
      place = bytes[at] == kQuote ? kQuoted : kPlain;
      if (place == kQuoted) {
        ++at;
        continue;
      }
    }
    if (newline != kNone && newline < at) newline = bytes.find('\n', at);
    const std::size_t end = newline == kNone ? bytes.size() : newline;
    // Most lines have no quote. Only one that begins a field opens: what is
    // wrong with another is said of its record alone.
    const std::size_t quote = bytes.substr(0, end).find(kQuote, at);
    if (quote == kNone) {
      if (at < end) {
        place = bytes[end - 1] == format.delimiter ? kFieldStart : kPlain;
      }
      return newline;
    }
    const bool opens = quote == at ? place == kFieldStart
                                   : bytes[quote - 1] == format.delimiter;
    place = opens ? kQuoted : kPlain;
    at = quote + 1;
  }
}

/// Numbers of few digits, which most are; false for all others. The value is
/// what std::from_chars gives.
template <class T>
bool parse_short(std::string_view text, T& out) {
  const char* p = text.data();
  const char* const end = p + text.size();
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  // 15 digits and the powers of ten up to there are exact as doubles.
  constexpr std::ptrdiff_t kDigits = 15;
  if (p == end || end - p > kDigits) return false;
  std::int64_t digits = 0;
  const char* point = nullptr;
  for (; p != end; ++p) {
    const auto digit = static_cast<unsigned char>(*p - '0');
    if (digit <= 9) {
      digits = digits * 10 + digit;
    } else if (std::is_floating_point_v<T> && *p == '.' && point == nullptr) {
      point = p;
    } else {
      return false;
    }
  }
  if constexpr (std::is_integral_v<T>) {
    const std::int64_t value = negative ? -digits : digits;
    if (!std::in_range<T>(value)) return false;
    out = static_cast<T>(value);
    return true;
  } else {
    constexpr double kTens[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    auto value = static_cast<double>(digits);
    if (point != nullptr) {
      if (end - text.data() == (negative ? 2 : 1)) return false;  // "." alone
      value /= kTens[end - point - 1];
    }
    if constexpr (std::is_same_v<T, float>) {
      // Half way between two floats a double does not tell on which side of it
      // the number was.
      constexpr std::uint64_t kBelow = (std::uint64_t{1} << 29) - 1;
      constexpr std::uint64_t kHalf = std::uint64_t{1} << 28;
      if ((std::bit_cast<std::uint64_t>(value) & kBelow) == kHalf) return false;
    }
    out = static_cast<T>(negative ? -value : value);
    return true;
  }
}

template <class T>
bool parse_number(std::string_view text, T& out) {
  if (parse_short(text, out)) return true;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, out);
  if (text.empty() || result.ptr != end) return false;
  if constexpr (std::is_floating_point_v<T>) {
    // As TensorFlow and Python: 1e400 is infinite, 1e-400 is 0.
    if (result.ec == std::errc::result_out_of_range) {
      if constexpr (std::is_same_v<T, float>) {
        return absl::SimpleAtof(to_absl(text), &out);
      } else {
        return absl::SimpleAtod(to_absl(text), &out);
      }
    }
  }
  return result.ec == std::errc();
}

/// The fields of a record without quotes, eight bytes at a time: they are
/// short, and a call of memchr for each costs more than they do.
void split_plain(std::string_view record, char delimiter,
                 std::vector<std::string_view>& fields) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  const std::uint64_t wanted = kOnes * static_cast<unsigned char>(delimiter);
  const char* const base = record.data();
  std::size_t begin = 0;
  std::size_t at = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; record.size() - at >= sizeof(wanted); at += sizeof(wanted)) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, base + at, sizeof(bytes));
      bytes ^= wanted;
      // The high bit of each byte that is zero, of no other.
      std::uint64_t found = ~(((bytes & kLow) + kLow) | bytes | kLow);
      for (; found != 0; found &= found - 1) {
        const std::size_t end =
            at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
        fields.emplace_back(base + begin, end - begin);
        begin = end + 1;
      }
    }
  }
  for (; at < record.size(); ++at) {
    if (base[at] != delimiter) continue;
    fields.emplace_back(base + begin, at - begin);
    begin = at + 1;
  }
  fields.emplace_back(base + begin, record.size() - begin);
}

bool parse_bool(std::string_view text, bool& out) {
  if (text == "1" || text == "true" || text == "True" || text == "TRUE") {
    out = true;
    return true;
  }
  out = false;
  return text == "0" || text == "false" || text == "False" || text == "FALSE";
}

template <class T>
bool parse_into(std::string_view text, Tensor& column, std::size_t row) {
  if constexpr (std::is_same_v<T, bool>) {
    return parse_bool(text, column.mutable_as<bool>()[row]);
  } else {
    return parse_number(text, column.mutable_as<T>()[row]);
  }
}

bool parse_value(std::string_view text, Tensor& column, std::size_t row) {
  switch (column.dtype()) {
    case DType::kInt32:
      return parse_into<std::int32_t>(text, column, row);
    case DType::kInt64:
      return parse_into<std::int64_t>(text, column, row);
    case DType::kFloat32:
      return parse_into<float>(text, column, row);
    case DType::kFloat64:
      return parse_into<double>(text, column, row);
    default:
      return parse_into<bool>(text, column, row);
  }
}

}  // namespace

bool CsvSplitter::fits(std::string_view header) const {
  std::vector<std::string_view> fields;
  std::string scratch;
  const bool split = split_fields(header, format_, fields, scratch).ok();
  const bool same = split && std::equal(fields.begin(), fields.end(),
                                        names_.begin(), names_.end());
  if (same || meaning_ == Names::kTheHeader) return same;
  std::vector<std::string_view> names(names_.begin(), names_.end());
  std::sort(names.begin(), names.end());
  std::sort(fields.begin(), fields.end());
  return !split || names != fields;
}

Status CsvSplitter::other_header(std::string_view header,
                                 std::int64_t offset) const {
  const std::string expected =
      absl::StrJoin(names_, std::string(1, format_.delimiter));
  const auto shown = [](std::string_view text) {
    return absl::StrCat("'", to_absl(text.substr(0, kHeaderShown)),
                        text.size() > kHeaderShown ? "...'" : "'");
  };
  if (meaning_ == Names::kNotReordered) {
    return invalid_argument("header at byte ", offset,
                            ": columns must have the order of the header, ",
                            shown(header), ", got ", shown(expected));
  }
  return invalid_argument("header at byte ", offset, ": must be ",
                          shown(expected), " as in the first file, got ",
                          shown(header));
}

void CsvSplitter::split(const SplitInput& in, SplitOutput& out) const {
  const std::size_t size = in.bytes.size();
  SplitPassing& passing = out.passing;
  // The end may begin with the last byte.
  const auto let_go = [&](Place place) {
    passing.count = place;
    out.consumed = size - (size > 0 && in.bytes[size - 1] == '\r' ? 1 : 0);
  };
  const auto refusal = [&](std::int64_t bytes, std::int64_t record,
                           std::int64_t offset) {
    return annotate(record_too_large(bytes, in.max_record_bytes),
                    record_place(record, offset));
  };
  std::size_t at = text_begin(in);
  bool header = header_ && in.offset == 0;
  if (passing.active && passing.count == kHeaderToCome) {
    passing = {};
    header = true;
  } else if (passing.active) {
    auto place = static_cast<Place>(passing.count);
    const std::size_t newline = record_end(in.bytes, 0, format_, place);
    if (newline == std::string_view::npos && !in.at_end) {
      let_go(place);
      return;
    }
    const std::size_t end = newline == std::string_view::npos ? size : newline;
    at = newline == std::string_view::npos ? size : end + 1;
    if (!passing.error.ok()) {
      const bool both = end > 0 && in.bytes[end - 1] == '\r';
      passing.error = refusal(in.offset + static_cast<std::int64_t>(end) -
                                  (both ? 1 : 0) - passing.begin,
                              in.record, passing.begin);
    }
    out.passed(at);
  }
  std::int64_t payload = 0;
  while (static_cast<std::int64_t>(out.rows.size()) < in.max_rows &&
         payload < in.max_payload && at < size) {
    Place place = kFieldStart;
    const std::size_t newline = record_end(in.bytes, at, format_, place);
    const std::int64_t record =
        in.record + static_cast<std::int64_t>(out.rows.size());
    const std::int64_t offset = in.offset + static_cast<std::int64_t>(at);
    const std::size_t whole =
        newline == std::string_view::npos ? size - at : newline - at;
    if (header) {
      // Else all up to the first line feed, and that is often everything,
      // would pass for the header.
      if (whole < kMagicBytes && newline == std::string_view::npos &&
          !in.at_end) {
        break;
      }
      const std::string_view magic = in.bytes.substr(at, kMagicBytes);
      if (sniff_compression(magic, false) != Compression::kNone) {
        out.fail(at,
                 invalid_argument("header at byte ", offset, ": it is no text",
                                  compression_hint(magic)));
        return;
      }
    }
    const bool held = static_cast<std::int64_t>(whole) <=
                      std::max(in.max_record_bytes, kHeaderBytes);
    const bool checked =
        header && !names_.empty() && (held || meaning_ == Names::kTheHeader);
    if (checked && !held) {
      // Never held as a whole, wherever the bytes were cut.
      out.fail(at, other_header(in.bytes.substr(at), offset));
      return;
    }
    if (newline == std::string_view::npos && !in.at_end) {
      if (checked) break;
      // More than what is allowed and an end of two bytes; as its own piece.
      if (static_cast<std::int64_t>(size - at) <= in.max_record_bytes + 1 ||
          !out.rows.empty()) {
        break;
      }
      passing.start(header ? 0 : offset,
                    header ? absl::OkStatus()
                           : refusal(in.max_record_bytes + 1, record, offset));
      let_go(place);
      return;
    }
    std::size_t end = newline == std::string_view::npos ? size : newline;
    const std::size_t next = newline == std::string_view::npos ? size : end + 1;
    if (end > at && in.bytes[end - 1] == '\r') --end;
    if (header || end == at) {
      if (checked && end > at) {
        const std::string_view own = in.bytes.substr(at, end - at);
        if (!fits(own)) {
          out.fail(at, other_header(own, offset));
          return;
        }
      }
      header = header && end == at;
      at = next;
      continue;
    }
    SplitRow row{at, end - at, next, {}};
    const auto row_size = static_cast<std::int64_t>(row.size);
    if (row_size > in.max_record_bytes) {
      row.error = refusal(row_size, record, offset);
    }
    payload += row_size + 1;
    out.rows.push_back(std::move(row));
    at = next;
  }
  if (header && !in.at_end) {
    passing.start(0, absl::OkStatus(), kHeaderToCome);
  }
  out.consumed = at;
}

Status split_fields(std::string_view record, const CsvFormat& format,
                    std::vector<std::string_view>& fields,
                    std::string& scratch) {
  fields.clear();
  scratch.clear();
  // Fields without doubled quotes are views; room for the others is taken at
  // once, and on the heap, so that views into it stay when it is moved.
  if (!format.quotes || record.find(kQuote) == std::string_view::npos) {
    split_plain(record, format.delimiter, fields);
    return absl::OkStatus();
  }
  scratch.reserve(std::max<std::size_t>(record.size(), 64));
  std::size_t at = 0;
  for (;;) {
    if (at < record.size() && record[at] == kQuote) {
      const std::size_t first = at + 1;
      const std::size_t kept = scratch.size();
      std::size_t from = first;
      bool doubled = false;
      std::size_t quote = 0;
      for (;;) {
        quote = record.find(kQuote, from);
        if (quote == std::string_view::npos) {
          return invalid_argument("field ", fields.size(),
                                  " begins with a quote that never ends");
        }
        if (quote + 1 < record.size() && record[quote + 1] == kQuote) {
          scratch.append(record, from, quote + 1 - from);
          from = quote + 2;
          doubled = true;
          continue;
        }
        break;
      }
      if (doubled) {
        scratch.append(record, from, quote - from);
        fields.emplace_back(scratch.data() + kept, scratch.size() - kept);
      } else {
        fields.push_back(record.substr(first, quote - first));
      }
      at = quote + 1;
      if (at < record.size() && record[at] != format.delimiter) {
        return invalid_argument("field ", fields.size() - 1,
                                " has bytes behind its closing quote");
      }
    } else {
      std::size_t end = record.find(format.delimiter, at);
      if (end == std::string_view::npos) end = record.size();
      const std::string_view field = record.substr(at, end - at);
      if (field.find(kQuote) != std::string_view::npos) {
        return invalid_argument("field ", fields.size(),
                                " has a quote but does not begin with one");
      }
      fields.push_back(field);
      at = end;
    }
    if (at >= record.size()) return absl::OkStatus();
    ++at;  // the delimiter
    if (at == record.size()) {
      fields.emplace_back();
      return absl::OkStatus();
    }
  }
}

StatusOr<std::shared_ptr<const CsvParser>> CsvParser::make(
    std::vector<CsvColumn> columns, std::int64_t fields, CsvFormat format) {
  if (columns.empty()) {
    return invalid_argument("columns must be given, got none");
  }
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    CsvColumn& c = columns[i];
    if (c.index < 0) c.index = static_cast<std::int64_t>(i);
    switch (c.dtype) {
      case DType::kInt32:
      case DType::kInt64:
      case DType::kFloat32:
      case DType::kFloat64:
      case DType::kBool:
      case DType::kString:
        break;
      default:
        return invalid_argument("column '", c.name,
                                "' must be int32, int64, "
                                "float32, float64, bool or string, got ",
                                to_absl(dtype_name(c.dtype)));
    }
    if (c.default_value.defined() &&
        (c.default_value.dtype() != c.dtype || c.default_value.rank() != 0)) {
      return invalid_argument("column '", c.name,
                              "' must have a default_value "
                              "that is a scalar of ",
                              to_absl(dtype_name(c.dtype)), ", got ",
                              Spec::of(c.default_value).to_string());
    }
    if (fields >= 0 && c.index >= fields) {
      return invalid_argument("column '", c.name, "' must be one of the ",
                              fields, " fields, got ", c.index);
    }
    names.push_back(c.name);
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end());
      twice != names.end()) {
    return invalid_argument("column '", to_absl(*twice), "' is given twice");
  }
  std::shared_ptr<CsvParser> parser(new CsvParser);
  parser->columns_ = std::move(columns);
  parser->fields_ = fields;
  for (const CsvColumn& c : parser->columns_) {
    parser->last_ = std::max(parser->last_, c.index);
  }
  parser->format_ = std::move(format);
  return parser;
}

Spec CsvParser::spec() const {
  std::vector<std::pair<std::string, Spec>> items;
  for (const CsvColumn& c : columns_) {
    items.emplace_back(c.name, Spec::tensor(c.dtype, PartialShape(Shape{})));
  }
  return Spec::dict(items);
}

Status CsvParser::parse(
    std::span<const std::string_view> records,
    std::span<const std::int64_t> skip, std::vector<Tensor>& out,
    std::vector<std::pair<std::int64_t, Status>>& failed) const {
  const auto n = static_cast<std::int64_t>(records.size());
  out.assign(columns_.size(), {});
  std::vector<std::vector<std::string_view>> strings(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].dtype == DType::kString) {
      strings[c].resize(records.size());
      continue;
    }
    PS_ASSIGN_OR_RETURN(out[c], Tensor::allocate(columns_[c].dtype, Shape{n}));
    std::memset(out[c].mutable_data(), 0,
                records.size() * dtype_size(columns_[c].dtype));
  }
  std::vector<std::string_view> fields;
  std::vector<std::string> scratches;  // of records with doubled quotes
  std::string scratch;
  std::size_t skipped = 0;
  scratches.reserve(records.size());
  for (std::size_t row = 0; row < records.size(); ++row) {
    if (skipped < skip.size() &&
        skip[skipped] == static_cast<std::int64_t>(row)) {
      ++skipped;
      continue;
    }
    Status status = split_fields(records[row], format_, fields, scratch);
    const auto count = static_cast<std::int64_t>(fields.size());
    if (status.ok() && fields_ >= 0 && count != fields_) {
      status = invalid_argument("must have ", fields_, " fields, got ", count);
    } else if (status.ok() && count <= last_) {
      status = invalid_argument("must have at least ", last_ + 1,
                                " fields, got ", count);
    }
    for (std::size_t c = 0; c < columns_.size() && status.ok(); ++c) {
      const CsvColumn& column = columns_[c];
      const std::string_view field =
          fields[static_cast<std::size_t>(column.index)];
      const bool absent = field.empty() || (!format_.na_value.empty() &&
                                            field == format_.na_value);
      if (absent && !column.default_value.defined()) {
        status = invalid_argument("column '", column.name,
                                  "' is missing and has no default_value");
        break;
      }
      if (column.dtype == DType::kString) {
        strings[c][row] = absent ? column.default_value.str() : field;
        continue;
      }
      if (absent) {
        const std::size_t width = dtype_size(column.dtype);
        std::memcpy(out[c].mutable_data() + row * width,
                    column.default_value.data(), width);
      } else if (!parse_value(field, out[c], row)) {
        status = invalid_argument("column '", column.name, "' must be ",
                                  to_absl(dtype_name(column.dtype)), ", got '",
                                  to_absl(field.substr(0, 40)), "'");
      }
    }
    if (!status.ok()) {
      failed.emplace_back(static_cast<std::int64_t>(row), std::move(status));
    }
    if (!scratch.empty()) {
      scratches.push_back(std::move(scratch));
      scratch = {};
    }
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].dtype != DType::kString) continue;
    PS_ASSIGN_OR_RETURN(out[c], Tensor::strings(strings[c], Shape{n}));
  }
  return absl::OkStatus();
}

DType infer_dtype(std::span<const std::string> values) {
  bool any = false;
  bool ints = true;
  bool floats = true;
  bool single = true;
  for (const std::string& v : values) {
    if (v.empty()) continue;
    any = true;
    std::int64_t i = 0;
    double d = 0;
    ints = ints && parse_number(v, i);
    floats = floats && parse_number(v, d);
    single = single && (std::abs(d) <= std::numeric_limits<float>::max() ||
                        v.find_first_of("0123456789") == std::string::npos);
  }
  if (!any) return DType::kString;
  if (ints) return DType::kInt64;
  if (!floats) return DType::kString;
  return single ? DType::kFloat32 : DType::kFloat64;
}

}  // namespace penstock
