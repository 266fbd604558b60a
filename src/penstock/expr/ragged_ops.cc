// Ragged values by name: arguments are values and row_splits.
#include "penstock/expr/image_specs.h"
#include "penstock/memory/ragged.h"

namespace penstock::expr {
namespace {

LeafSpecs dense_spec(SpecArgs args, const Attributes&) {
  if (args.size() != 3 || args[1].dtype != DType::kInt64 ||
      args[0].dtype != args[2].dtype) {
    return invalid_argument(
        "takes values, int64 row_splits and a fill of the values' dtype");
  }
  if (!args[0].shape.has_rank()) {
    return std::vector<LeafSpec>{{args[0].dtype, PartialShape()}};
  }
  Shape dims;
  const bool known = args[1].shape.has_rank() && args[1].shape.rank() == 1 &&
                     args[1].shape[0] != kUnknownDim;
  dims.push_back(known ? args[1].shape[0] - 1 : kUnknownDim);
  dims.push_back(kUnknownDim);
  for (std::size_t i = 1; i < args[0].shape.rank(); ++i) {
    dims.push_back(args[0].shape[i]);
  }
  return std::vector<LeafSpec>{{args[0].dtype, PartialShape(dims)}};
}

StatusOr<Tensor> to_dense(const RowCall& call) {
  const Tensor& values = call.args[0];
  const Tensor& fill = call.args[2];
  PS_RETURN_IF_ERROR(check_ragged(call.args.first(2)));
  const auto splits = call.args[1].as<std::int64_t>();
  const std::size_t rows = splits.size() - 1;
  std::int64_t width = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    width = std::max(width, splits[i + 1] - splits[i]);
  }
  Shape shape{static_cast<std::int64_t>(rows), width};
  std::int64_t inner = 1;
  for (std::size_t i = 1; i < values.rank(); ++i) {
    shape.push_back(values.shape()[i]);
    inner *= values.shape()[i];
  }
  if (values.dtype() == DType::kString) {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::int64_t k = 0; k < width * inner; ++k) {
        const std::int64_t at = splits[i] * inner + k;
        out.push_back(at < splits[i + 1] * inner ? values.str(at) : fill.str());
      }
    }
    return Tensor::strings(out, shape);
  }
  PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(values.dtype(), shape));
  const std::size_t size = dtype_size(values.dtype());
  const std::size_t row = static_cast<std::size_t>(inner) * size;
  std::byte* to = out.mutable_data();
  for (std::size_t i = 0; i < rows; ++i) {
    const auto count = static_cast<std::size_t>(splits[i + 1] - splits[i]);
    if (count * row > 0) {
      std::memcpy(to, values.data() + static_cast<std::size_t>(splits[i]) * row,
                  count * row);
    }
    to += count * row;
    const std::size_t left = (static_cast<std::size_t>(width) - count) *
                             static_cast<std::size_t>(inner);
    for (std::size_t k = 0; k < left; ++k, to += size) {
      std::memcpy(to, fill.data(), size);
    }
  }
  return out;
}

}  // namespace

void add_ragged_ops(std::vector<NativeOp>& out) {
  out.push_back(row_op("ragged.to_dense", dense_spec, to_dense));
}

}  // namespace penstock::expr
