#include "penstock/expr/attributes.h"

#include "absl/strings/str_join.h"

namespace penstock::expr {
namespace {

template <class T>
StatusOr<T> get(const Attributes& attributes, std::string_view name, T fallback,
                std::string_view what) {
  const Attribute* value = attributes.find(name);
  if (value == nullptr || std::holds_alternative<std::monostate>(*value)) {
    return fallback;
  }
  if (const T* v = std::get_if<T>(value)) return *v;
  return invalid_argument(to_absl(name), " must be ", to_absl(what));
}

template <class T>
std::string join(const std::vector<T>& values) {
  return absl::StrCat("(", absl::StrJoin(values, ", "), ")");
}

}  // namespace

const Attribute* Attributes::find(std::string_view name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

StatusOr<std::int64_t> Attributes::integer(std::string_view name,
                                           std::int64_t fallback) const {
  const Attribute* value = find(name);
  if (value != nullptr) {
    if (const bool* b = std::get_if<bool>(value)) return *b ? 1 : 0;
  }
  return get<std::int64_t>(*this, name, fallback, "an integer");
}
StatusOr<double> Attributes::number(std::string_view name,
                                    double fallback) const {
  const Attribute* value = find(name);
  if (value != nullptr) {
    if (const auto* i = std::get_if<std::int64_t>(value)) {
      return static_cast<double>(*i);
    }
  }
  return get<double>(*this, name, fallback, "a number");
}
StatusOr<bool> Attributes::boolean(std::string_view name, bool fallback) const {
  return get<bool>(*this, name, fallback, "True or False");
}
StatusOr<std::string> Attributes::text(std::string_view name,
                                       std::string fallback) const {
  return get<std::string>(*this, name, std::move(fallback), "a string");
}
StatusOr<DType> Attributes::dtype(std::string_view name, DType fallback) const {
  return get<DType>(*this, name, fallback, "a dtype");
}
StatusOr<std::vector<std::int64_t>> Attributes::integers(
    std::string_view name, std::vector<std::int64_t> fallback) const {
  return get<std::vector<std::int64_t>>(*this, name, std::move(fallback),
                                        "a list of integers");
}
StatusOr<std::vector<double>> Attributes::numbers(
    std::string_view name, std::vector<double> fallback) const {
  const Attribute* value = find(name);
  if (value != nullptr) {
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(value)) {
      return std::vector<double>(list->begin(), list->end());
    }
  }
  return get<std::vector<double>>(*this, name, std::move(fallback),
                                  "a list of numbers");
}
StatusOr<std::vector<std::string>> Attributes::texts(
    std::string_view name, std::vector<std::string> fallback) const {
  return get<std::vector<std::string>>(*this, name, std::move(fallback),
                                       "a list of strings");
}

void encode_tensor(const Tensor& tensor, Encoder& out) {
  out.u64(static_cast<std::uint64_t>(tensor.dtype()));
  out.u64(tensor.rank());
  for (const std::int64_t dim : tensor.shape().dims()) out.i64(dim);
  if (tensor.dtype() == DType::kString) {
    for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
      out.bytes(tensor.str(i));
    }
  } else if (dtype_is_dense(tensor.dtype())) {
    out.bytes({reinterpret_cast<const char*>(tensor.data()),
               static_cast<std::size_t>(tensor.num_elements()) *
                   dtype_size(tensor.dtype())});
  }
}

Tensor decode_tensor(Decoder& in) {
  const std::uint64_t dtype = in.u64();
  const std::size_t rank = in.count();
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(in.i64());
  const auto count = shape.checked_num_elements();
  if (!in.ok() || !count || dtype >= static_cast<std::uint64_t>(kNumDTypes)) {
    in.fail();
    return {};
  }
  const auto type = static_cast<DType>(dtype);
  if (type == DType::kString) {
    if (static_cast<std::uint64_t>(*count) > in.remaining()) {
      in.fail();
      return {};
    }
    std::vector<std::string_view> values;
    for (std::int64_t i = 0; i < *count; ++i) values.push_back(in.bytes());
    if (!in.ok()) return {};
    if (shape.rank() == 0) return Tensor::string(values[0]);
    auto strings = Tensor::strings(values, shape);
    if (!strings.ok()) in.fail();
    return strings.ok() ? *std::move(strings) : Tensor();
  }
  if (!dtype_is_dense(type)) return {};
  const std::string_view bytes = in.bytes();
  if (!in.ok() ||
      bytes.size() / dtype_size(type) != static_cast<std::size_t>(*count)) {
    in.fail();
    return {};
  }
  if (rank == 0) {
    return Tensor::scalar_bytes(
        type, reinterpret_cast<const std::byte*>(bytes.data()));
  }
  auto tensor = Tensor::allocate(type, shape);
  if (!tensor.ok()) {
    in.fail();
    return {};
  }
  std::memcpy(tensor->mutable_data(), bytes.data(), bytes.size());
  return *std::move(tensor);
}

void Attributes::encode(Encoder& out) const {
  out.u64(values_.size());
  for (const auto& [name, value] : values_) {
    out.bytes(name);
    out.u64(value.index());
    struct Visitor {
      Encoder& out;
      void operator()(std::monostate) const {}
      void operator()(bool v) const { out.boolean(v); }
      void operator()(std::int64_t v) const { out.i64(v); }
      void operator()(double v) const { out.f64(v); }
      void operator()(const std::string& v) const { out.bytes(v); }
      void operator()(DType v) const { out.u64(static_cast<unsigned>(v)); }
      void operator()(const std::vector<std::int64_t>& v) const {
        out.u64(v.size());
        for (const std::int64_t x : v) out.i64(x);
      }
      void operator()(const std::vector<double>& v) const {
        out.u64(v.size());
        for (const double x : v) out.f64(x);
      }
      void operator()(const std::vector<std::string>& v) const {
        out.u64(v.size());
        for (const std::string& x : v) out.bytes(x);
      }
      void operator()(const Tensor& v) const { encode_tensor(v, out); }
    };
    std::visit(Visitor{out}, value);
  }
}

Attributes Attributes::decode(Decoder& in) {
  Attributes result;
  const std::size_t n = in.count(2);
  for (std::size_t i = 0; i < n && in.ok(); ++i) {
    std::string name(in.bytes());
    Attribute value;
    const auto list = [&]<class T>(std::vector<T> values, auto read) {
      const std::size_t size = in.count();
      for (std::size_t k = 0; k < size && in.ok(); ++k) {
        values.push_back(T(read()));
      }
      value = std::move(values);
    };
    switch (in.u64()) {
      case 0:
        break;
      case 1:
        value = in.boolean();
        break;
      case 2:
        value = in.i64();
        break;
      case 3:
        value = in.f64();
        break;
      case 4:
        value = std::string(in.bytes());
        break;
      case 5: {
        const std::uint64_t dtype = in.u64();
        if (dtype >= static_cast<std::uint64_t>(kNumDTypes))
          in.fail();
        else
          value = static_cast<DType>(dtype);
        break;
      }
      case 6:
        list(std::vector<std::int64_t>(), [&] { return in.i64(); });
        break;
      case 7:
        list(std::vector<double>(), [&] { return in.f64(); });
        break;
      case 8:
        list(std::vector<std::string>(), [&] { return in.bytes(); });
        break;
      case 9:
        value = decode_tensor(in);
        break;
      default:
        in.fail();
    }
    result.set(std::move(name), std::move(value));
  }
  return result;
}

std::string Attributes::to_string() const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : values_) {
    struct Visitor {
      std::string operator()(std::monostate) const { return "None"; }
      std::string operator()(bool v) const { return v ? "True" : "False"; }
      std::string operator()(std::int64_t v) const { return absl::StrCat(v); }
      std::string operator()(double v) const { return absl::StrCat(v); }
      std::string operator()(const std::string& v) const {
        return absl::StrCat("'", v, "'");
      }
      std::string operator()(DType v) const {
        return std::string(dtype_name(v));
      }
      std::string operator()(const std::vector<std::int64_t>& v) const {
        return join(v);
      }
      std::string operator()(const std::vector<double>& v) const {
        return join(v);
      }
      std::string operator()(const std::vector<std::string>& v) const {
        return join(v);
      }
      std::string operator()(const Tensor& v) const { return v.to_string(); }
    };
    parts.push_back(absl::StrCat(name, "=", std::visit(Visitor{}, value)));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace penstock::expr
