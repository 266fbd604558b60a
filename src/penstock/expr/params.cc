#include "penstock/expr/params.h"

#include "penstock/base/random.h"

namespace penstock::expr {
namespace {

const std::vector<std::string>* operand_names(const Attributes& attributes) {
  const Attribute* names = attributes.find("operands");
  if (names == nullptr) return nullptr;
  return std::get_if<std::vector<std::string>>(names);
}

template <class To>
StatusOr<std::vector<To>> values_of(const Tensor& tensor, bool floats) {
  std::vector<To> out;
  const auto copy = [&]<class T>(T) {
    for (const T v : tensor.as<T>()) out.push_back(static_cast<To>(v));
  };
  switch (tensor.dtype()) {
    case DType::kUInt8:
      copy(std::uint8_t{});
      return out;
    case DType::kInt16:
      copy(std::int16_t{});
      return out;
    case DType::kUInt16:
      copy(std::uint16_t{});
      return out;
    case DType::kInt32:
      copy(std::int32_t{});
      return out;
    case DType::kUInt32:
      copy(std::uint32_t{});
      return out;
    case DType::kInt64:
      copy(std::int64_t{});
      return out;
    case DType::kUInt64:
      copy(std::uint64_t{});
      return out;
    case DType::kFloat32:
      if (!floats) break;
      copy(float{});
      return out;
    case DType::kFloat64:
      if (!floats) break;
      copy(double{});
      return out;
    default:
      break;
  }
  return invalid_argument(floats ? "a number" : "a whole number",
                          " is wanted, got ",
                          to_absl(dtype_name(tensor.dtype())));
}

template <class T>
StatusOr<T> only(StatusOr<std::vector<T>> values, std::string_view name) {
  if (!values.ok()) return annotate(values.status(), std::string(name) + ": ");
  if (values->size() != 1) {
    return invalid_argument(to_absl(name), " must be one value, got ",
                            values->size());
  }
  return (*values)[0];
}

}  // namespace

bool is_operand(const Attributes& attributes, std::string_view name) {
  const auto* names = operand_names(attributes);
  return names != nullptr &&
         std::find(names->begin(), names->end(), name) != names->end();
}

std::size_t num_operands(const Attributes& attributes) {
  const auto* names = operand_names(attributes);
  return names == nullptr ? 0 : names->size();
}

StatusOr<std::vector<double>> numbers_of(const Tensor& tensor) {
  return values_of<double>(tensor, true);
}
StatusOr<std::vector<std::int64_t>> integers_of(const Tensor& tensor) {
  return values_of<std::int64_t>(tensor, false);
}

const Tensor* Params::operand(std::string_view name) const {
  const auto* names = operand_names(attributes_);
  if (names == nullptr || names->size() > args_.size()) return nullptr;
  for (std::size_t i = 0; i < names->size(); ++i) {
    if ((*names)[i] == name) return &args_[args_.size() - names->size() + i];
  }
  return nullptr;
}

StatusOr<double> Params::number(std::string_view name, double fallback) const {
  const Tensor* tensor = operand(name);
  if (tensor == nullptr) return attributes_.number(name, fallback);
  return only(numbers_of(*tensor), name);
}
StatusOr<std::int64_t> Params::integer(std::string_view name,
                                       std::int64_t fallback) const {
  const Tensor* tensor = operand(name);
  if (tensor == nullptr) return attributes_.integer(name, fallback);
  return only(integers_of(*tensor), name);
}
StatusOr<std::vector<std::int64_t>> Params::integers(
    std::string_view name, std::vector<std::int64_t> fallback) const {
  const Tensor* tensor = operand(name);
  if (tensor == nullptr) {
    return attributes_.integers(name, std::move(fallback));
  }
  return integers_of(*tensor);
}
StatusOr<std::vector<double>> Params::numbers(
    std::string_view name, std::vector<double> fallback) const {
  const Tensor* tensor = operand(name);
  if (tensor == nullptr) return attributes_.numbers(name, std::move(fallback));
  return numbers_of(*tensor);
}
StatusOr<bool> Params::boolean(std::string_view name, bool fallback) const {
  return attributes_.boolean(name, fallback);
}

StatusOr<std::uint64_t> Params::key(std::uint64_t of_call) const {
  PS_ASSIGN_OR_RETURN(const auto seed, integers("seed"));
  if (seed.empty()) return of_call;
  std::uint64_t key = 0x5EED;
  for (const std::int64_t s : seed) {
    key = mix64(key, static_cast<std::uint64_t>(s));
  }
  return key;
}

}  // namespace penstock::expr
