// The parameters of a native operation, constant or computed.
//
// A constant is an attribute. What a traced function computes for each element
// comes as an argument behind the first ones; the attribute "operands" names
// these, in order. Both are read here by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/expr/native_ops.h"

namespace penstock::expr {

class Params {
 public:
  explicit Params(const RowCall& call)
      : attributes_(call.attributes), args_(call.args) {}

  StatusOr<double> number(std::string_view name, double fallback) const;
  StatusOr<std::int64_t> integer(std::string_view name,
                                 std::int64_t fallback) const;
  StatusOr<std::vector<std::int64_t>> integers(
      std::string_view name, std::vector<std::int64_t> fallback = {}) const;
  StatusOr<std::vector<double>> numbers(
      std::string_view name, std::vector<double> fallback = {}) const;
  StatusOr<bool> boolean(std::string_view name, bool fallback) const;
  /// The key of the call, or what the parameter "seed" makes of it.
  StatusOr<std::uint64_t> key(std::uint64_t of_call) const;

  const Attributes& attributes() const { return attributes_; }

 private:
  /// Null where the parameter is an attribute, or absent.
  const Tensor* operand(std::string_view name) const;

  const Attributes& attributes_;
  std::span<const Tensor> args_;
};

/// Whether the function computes this parameter for each element.
bool is_operand(const Attributes& attributes, std::string_view name);
/// How many arguments are operands.
std::size_t num_operands(const Attributes& attributes);

/// The values of a tensor of numbers.
StatusOr<std::vector<double>> numbers_of(const Tensor& tensor);
/// The values of a tensor of whole numbers.
StatusOr<std::vector<std::int64_t>> integers_of(const Tensor& tensor);

}  // namespace penstock::expr
