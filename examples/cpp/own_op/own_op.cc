// Operations of one's own for Python functions that run natively:
//
//   own = ps.load_op_library("build/libown_op.so")
//   ds = ps.Dataset.range(8).map(lambda x: own.clamp(x * 3, low=4, high=12))
//
// Built with CMakeLists.txt beside it; only headers of Penstock are needed.
#include <penstock/expr/op_library.h>

#include <algorithm>
#include <string>

namespace op = penstock::op;

namespace {

// x between two constants, for int64 of any shape.
void clamp(op::Call& call) {
  const op::Tensor x = call.arg(0);
  const std::int64_t low = call.integer("low", 0);
  const std::int64_t high = call.integer("high", 100);
  if (low > high) {
    throw op::Failure("low must be <= high, got " + std::to_string(low) +
                      " and " + std::to_string(high));
  }
  std::int64_t* out = call.result_like<std::int64_t>(0, x);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    out[i] = std::clamp(x.data<std::int64_t>()[i], low, high);
  }
}
PENSTOCK_OP("own.clamp", op::same_as_first, clamp);

// How often each byte occurs in a string.
std::vector<op::Spec> histogram_spec(const std::vector<op::Spec>& args,
                                     const op::Parameters&) {
  if (args.size() != 1 || args[0].dtype != op::DType::kString) {
    throw op::Failure("text must be a string");
  }
  return {op::Spec(op::DType::kInt32, {256})};
}

void histogram(op::Call& call) {
  std::int32_t* out = call.result<std::int32_t>(0, {256});
  std::fill_n(out, 256, 0);
  for (const char c : call.arg(0).str()) ++out[static_cast<unsigned char>(c)];
}
PENSTOCK_OP("own.histogram", histogram_spec, histogram);

// One of the values, another for each element.
std::vector<op::Spec> pick_spec(const std::vector<op::Spec>& args,
                                const op::Parameters&) {
  if (args.size() != 1 || args[0].dims.size() != 1) {
    throw op::Failure("values must have one dimension");
  }
  return {op::Spec(op::DType::kInt64, {})};
}

void pick(op::Call& call) {
  const op::Tensor values = call.arg(0);
  if (values.size() == 0) throw op::Failure("there is nothing to pick");
  const auto at = call.random_key() % static_cast<std::uint64_t>(values.size());
  *call.result<std::int64_t>(0, {}) = values.data<std::int64_t>()[at];
}
PENSTOCK_OP("own.pick", pick_spec, pick, op::kRandom);

}  // namespace
