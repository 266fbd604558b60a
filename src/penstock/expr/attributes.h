// The static arguments of a native operation: numbers, names, dtypes, lists.
//
// Attributes are ordered by name, so that equal sets encode to equal bytes.
// They are part of a program's fingerprint.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/base/codec.h"
#include "penstock/base/status.h"
#include "penstock/memory/dtype.h"
#include "penstock/memory/tensor.h"

namespace penstock::expr {

/// std::monostate is Python's None.
using Attribute =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, DType,
                 std::vector<std::int64_t>, std::vector<double>,
                 std::vector<std::string>, Tensor>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> l)
      : values_(l) {}

  void set(std::string name, Attribute value) {
    values_[std::move(name)] = std::move(value);
  }
  /// Null if there is none of that name.
  const Attribute* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The value, `fallback` where it is absent or None, InvalidArgument naming
  /// the attribute when it has another type. An integer serves as a double.
  StatusOr<std::int64_t> integer(std::string_view name,
                                 std::int64_t fallback) const;
  StatusOr<double> number(std::string_view name, double fallback) const;
  StatusOr<bool> boolean(std::string_view name, bool fallback) const;
  StatusOr<std::string> text(std::string_view name, std::string fallback) const;
  StatusOr<DType> dtype(std::string_view name, DType fallback) const;
  StatusOr<std::vector<std::int64_t>> integers(
      std::string_view name, std::vector<std::int64_t> fallback = {}) const;
  StatusOr<std::vector<double>> numbers(
      std::string_view name, std::vector<double> fallback = {}) const;
  StatusOr<std::vector<std::string>> texts(
      std::string_view name, std::vector<std::string> fallback = {}) const;

  const std::map<std::string, Attribute, std::less<>>& values() const {
    return values_;
  }
  void encode(Encoder& out) const;
  static Attributes decode(Decoder& in);
  std::string to_string() const;  // "channels=3, ratio=1"
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  std::map<std::string, Attribute, std::less<>> values_;
};

/// Shape, dtype and values of a constant; no objects.
void encode_tensor(const Tensor& tensor, Encoder& out);
Tensor decode_tensor(Decoder& in);

}  // namespace penstock::expr
