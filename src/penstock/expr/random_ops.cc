// "random.stateless": values of a seed that the function computes.
//
// They depend on the seed and on nothing else, neither the element nor the
// number of the call, so the operation does not count among those that draw.
// Attributes: kind, dtype, shape; parameters: seed, and bound for "below".
#include <cmath>
#include <numbers>

#include "penstock/base/random.h"
#include "penstock/expr/image_specs.h"
#include "penstock/expr/random_values.h"

namespace penstock::expr {
namespace {

/// No more draws for a value that must be near 0: one in 20 is far.
constexpr int kMaxDraws = 64;

StatusOr<DType> dtype_of_kind(const std::string& kind,
                              const Attributes& attributes) {
  const bool whole = kind == "below" || kind == "permutation";
  if (!whole && kind != "uniform" && kind != "normal" &&
      kind != "truncated_normal") {
    return invalid_argument("there are no random values of kind '", kind, "'");
  }
  PS_ASSIGN_OR_RETURN(
      const DType dtype,
      attributes.dtype("dtype", whole ? DType::kInt64 : DType::kFloat32));
  const bool fits = whole
                        ? dtype == DType::kInt64
                        : dtype == DType::kFloat32 || dtype == DType::kFloat64;
  if (!fits) {
    return invalid_argument(kind, " gives ", whole ? "int64" : "floats",
                            ", not ", to_absl(dtype_name(dtype)));
  }
  return dtype;
}

LeafSpecs drawn(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_count(args, attributes, 0));
  PS_ASSIGN_OR_RETURN(const auto kind, attributes.text("kind", "uniform"));
  PS_ASSIGN_OR_RETURN(const DType dtype, dtype_of_kind(kind, attributes));
  PS_ASSIGN_OR_RETURN(const auto dims, attributes.integers("shape"));
  for (const std::int64_t d : dims) {
    if (d < 0) return invalid_argument("shape must be >= 0, got ", d);
  }
  if (kind == "permutation" && dims.size() != 1) {
    return invalid_argument("a permutation has one dimension, got ",
                            dims.size());
  }
  return std::vector<LeafSpec>{
      {dtype, PartialShape(Shape(std::span<const std::int64_t>(dims)))}};
}

template <class T>
void fill_truncated(std::uint64_t key, std::span<T> out) {
  RandomStream random(key, 1);
  for (T& value : out) {
    double drawn = 3;
    for (int i = 0; i < kMaxDraws && std::abs(drawn) > 2; ++i) {
      const double u = 1.0 - random.uniform();  // (0, 1]
      drawn = std::sqrt(-2.0 * std::log(u)) *
              std::cos(2.0 * std::numbers::pi * random.uniform());
    }
    value = static_cast<T>(std::abs(drawn) > 2 ? 0 : drawn);
  }
}

StatusOr<Tensor> stateless(const RowCall& call) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto kind, call.attributes.text("kind", "uniform"));
  PS_ASSIGN_OR_RETURN(const DType dtype, dtype_of_kind(kind, call.attributes));
  PS_ASSIGN_OR_RETURN(const auto dims, call.attributes.integers("shape"));
  PS_ASSIGN_OR_RETURN(const auto seed, params.integers("seed"));
  if (seed.size() != 2) {
    return invalid_argument("seed must have shape [2], got ", seed.size(),
                            " numbers");
  }
  PS_ASSIGN_OR_RETURN(const auto key, params.key(0));
  PS_ASSIGN_OR_RETURN(const auto bound, params.integer("bound", 1));
  if (bound <= 0) {
    return invalid_argument("maxval must be above minval, by at most 2^63 - 1");
  }
  PS_ASSIGN_OR_RETURN(
      Tensor out,
      Tensor::allocate(dtype, Shape(std::span<const std::int64_t>(dims))));
  if (kind == "truncated_normal") {
    if (dtype == DType::kFloat32)
      fill_truncated(key, out.mutable_as<float>());
    else
      fill_truncated(key, out.mutable_as<double>());
    return out;
  }
  const auto number = kind == "uniform"  ? RandomKind::kUniform
                      : kind == "normal" ? RandomKind::kNormal
                      : kind == "below"  ? RandomKind::kBelow
                                         : RandomKind::kPermutation;
  fill_random(number, dtype, key, 0, bound, out.num_elements(),
              out.mutable_data());
  return out;
}

}  // namespace

void add_random_ops(std::vector<NativeOp>& out) {
  out.push_back(row_op("random.stateless", drawn, stateless));
}

}  // namespace penstock::expr
