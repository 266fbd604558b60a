// JSON objects, one per line, as typed columns. Input is hostile.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/memory/element.h"
#include "penstock/memory/spec.h"

namespace penstock {

struct JsonField {
  std::string name;
  /// An integer's, float16, float32, float64, bool or string.
  DType dtype = DType::kString;
  /// A list of values, of any length, instead of one value.
  bool list = false;
  /// Where the field is absent or null, a scalar; without one it is an error.
  /// (An absent list is empty.)
  Tensor default_value = {};
  /// Key in the object, where it is not `name`; "a.b" looks into objects.
  std::string key = "";
};

class JsonParser {
 public:
  static StatusOr<std::shared_ptr<const JsonParser>> make(
      std::vector<JsonField> fields);
  const std::vector<JsonField>& fields() const { return fields_; }
  Spec spec() const;

  struct Values {
    Tensor values;                     // [n], or of all lists together
    std::vector<std::int64_t> splits;  // of lists: n + 1
  };
  /// As ExampleParser::parse().
  Status parse(std::span<const std::string_view> records,
               std::span<const std::int64_t> skip, std::vector<Values>& out,
               std::vector<std::pair<std::int64_t, Status>>& failed) const;

 private:
  struct Keys;
  JsonParser();
  std::vector<JsonField> fields_;
  std::shared_ptr<const Keys> keys_;
};

}  // namespace penstock
