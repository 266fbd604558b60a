#include "penstock/formats/json_lines.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_split.h"
#include "penstock/memory/visit_dtype.h"

namespace penstock {
namespace {

using simdjson::ondemand::json_type;
using simdjson::ondemand::object;
using simdjson::ondemand::value;

// A stream is at least this long: lines come in blocks of 256 KiB at most.
constexpr std::size_t kStreamBytes = 256 * 1024;
// A thread keeps this much of what it parsed into.
constexpr std::size_t kHeldBytes = std::size_t{4} << 20;

/// What a column holds while it grows; finish() makes the dtype of it.
enum class Held { kInts, kFloats, kDoubles, kBools, kStrings };

Held held_as(DType t) {
  switch (t) {
    case DType::kFloat16:
    case DType::kFloat32:
      return Held::kFloats;
    case DType::kFloat64:
      return Held::kDoubles;
    case DType::kBool:
      return Held::kBools;
    case DType::kString:
      return Held::kStrings;
    default:
      return Held::kInts;
  }
}

struct JsonColumn {
  std::vector<std::int64_t> ints;  // uint64: the same bits
  std::vector<double> doubles;
  std::vector<float> floats;
  std::string text;  // strings, one after the other
  std::vector<std::int64_t> ends;
  std::vector<std::uint8_t> bools;
  std::vector<std::int64_t> splits{0};

  std::int64_t size(DType t) const {
    switch (held_as(t)) {
      case Held::kInts:
        return static_cast<std::int64_t>(ints.size());
      case Held::kFloats:
        return static_cast<std::int64_t>(floats.size());
      case Held::kDoubles:
        return static_cast<std::int64_t>(doubles.size());
      case Held::kBools:
        return static_cast<std::int64_t>(bools.size());
      default:
        return static_cast<std::int64_t>(ends.size());
    }
  }
  void resize(DType t, std::int64_t to) {
    const auto n = static_cast<std::size_t>(to);
    const Held held = held_as(t);
    if (held == Held::kInts) ints.resize(n);
    if (held == Held::kFloats) floats.resize(n);
    if (held == Held::kDoubles) doubles.resize(n);
    if (held == Held::kBools) bools.resize(n);
    if (held == Held::kStrings) {
      if (n < ends.size())
        text.resize(n == 0 ? 0 : static_cast<std::size_t>(ends[n - 1]));
      ends.resize(n, static_cast<std::int64_t>(text.size()));
    }
  }
  void add_string(std::string_view s) {
    text.append(s);
    ends.push_back(static_cast<std::int64_t>(text.size()));
  }
  /// Empty, with room for `rows` values; what it holds stays for reuse.
  void start(const JsonField& field, std::size_t rows) {
    ints.clear();
    doubles.clear();
    floats.clear();
    bools.clear();
    text.clear();
    ends.clear();
    splits.assign(1, 0);
    const Held held = held_as(field.dtype);
    if (held == Held::kInts) ints.reserve(rows);
    if (held == Held::kFloats) floats.reserve(rows);
    if (held == Held::kDoubles) doubles.reserve(rows);
    if (held == Held::kBools) bools.reserve(rows);
    if (held == Held::kStrings) ends.reserve(rows);
    if (field.list) splits.reserve(rows + 1);
  }
  std::size_t held_bytes() const {
    return 8 * (ints.capacity() + doubles.capacity() + ends.capacity() +
                splits.capacity()) +
           4 * floats.capacity() + bools.capacity() + text.capacity();
  }
  /// Keeps the first `rows` rows.
  void cut(const JsonField& field, std::size_t rows) {
    if (field.list) splits.resize(rows + 1);
    resize(field.dtype,
           field.list ? splits.back() : static_cast<std::int64_t>(rows));
  }
};

/// The string `v` as it is written, if it has no escapes: in our builds the
/// parser undoes them byte by byte, also where there are none.
bool plain_string(value& v, std::string_view& out) {
  std::string_view token = v.raw_json_token();
  while (!token.empty() && token.back() != '"') token.remove_suffix(1);
  if (token.size() < 2 || token.front() != '"') return false;
  out = token.substr(1, token.size() - 2);
  if (std::memchr(out.data(), '\\', out.size()) != nullptr) return false;
  return v.get_raw_json_string().error() == simdjson::SUCCESS;
}

bool append_int(value& v, DType dtype, JsonColumn& to) {
  if (dtype == DType::kUInt64) {
    std::uint64_t u = 0;
    if (v.get_uint64().get(u) != simdjson::SUCCESS) return false;
    to.ints.push_back(static_cast<std::int64_t>(u));
    return true;
  }
  std::int64_t i = 0;
  if (v.get_int64().get(i) != simdjson::SUCCESS) return false;
  if (dtype != DType::kInt64 && !visit_integer<bool>(dtype, [i]<class T>() {
        return std::in_range<T>(i);
      })) {
    return false;
  }
  to.ints.push_back(i);
  return true;
}

bool append(value& v, DType dtype, JsonColumn& to) {
  switch (held_as(dtype)) {
    case Held::kInts:
      return append_int(v, dtype, to);
    case Held::kFloats:
    case Held::kDoubles: {
      double d = 0;
      if (v.get_double().get(d) != simdjson::SUCCESS) return false;
      if (dtype == DType::kFloat64) {
        to.doubles.push_back(d);
        return true;
      }
      const auto f = static_cast<float>(d);
      if (dtype == DType::kFloat16 && std::isinf(to_float(to_float16(f)))) {
        return false;
      }
      to.floats.push_back(f);
      return true;
    }
    case Held::kBools: {
      bool b = false;
      if (v.get_bool().get(b) != simdjson::SUCCESS) return false;
      to.bools.push_back(b ? 1 : 0);
      return true;
    }
    default: {
      std::string_view s;
      if (!plain_string(v, s) && v.get_string().get(s) != simdjson::SUCCESS) {
        return false;
      }
      to.add_string(s);
      return true;
    }
  }
}

void append_default(const JsonField& field, JsonColumn& to) {
  const Tensor& d = field.default_value;
  switch (held_as(field.dtype)) {
    case Held::kInts:
      to.ints.push_back(visit_integer<std::int64_t>(
          field.dtype,
          [&]<class T>() { return static_cast<std::int64_t>(d.value<T>()); }));
      break;
    case Held::kFloats:
      to.floats.push_back(field.dtype == DType::kFloat16
                              ? to_float(d.value<Float16>())
                              : d.value<float>());
      break;
    case Held::kDoubles:
      to.doubles.push_back(d.value<double>());
      break;
    case Held::kBools:
      to.bools.push_back(d.value<bool>() ? 1 : 0);
      break;
    default:
      to.add_string(d.str());
  }
}

Status wrong(const JsonField& field) {
  std::string range;
  if (held_as(field.dtype) == Held::kInts && field.dtype != DType::kInt64) {
    range = visit_integer<std::string>(field.dtype, []<class T>() {
      using Limits = std::numeric_limits<T>;
      return absl::StrCat(" (", Limits::min(), " to ", Limits::max(), ")");
    });
  }
  return invalid_argument("field '", field.name, "' must be ",
                          field.list ? "a list of " : "",
                          to_absl(dtype_name(field.dtype)), range);
}

Status malformed(simdjson::error_code code) {
  return absl::DataLossError(
      absl::StrCat("not a JSON object: ", simdjson::error_message(code)));
}

/// Whether `record` ends as an object does. What lies behind the fields that
/// are wanted is passed over by its brackets alone: this finds a comma or a cut
/// word there in constant time.
bool ends_as_object(std::string_view record) {
  const auto trim = [&] {
    const std::size_t last = record.find_last_not_of(" \t\r\n");
    record = record.substr(0, last == std::string_view::npos ? 0 : last + 1);
  };
  trim();
  if (!record.ends_with('}')) return false;
  record.remove_suffix(1);
  trim();
  if (record.empty()) return false;
  switch (record.back()) {
    case 'e':
      return record.ends_with("true") || record.ends_with("false");
    case 'l':
      return record.ends_with("null");
    case '{':
    case '}':
    case ']':
    case '"':
      return true;
    default:
      return record.back() >= '0' && record.back() <= '9';
  }
}

/// One record, and what reads it.
struct JsonRecord {
  object& root;
  const simdjson::ondemand::parser& parser;
  std::string_view text;
};

/// The value of `key` in `in`, where the key may be written with escapes: the
/// parser compares keys as they are written.
[[gnu::noinline]] simdjson::simdjson_result<value> find_escaped(
    object& in, const std::string& key, const JsonRecord& record) {
  if (record.text.find('\\') == std::string_view::npos) {
    return simdjson::NO_SUCH_FIELD;
  }
  // The parser's own memory for strings holds each string once only.
  std::string buffer;
  if (const auto error = in.reset().error(); error != simdjson::SUCCESS) {
    return error;
  }
  for (auto item : in) {
    simdjson::ondemand::field field;
    if (const auto error = std::move(item).get(field);
        error != simdjson::SUCCESS) {
      return error;
    }
    // A ':' was found behind it, so it has an end.
    const char* const begin = field.key().raw();
    const char* end = begin;
    bool escapes = false;
    for (; *end != '"'; ++end) {
      if (*end != '\\') continue;
      escapes = true;
      ++end;
    }
    if (!escapes) continue;
    // It is written in whole registers.
    buffer.resize(static_cast<std::size_t>(end - begin) +
                  simdjson::SIMDJSON_PADDING);
    auto* to = reinterpret_cast<std::uint8_t*>(buffer.data());
    std::string_view plain;
    if (const auto error = record.parser.unescape(field.key(), to).get(plain);
        error != simdjson::SUCCESS) {
      return error;
    }
    if (plain == key) return value(field.value());
  }
  if (const auto error = in.reset().error(); error != simdjson::SUCCESS) {
    return error;
  }
  return simdjson::NO_SUCH_FIELD;
}

/// Adds the value of `field` at `path`.
Status add_field(const JsonRecord& record, const JsonField& field,
                 const std::vector<std::string>& path, JsonColumn& to) {
  auto found = record.root.find_field_unordered(path[0]);
  if (found.error() == simdjson::NO_SUCH_FIELD) {
    found = find_escaped(record.root, path[0], record);
  }
  for (std::size_t i = 1; i < path.size() && !found.error(); ++i) {
    object inner;
    auto code = found.get_object().get(inner);
    if (code == simdjson::INCORRECT_TYPE) {
      bool null = false;
      const auto told = found.is_null().get(null);
      if (told == simdjson::SUCCESS && null) code = simdjson::NO_SUCH_FIELD;
    }
    if (code != simdjson::SUCCESS) {
      found = code;
      break;
    }
    found = inner.find_field_unordered(path[i]);
    if (found.error() == simdjson::NO_SUCH_FIELD) {
      found = find_escaped(inner, path[i], record);
    }
  }
  const simdjson::error_code code = found.error();
  if (code != simdjson::SUCCESS && code != simdjson::NO_SUCH_FIELD) {
    return code == simdjson::INCORRECT_TYPE ? wrong(field) : malformed(code);
  }
  // Not copied: what was just written in parts cannot be read as a whole until
  // it has left the core.
  value* v = code == simdjson::SUCCESS ? &found.value() : nullptr;
  // A value of another type is left where it is.
  if (v != nullptr && !field.list && append(*v, field.dtype, to)) {
    return absl::OkStatus();
  }
  if (v != nullptr) {
    json_type type{};
    if (const auto error = v->type().get(type); error != simdjson::SUCCESS) {
      return malformed(error);
    }
    if (type == json_type::null) v = nullptr;
  }
  if (v == nullptr) {
    if (field.list) return absl::OkStatus();
    if (!field.default_value.defined()) {
      return invalid_argument("field '", field.name,
                              "' is missing and has no default_value");
    }
    append_default(field, to);
    return absl::OkStatus();
  }
  if (!field.list) return wrong(field);
  simdjson::ondemand::array list;
  if (v->get_array().get(list) != simdjson::SUCCESS) return wrong(field);
  for (auto item : list) {
    value one;
    if (const auto error = item.get(one); error != simdjson::SUCCESS) {
      return malformed(error);
    }
    if (!append(one, field.dtype, to)) return wrong(field);
  }
  return absl::OkStatus();
}

/// Whether nothing follows `root`, of which all that is wanted was read.
Status ends_here(simdjson::ondemand::document& document, object& root,
                 std::string_view text) {
  if (const auto error = root.raw_json().error(); error != simdjson::SUCCESS) {
    return malformed(error);
  }
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return absl::DataLossError("not a JSON object: more follows its end");
  }
  return ends_as_object(text) ? absl::OkStatus()
                              : malformed(simdjson::TAPE_ERROR);
}

/// How many bytes behind each record are other records: the parser reads
/// beyond the end of what it is given.
void bytes_behind(std::span<const std::string_view> records,
                  std::vector<std::size_t>& behind) {
  behind.assign(records.size(), 0);
  for (std::size_t i = records.size(); i-- > 1;) {
    const std::string_view before = records[i - 1];
    const std::string_view after = records[i];
    const auto gap = static_cast<std::size_t>(
        reinterpret_cast<std::uintptr_t>(after.data()) -
        reinterpret_cast<std::uintptr_t>(before.data() + before.size()));
    // At most what separates lines: both are in one piece of memory.
    if (after.data() != nullptr && gap <= 2) {
      behind[i - 1] = gap + after.size() + behind[i];
    }
  }
}

/// Adds records that lie behind each other, read as one stream: the tokens of
/// all are found at once. Gives how many were added, from the first on. It
/// stops at the first that is not an object and nothing else, or has not what
/// is asked for: what is wrong with a record is said by reading it alone.
std::size_t add_together(std::span<const std::string_view> records,
                         const std::vector<JsonField>& fields,
                         const std::vector<std::vector<std::string>>& paths,
                         simdjson::ondemand::parser& parser,
                         std::vector<JsonColumn>& columns) {
  if (records.empty()) return 0;
  const char* const begin = records.front().data();
  const auto size = static_cast<std::size_t>(records.back().data() +
                                             records.back().size() - begin);
  // Another capacity would mean other memory.
  const std::size_t capacity = std::bit_ceil(std::max(size, kStreamBytes));
  parser.threaded = false;
  simdjson::ondemand::document_stream stream;
  if (parser.iterate_many(begin, size, capacity).get(stream) !=
      simdjson::SUCCESS) {
    return 0;
  }
  const auto is_at = [&](std::size_t row, std::size_t at) {
    return row < records.size() && records[row].data() == begin + at &&
           records[row].starts_with('{') && records[row].ends_with('}') &&
           ends_as_object(records[row]);
  };
  const auto add = [&](simdjson::ondemand::document_reference document,
                       std::string_view text) {
    object root;
    if (document.get_object().get(root) != simdjson::SUCCESS) return false;
    const JsonRecord record{root, parser, text};
    for (std::size_t f = 0; f < fields.size(); ++f) {
      JsonColumn& c = columns[f];
      if (!add_field(record, fields[f], paths[f], c).ok()) return false;
      if (fields[f].list) c.splits.push_back(c.size(fields[f].dtype));
    }
    return true;
  };
  std::size_t row = 0;
  std::size_t added = 0;  // those behind which the next one begins
  auto it = stream.begin();
  for (; it != stream.end(); ++it, ++row) {
    simdjson::ondemand::document_reference document;
    if ((*it).get(document) != simdjson::SUCCESS ||
        !is_at(row, it.current_index())) {
      break;
    }
    added = row;
    if (!add(document, records[row])) break;
  }
  if (row == records.size() && !(it != stream.end())) added = row;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    columns[f].cut(fields[f], added);
  }
  return added;
}

StatusOr<Tensor> finish(const JsonColumn& from, DType dtype) {
  const std::int64_t n = from.size(dtype);
  const auto rows = static_cast<std::size_t>(n);
  if (dtype == DType::kString) {
    Ref<Buffer> offsets = Buffer::allocate((rows + 1) * sizeof(std::int64_t));
    Ref<Buffer> bytes = Buffer::allocate(from.text.size());
    if (!offsets || !bytes) {
      return absl::ResourceExhaustedError("no memory for strings");
    }
    auto* to = reinterpret_cast<std::int64_t*>(offsets->data());
    to[0] = 0;
    if (rows > 0) std::memcpy(to + 1, from.ends.data(), rows * sizeof(*to));
    if (!from.text.empty()) {
      std::memcpy(bytes->data(), from.text.data(), from.text.size());
    }
    return Tensor::strings_from(std::move(offsets), std::move(bytes), Shape{n});
  }
  PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(dtype, Shape{n}));
  if (rows == 0) return out;
  switch (held_as(dtype)) {
    case Held::kInts:
      visit_integer<void>(dtype, [&]<class T>() {
        if constexpr (sizeof(T) == sizeof(std::int64_t)) {
          std::memcpy(out.mutable_data(), from.ints.data(), rows * sizeof(T));
        } else {
          std::transform(from.ints.begin(), from.ints.end(),
                         out.mutable_as<T>().begin(),
                         [](std::int64_t i) { return static_cast<T>(i); });
        }
      });
      break;
    case Held::kFloats:
      if (dtype == DType::kFloat16) {
        std::transform(from.floats.begin(), from.floats.end(),
                       out.mutable_as<Float16>().begin(), to_float16);
      } else {
        std::memcpy(out.mutable_data(), from.floats.data(),
                    rows * sizeof(float));
      }
      break;
    case Held::kDoubles:
      std::memcpy(out.mutable_data(), from.doubles.data(),
                  rows * sizeof(double));
      break;
    default:
      std::memcpy(out.mutable_data(), from.bools.data(), rows);
  }
  return out;
}

}  // namespace

StatusOr<std::shared_ptr<const JsonParser>> JsonParser::make(
    std::vector<JsonField> fields) {
  std::shared_ptr<JsonParser> parser(new JsonParser);
  std::vector<std::string_view> names;
  for (const JsonField& field : fields) {
    if (field.name.empty()) {
      return invalid_argument("a field must have a name, got ''");
    }
    if (field.dtype == DType::kInvalid || field.dtype == DType::kBFloat16 ||
        field.dtype == DType::kObject) {
      return invalid_argument("field '", field.name,
                              "' must be an integer, float16, "
                              "float32, float64, bool or string, got ",
                              to_absl(dtype_name(field.dtype)));
    }
    const Tensor& d = field.default_value;
    if (d.defined() && (d.dtype() != field.dtype || d.rank() != 0)) {
      return invalid_argument("field '", field.name,
                              "' must have a "
                              "default_value that is a scalar of ",
                              to_absl(dtype_name(field.dtype)));
    }
    parser->paths_.push_back(
        field.key.empty()
            ? std::vector<std::string>{field.name}
            : std::vector<std::string>(absl::StrSplit(field.key, '.')));
    names.push_back(field.name);
  }
  if (fields.empty()) return invalid_argument("fields must be given, got none");
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end());
      twice != names.end()) {
    return invalid_argument("field '", to_absl(*twice), "' is given twice");
  }
  parser->fields_ = std::move(fields);
  return parser;
}

Spec JsonParser::spec() const {
  std::vector<std::pair<std::string, Spec>> items;
  for (const JsonField& f : fields_) {
    items.emplace_back(f.name,
                       Spec::tensor(f.dtype, f.list ? PartialShape{kUnknownDim}
                                                    : PartialShape(Shape{})));
  }
  return Spec::dict(items);
}

Status JsonParser::parse(
    std::span<const std::string_view> records,
    std::span<const std::int64_t> skip, std::vector<Values>& out,
    std::vector<std::pair<std::int64_t, Status>>& failed) const {
  thread_local simdjson::ondemand::parser parser;
  // Growing them anew for each block costs a tenth of the parsing.
  thread_local std::vector<JsonColumn> columns;
  thread_local std::vector<std::size_t> behind;
  columns.resize(std::max(columns.size(), fields_.size()));
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    columns[f].start(fields_[f], records.size());
  }
  bytes_behind(records, behind);
  std::string padded;
  std::size_t skipped = 0;
  std::size_t row = 0;
  if (skip.empty()) {
    std::size_t together = 0;
    while (together < records.size() &&
           behind[together] >= simdjson::SIMDJSON_PADDING) {
      ++together;
    }
    row =
        add_together(records.first(together), fields_, paths_, parser, columns);
  }
  for (; row < records.size(); ++row) {
    const bool left_out = skipped < skip.size() &&
                          skip[skipped] == static_cast<std::int64_t>(row);
    if (left_out) ++skipped;
    Status status;
    if (!left_out) {
      const char* data = records[row].data();
      const std::size_t size = records[row].size();
      if (behind[row] < simdjson::SIMDJSON_PADDING) {
        padded.reserve(size + simdjson::SIMDJSON_PADDING);
        data = padded.assign(records[row]).data();
      }
      simdjson::ondemand::document document;
      object root;
      auto code = parser.iterate(data, size, size + simdjson::SIMDJSON_PADDING)
                      .get(document);
      if (code == simdjson::SUCCESS) code = document.get_object().get(root);
      if (code != simdjson::SUCCESS) status = malformed(code);
      for (std::size_t f = 0; f < fields_.size() && status.ok(); ++f) {
        status = add_field({root, parser, records[row]}, fields_[f], paths_[f],
                           columns[f]);
      }
      if (status.ok()) status = ends_here(document, root, records[row]);
      if (!status.ok()) {
        failed.emplace_back(static_cast<std::int64_t>(row), status);
      }
    }
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const JsonField& field = fields_[f];
      JsonColumn& c = columns[f];
      if (left_out || !status.ok()) {
        const auto rows = static_cast<std::int64_t>(row);
        c.resize(field.dtype, field.list ? c.splits.back() : rows);
        if (!field.list) c.resize(field.dtype, rows + 1);
      }
      if (field.list) c.splits.push_back(c.size(field.dtype));
    }
  }
  out.clear();
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    Values values;
    PS_ASSIGN_OR_RETURN(values.values, finish(columns[f], fields_[f].dtype));
    if (fields_[f].list) values.splits = columns[f].splits;
    out.push_back(std::move(values));
  }
  std::size_t held = 0;
  for (const JsonColumn& c : columns) held += c.held_bytes();
  if (held > kHeldBytes) columns.clear();
  return absl::OkStatus();
}

}  // namespace penstock
