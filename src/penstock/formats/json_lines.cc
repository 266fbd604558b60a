#include "penstock/formats/json_lines.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_split.h"
#include "penstock/formats/compression.h"
#include "penstock/formats/json_columns.h"
#include "penstock/formats/json_tokens.h"
#include "penstock/memory/visit_dtype.h"

namespace penstock {

/// The keys that are looked for in an object.
struct JsonKeys {
  struct Key {
    std::string text;
    std::vector<std::size_t> fields;  // whose value it has
    std::vector<std::size_t> all;     // and those inside of it
    std::unique_ptr<JsonKeys> inside;
    bool plain = false;     // it has one field, no list, and nothing inside
    std::size_t field = 0;  // of a plain one
  };
  std::vector<Key> keys;
  std::size_t number = 0;  // among all objects
};

/// Those of the object in each line.
struct JsonParser::Keys {
  JsonKeys root;
  std::size_t objects = 1;
};

namespace {

// Tokens are found for as many lines at once as have about this many bytes:
// both stay in the caches of a core.
constexpr std::ptrdiff_t kTogetherBytes = 32 * 1024;
// A thread keeps this much of what it parsed into.
constexpr std::size_t kHeldBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxDepth = 1024;
constexpr char kNoObject[] = "it does not begin with '{' and end with '}'";
// Members of objects whose keys are remembered, and the bytes of such a key.
constexpr std::size_t kGuesses = 1024;
constexpr std::size_t kGuessBytes = 256;

Status wrong(const JsonField& field) {
  std::string range;
  if (json_held_as(field.dtype) == JsonHeld::kInts &&
      field.dtype != DType::kInt64) {
    range = visit_integer<std::string>(field.dtype, []<class T>() {
      using Limits = std::numeric_limits<T>;
      return absl::StrCat(" (", Limits::min(), " to ", Limits::max(), ")");
    });
  }
  return invalid_argument("field '", field.name, "' must be ",
                          field.list ? "a list of " : "",
                          to_absl(dtype_name(field.dtype)), range);
}

Status malformed(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("not a JSON object: ", to_absl(what)));
}

void find_keys(const std::vector<JsonField>& fields, JsonKeys& root,
               std::size_t& objects) {
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const std::vector<std::string> path =
        fields[f].key.empty()
            ? std::vector<std::string>{fields[f].name}
            : std::vector<std::string>(absl::StrSplit(fields[f].key, '.'));
    JsonKeys* in = &root;
    for (std::size_t i = 0; i < path.size(); ++i) {
      auto key = std::find_if(in->keys.begin(), in->keys.end(),
                              [&](const auto& k) { return k.text == path[i]; });
      if (key == in->keys.end()) {
        key = in->keys.insert(in->keys.end(), JsonKeys::Key{});
        key->text = path[i];
      }
      key->all.push_back(f);
      key->plain = key->all.size() == 1 && !fields[f].list;
      if (i + 1 == path.size()) {
        key->fields.push_back(f);
        key->field = f;
        break;
      }
      key->plain = false;
      if (!key->inside) {
        key->inside = std::make_unique<JsonKeys>();
        key->inside->number = objects++;
      }
      in = key->inside.get();
    }
  }
}

/// The key that a member of an object had in the line before, as it was
/// written: most lines have the same keys in the same order.
class Guess {
 public:
  Guess(std::string_view written, const JsonKeys::Key* key)
      : text_(absl::StrCat("\"", to_absl(written), "\":")),
        next_(static_cast<std::uint32_t>(text_.size() - 1)),
        key_(key) {
    std::string_view left = text_;
    for (Piece& piece : first_) {
      const std::size_t n = std::min(left.size(), sizeof(piece.bytes));
      std::memcpy(&piece.bytes, left.data(), n);
      std::memset(&piece.mask, 0xff, n);
      left.remove_prefix(n);
    }
  }
  const JsonKeys::Key* key() const { return key_; }

  /// Whether it is at `p`, with a ':' at once behind it. `next` is how far from
  /// `p` the next token begins, `end` that of the text.
  bool is_at(const char* p, std::uint32_t next, const char* end) const {
    if (next != next_ || end - p < kPieces * 8) return false;
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < kPieces; ++i) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, p + i * sizeof(bytes), sizeof(bytes));
      others |= (bytes ^ first_[i].bytes) & first_[i].mask;
    }
    constexpr std::size_t kFirst = kPieces * sizeof(std::uint64_t);
    return others == 0 && (text_.size() <= kFirst ||
                           std::memcmp(p + kFirst, text_.data() + kFirst,
                                       text_.size() - kFirst) == 0);
  }

 private:
  static constexpr int kPieces = 2;
  struct Piece {
    std::uint64_t bytes = 0;
    std::uint64_t mask = 0;  // those of them that are the key's
  };
  Piece first_[kPieces];
  std::string text_;
  std::uint32_t next_;
  const JsonKeys::Key* key_;  // null: nobody looks for it
};

/// Reads lines of one object each into columns.
///
/// Every token of a line is looked at once, so that damage is found also where
/// nobody asks for the value. What is read counts only when the line has ended:
/// of two equal keys the last one counts, as in Python.
class LineReader {
 public:
  using Failed = std::vector<std::pair<std::int64_t, Status>>;

  LineReader(const std::vector<JsonField>& fields, const JsonKeys& root,
             std::size_t objects, std::vector<JsonColumn>& columns,
             JsonTokens& tokens, Failed& failed)
      : fields_(fields),
        keys_(root),
        columns_(columns),
        tokens_(tokens),
        failed_(failed),
        found_(fields.size(), 0),
        guesses_(objects) {}

  /// Adds `lines`, which lie behind each other in memory, as rows from `row`.
  void add(std::span<const std::string_view> lines, std::size_t row) {
    const char* const begin = lines.front().data();
    const std::string_view text(
        begin, static_cast<std::size_t>(lines.back().data() +
                                        lines.back().size() - begin));
    const char* wrong_with = text.empty() ? "it is empty" : tokens_.find(text);
    if (wrong_with == nullptr &&
        (begin[*tokens_.begin()] != '{' || begin[tokens_.end()[-1]] != '}')) {
      wrong_with = kNoObject;
    }
    if (wrong_with != nullptr) {
      if (lines.size() == 1) {
        fail(row, malformed(absl::StrCat(wrong_with,
                                         text_compression_hint(text, true))));
        return;
      }
      // What is wrong with one line of them is said of it alone.
      const std::size_t half = lines.size() / 2;
      add(lines.first(half), row);
      add(lines.subspan(half), row + half);
      return;
    }
    text_ = begin;
    end_ = begin + text.size();
    escapes_ = std::memchr(begin, '\\', text.size()) != nullptr;
    const Token* token = tokens_.begin();
    for (const std::string_view line : lines) {
      limit_ = static_cast<Token>(line.data() + line.size() - begin);
      line_ = line.data();
      const Token* const first = token;
      Status status = read_line(token, row);
      if (!status.ok()) {
        while (token != tokens_.end() && *token < limit_) ++token;
        if (token != first &&
            (begin[*first] != '{' || begin[token[-1]] != '}')) {
          status = malformed(kNoObject);
        }
        fail(row, std::move(status));
      }
      ++row;
    }
  }

  void add_nothing(std::size_t row) {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      columns_[f].add_nothing(row);
    }
  }

 private:
  using Token = std::uint32_t;
  // What found_ holds of a field, on top of row_mark_: less than that is
  // nothing.
  enum : std::size_t { kNothing = 0, kValue = 1, kOther = 2, kMarks = 4 };

  void fail(std::size_t row, Status status) {
    failed_.emplace_back(static_cast<std::int64_t>(row), std::move(status));
    add_nothing(row);
  }

  [[gnu::cold, gnu::noinline]] const Token* damaged(const Token* token,
                                                    const char* expected) {
    expected_ = expected;
    damage_ = token;
    return nullptr;
  }

  [[gnu::cold, gnu::noinline]] Status damage() const {
    if (damage_ == tokens_.end() || *damage_ >= limit_) {
      return malformed("it ends too early");
    }
    return malformed(absl::StrCat(expected_, " expected at byte ",
                                  text_ + *damage_ - line_));
  }

  /// Reads the line that begins at `token`, and leaves it behind.
  Status read_line(const Token*& token, std::size_t row) {
    if (token == tokens_.end() || *token >= limit_) {
      return malformed("it is empty");
    }
    row_ = row;
    row_mark_ = (row + 1) * kMarks;
    if (text_[*token] != '{') return malformed(kNoObject);
    const Token* const behind = read_object(token + 1, keys_, 1);
    if (behind == nullptr) return damage();
    if (behind[-1] >= limit_) return malformed("it ends too early");
    token = behind;
    if (token != tokens_.end() && *token < limit_) {
      return malformed("more follows its end");
    }
    for (std::size_t f = 0; f < found_.size(); ++f) {
      if (found_[f] != row_mark_ + kValue) PS_RETURN_IF_ERROR(no_value(f));
    }
    return absl::OkStatus();
  }

  [[gnu::noinline]] Status no_value(std::size_t f) {
    const JsonField& field = fields_[f];
    if (found_[f] == row_mark_ + kOther) return wrong(field);
    if (field.list) {
      columns_[f].end_list();
      return absl::OkStatus();
    }
    if (!field.default_value.defined()) {
      return invalid_argument("field '", field.name,
                              "' is missing and has no default_value");
    }
    columns_[f].add_default(field);
    return absl::OkStatus();
  }

  /// The members of an object, from behind its '{' to behind its '}'; null for
  /// damage.
  const Token* read_object(const Token* token, const JsonKeys& keys,
                           std::size_t depth) {
    const char* const text = text_;
    if (text[*token] == '}') return token + 1;
    const Guess* guess = guesses_[keys.number].data();
    const Guess* last = guess + guesses_[keys.number].size();
    for (std::size_t member = 0;; ++member) {
      const JsonKeys::Key* key = nullptr;
      if (guess != last &&
          guess->is_at(text + *token, token[1] - *token, end_)) {
        key = guess++->key();
      } else {
        if (text[*token] != '"') return damaged(token, "a key");
        if (text[token[1]] != ':') return damaged(token + 1, "':'");
        if (!look_up(keys, member, json_inside(text + *token, text + token[1]),
                     key)) {
          return damaged(token, "a key");
        }
        const std::vector<Guess>& guesses = guesses_[keys.number];
        last = guesses.data() + guesses.size();
        guess = guesses.data() + std::min(member + 1, guesses.size());
      }
      token += 2;
      if (key == nullptr) {
        if (text[*token] == '"' && !escapes_) {
          ++token;
        } else {
          token = pass(token, depth);
        }
      } else if (!key->plain) {
        token = read(token, *key, depth);
      } else {
        std::size_t& found = found_[key->field];
        if (found < row_mark_ &&
            columns_[key->field].add(text + *token, text + token[1],
                                     escapes_)) {
          found = row_mark_ + kValue;
          ++token;
        } else {
          token = read(token, *key, depth);
        }
      }
      if (token == nullptr) return nullptr;
      const char behind = text[*token];
      ++token;
      if (behind == ',') continue;
      if (behind == '}') return token;
      return damaged(token - 1, "',' or '}'");
    }
  }

  /// False if the key is damaged.
  [[gnu::noinline]] bool look_up(const JsonKeys& keys, std::size_t member,
                                 std::string_view written,
                                 const JsonKeys::Key*& key) {
    std::string_view plain = written;
    bool utf8 = true;  // what is no UTF-8 is no key that is looked for
    if (escapes_ && written.find('\\') != std::string_view::npos) {
      if (!valid_json_escapes(written)) return false;
      unescaped_.resize(written.size());
      const char* const end = unescape_json(written, unescaped_.data());
      utf8 = end != nullptr;
      if (utf8) plain = {unescaped_.data(), end};
    }
    key = nullptr;
    for (const JsonKeys::Key& k : keys.keys) {
      if (utf8 && k.text == plain) key = &k;
    }
    std::vector<Guess>& guesses = guesses_[keys.number];
    if (written.size() > kGuessBytes || member >= kGuesses) return true;
    if (member < guesses.size()) {
      guesses[member] = Guess(written, key);
    } else if (member == guesses.size()) {
      guesses.emplace_back(written, key);
    }
    return true;
  }

  /// The value of a key that is looked for; gives the token behind it.
  [[gnu::noinline]] const Token* read(const Token* token,
                                      const JsonKeys::Key& key,
                                      std::size_t depth) {
    for (const std::size_t f : key.all) {
      if (found_[f] < row_mark_) continue;
      columns_[f].cut(row_);  // the key comes again
      found_[f] = row_mark_ + kNothing;
    }
    const char first = text_[*token];
    if (key.inside && first == '{') {
      for (const std::size_t f : key.fields) found_[f] = row_mark_ + kOther;
      if (depth == kMaxDepth || *token >= limit_) {
        return damaged(token, "fewer brackets");
      }
      return read_object(token + 1, *key.inside, depth + 1);
    }
    if (first == 'n') return pass(token, depth);  // as if it were not there
    for (const std::size_t f : key.all) found_[f] = row_mark_ + kOther;
    for (const std::size_t f : key.fields) {
      const bool read =
          fields_[f].list
              ? read_list(token, f)
              : columns_[f].add(text_ + *token, text_ + token[1], escapes_);
      if (read) found_[f] = row_mark_ + kValue;
    }
    return pass(token, depth);
  }

  bool read_list(const Token* token, std::size_t f) {
    const char* const text = text_;
    JsonColumn& column = columns_[f];
    if (text[*token] != '[') return false;
    ++token;
    if (text[*token] != ']') {
      for (;; ++token) {
        if (!column.add(text + *token, text + token[1], escapes_)) return false;
        ++token;
        if (text[*token] == ']') break;
        if (text[*token] != ',') return false;
      }
    }
    column.end_list();
    return true;
  }

  /// The token behind a value that nobody looks for, at any depth; null for
  /// damage.
  [[gnu::noinline]] const Token* pass(const Token* token, std::size_t depth) {
    const char* const text = text_;
    const bool escapes = escapes_;
    const std::size_t outside = depth;
    std::uint64_t objects[kMaxDepth / 64 + 1];  // of the open brackets
    bool object = false;
    const auto pass_key = [&] {
      if (text[*token] != '"' || (escapes && !pass_string(token))) {
        damaged(token, "a key");
        return false;
      }
      if (text[token[1]] != ':') {
        damaged(token + 1, "':'");
        return false;
      }
      token += 2;
      return true;
    };
    for (;;) {
      const char* p = text + *token;
      if (depth != outside && !object && is_json_digit(*p)) {
        // Long lists are lists of numbers.
        while (is_json_number(p) && text[token[1]] == ',') {
          token += 2;
          p = text + *token;
          if (!is_json_digit(*p)) break;
        }
      }
      if (*p == '"') {
        if (escapes && !pass_string(token)) return damaged(token, "a string");
        ++token;
      } else if (*p == '{' || *p == '[') {
        if (depth == kMaxDepth || *token >= limit_) {
          return damaged(token, "fewer brackets");
        }
        std::uint64_t& bits = objects[depth / 64];
        if (depth == outside || depth % 64 == 0) bits = 0;
        const std::uint64_t bit = std::uint64_t{1} << depth % 64;
        bits = object ? bits | bit : bits & ~bit;
        ++depth;
        object = *p == '{';
        ++token;
        if (text[*token] != (object ? '}' : ']')) {
          if (object && !pass_key()) return nullptr;
          continue;
        }
      } else {
        if (!pass_word(p)) return damaged(token, "a value");
        ++token;
      }
      // Behind a value, or at the end of an empty bracket.
      for (;;) {
        if (depth == outside) return token;
        const char behind = text[*token];
        if (behind == ',') break;
        if (behind != (object ? '}' : ']')) {
          return damaged(token, object ? "',' or '}'" : "',' or ']'");
        }
        ++token;
        --depth;
        object = (objects[depth / 64] >> depth % 64 & 1) != 0;
      }
      ++token;
      if (object && !pass_key()) return nullptr;
    }
  }

  bool pass_string(const Token* token) const {
    return valid_json_escapes(json_inside(text_ + *token, text_ + token[1]));
  }

  static bool pass_word(const char* p) {
    switch (*p) {
      case 't':
        return is_json_word(p, "true");
      case 'f':
        return is_json_word(p, "false");
      case 'n':
        return is_json_word(p, "null");
      default:
        return is_json_number(p);
    }
  }

  const std::vector<JsonField>& fields_;
  const JsonKeys& keys_;
  const std::span<JsonColumn> columns_;
  JsonTokens& tokens_;
  Failed& failed_;
  std::vector<std::size_t> found_;           // of each field
  std::vector<std::vector<Guess>> guesses_;  // of each object
  std::string unescaped_;

  const char* text_ = nullptr;
  const char* end_ = nullptr;
  bool escapes_ = false;  // there is one somewhere in the text
  const char* line_ = nullptr;
  Token limit_ = 0;  // where the line ends
  std::size_t row_ = 0;
  std::size_t row_mark_ = 0;
  const char* expected_ = "";
  const Token* damage_ = nullptr;
};

/// Whether `after` is the line behind `before`, in one piece of memory.
bool adjoining(std::string_view before, std::string_view after) {
  const char* const end = before.data() + before.size();
  const auto gap = reinterpret_cast<std::uintptr_t>(after.data()) -
                   reinterpret_cast<std::uintptr_t>(end);
  return after.data() != nullptr &&
         ((gap == 1 && end[0] == '\n') ||
          (gap == 2 && end[0] == '\r' && end[1] == '\n'));
}

}  // namespace

JsonParser::JsonParser() = default;

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
    names.push_back(field.name);
  }
  if (fields.empty()) return invalid_argument("fields must be given, got none");
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end());
      twice != names.end()) {
    return invalid_argument("field '", to_absl(*twice), "' is given twice");
  }
  auto keys = std::make_shared<Keys>();
  find_keys(fields, keys->root, keys->objects);
  parser->keys_ = std::move(keys);
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
  thread_local JsonTokens tokens;
  // Growing them anew for each block costs a tenth of the parsing.
  thread_local std::vector<JsonColumn> columns;
  columns.resize(std::max(columns.size(), fields_.size()));
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    columns[f].start(fields_[f], records.size());
  }
  LineReader reader(fields_, keys_->root, keys_->objects, columns, tokens,
                    failed);
  const auto left_out = [&](std::size_t row) {
    return !skip.empty() && skip.front() == static_cast<std::int64_t>(row);
  };
  for (std::size_t row = 0; row < records.size();) {
    if (left_out(row)) {
      skip = skip.subspan(1);
      reader.add_nothing(row++);
      continue;
    }
    const char* const begin = records[row].data();
    std::size_t end = row + 1;
    while (end < records.size() && !left_out(end) &&
           adjoining(records[end - 1], records[end]) &&
           records[end].data() - begin < kTogetherBytes) {
      ++end;
    }
    reader.add(records.subspan(row, end - row), row);
    row = end;
  }
  out.clear();
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    Values values;
    PS_ASSIGN_OR_RETURN(values.values, columns[f].finish());
    if (fields_[f].list) values.splits = columns[f].splits();
    out.push_back(std::move(values));
  }
  std::size_t held = 0;
  for (const JsonColumn& c : columns) held += c.held_bytes();
  if (held > kHeldBytes) columns.clear();
  return absl::OkStatus();
}

}  // namespace penstock
