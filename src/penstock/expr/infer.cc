// Dtype and shape of each operation's result, as far as they are known.
//
// Dimensions may be unknown (-1); dtypes and ranks are known, except behind a
// native operation that cannot tell its rank.
#include <algorithm>
#include <optional>

#include "penstock/expr/program.h"

namespace penstock::expr {
namespace {

using Dims = std::vector<std::int64_t>;

PartialShape shape_of(const Dims& dims) {
  PartialShape shape{Shape(std::span<const std::int64_t>(dims))};
  return shape;
}
Dims dims_of(const PartialShape& shape) {
  Dims dims;
  for (std::size_t i = 0; i < shape.rank(); ++i) dims.push_back(shape[i]);
  return dims;
}

bool is_float(DType t) {
  return t == DType::kFloat16 || t == DType::kBFloat16 ||
         t == DType::kFloat32 || t == DType::kFloat64;
}
bool is_integer(DType t) { return t >= DType::kInt8 && t <= DType::kUInt64; }

template <class... Parts>
Status fail(const Node& node, const Parts&... parts) {
  return invalid_argument(to_absl(op_name(node.op)), ": ", parts...);
}

StatusOr<PartialShape> broadcast(const Node& node,
                                 std::span<const LeafSpec> in) {
  std::size_t rank = 0;
  for (const LeafSpec& spec : in) {
    if (!spec.shape.has_rank()) return PartialShape();
    rank = std::max(rank, spec.shape.rank());
  }
  Dims out(rank, 1);
  for (const LeafSpec& spec : in) {
    const std::size_t offset = rank - spec.shape.rank();
    for (std::size_t i = 0; i < spec.shape.rank(); ++i) {
      const std::int64_t d = spec.shape[i];
      std::int64_t& o = out[offset + i];
      if (d == 1 || d == o) continue;
      if (o == 1 || o == kUnknownDim) {
        o = d;
      } else if (d != kUnknownDim) {
        return fail(node, "shapes do not broadcast, got dimensions ", o,
                    " and ", d);
      }
    }
  }
  return shape_of(out);
}

StatusOr<std::size_t> axis_of(const Node& node, std::int64_t axis,
                              std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) {
    return fail(node, "axis ", axis, " is out of bounds for rank ", rank);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

StatusOr<LeafSpec> infer_reduce(const Node& node, const LeafSpec& in) {
  LeafSpec out{in.dtype, {}};
  if (node.op == Op::kAny || node.op == Op::kAll) out.dtype = DType::kBool;
  if (node.op == Op::kArgmax || node.op == Op::kArgmin) {
    out.dtype = DType::kInt64;
    if (node.ints.size() != 1) return fail(node, "takes one axis");
  }
  if (in.dtype == DType::kBool &&
      (node.op == Op::kSum || node.op == Op::kProd)) {
    return fail(node, "bool must be cast first");
  }
  if (!in.shape.has_rank()) return out;
  std::vector<bool> reduced(in.shape.rank());
  for (const std::int64_t a : node.ints) {
    PS_ASSIGN_OR_RETURN(const std::size_t axis,
                        axis_of(node, a, in.shape.rank()));
    if (reduced[axis]) return fail(node, "axis ", a, " is named twice");
    reduced[axis] = true;
  }
  Dims dims;
  const bool needs_values = node.op != Op::kSum && node.op != Op::kProd &&
                            node.op != Op::kAny && node.op != Op::kAll;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) {
      dims.push_back(in.shape[i]);
    } else {
      if (needs_values && in.shape[i] == 0) {
        return fail(node, "axis ", i, " has no values");
      }
      if (node.keepdims) dims.push_back(1);
    }
  }
  out.shape = shape_of(dims);
  return out;
}

StatusOr<LeafSpec> infer_reshape(const Node& node, const LeafSpec& in) {
  Dims dims = node.ints;
  std::int64_t known = 1;
  int open = -1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      if (open >= 0) return fail(node, "only one dimension can be unknown");
      open = static_cast<int>(i);
    } else if (dims[i] < 0) {
      return fail(node, "dimensions must be >= -1, got ", dims[i]);
    } else if (__builtin_mul_overflow(known, dims[i], &known)) {
      return fail(node, "the shape is too large");
    }
  }
  if (in.shape.fully_known()) {
    const std::int64_t n = in.shape.to_shape().num_elements();
    const bool fits = open < 0 ? n == known : (known != 0 && n % known == 0);
    if (!fits) {
      return fail(
          node, "cannot give ", n, " values of ", in.shape.to_string(),
          " the shape ",
          PartialShape(Shape(std::span<const std::int64_t>(dims))).to_string());
    }
    if (open >= 0) dims[static_cast<std::size_t>(open)] = n / known;
  }
  return LeafSpec{in.dtype, shape_of(dims)};
}

// The shape that is asked for, -1 for what may be anything, and what is known.
StatusOr<LeafSpec> infer_ensure_shape(const Node& node, const LeafSpec& in) {
  Dims dims = node.ints;
  bool fits = !in.shape.has_rank() || in.shape.rank() == dims.size();
  for (std::size_t i = 0; i < dims.size() && fits; ++i) {
    if (dims[i] < -1) {
      return fail(node, "dimensions must be >= -1, got ", dims[i]);
    }
    const std::int64_t known = in.shape.has_rank() ? in.shape[i] : kUnknownDim;
    if (dims[i] == -1) {
      dims[i] = known;
    } else {
      fits = known == kUnknownDim || known == dims[i];
    }
  }
  if (fits) return LeafSpec{in.dtype, shape_of(dims)};
  return fail(node, "the shape must be ", shape_of(node.ints).to_string(),
              ", got ", in.shape.to_string());
}

StatusOr<LeafSpec> infer_shape(const Node& node, std::span<const LeafSpec> in) {
  const LeafSpec& first = in[0];
  if (node.op == Op::kReshape) return infer_reshape(node, first);
  if (node.op == Op::kEnsureShape) return infer_ensure_shape(node, first);
  if (!first.shape.has_rank()) {
    return fail(node, "the rank of its input is not known");
  }
  const std::size_t rank = first.shape.rank();
  Dims dims = dims_of(first.shape);
  LeafSpec out{first.dtype, {}};
  switch (node.op) {
    case Op::kTranspose: {
      if (node.ints.size() != rank) {
        return fail(node, "axes must name each of ", rank, " dimensions");
      }
      std::vector<bool> seen(rank);
      Dims to;
      for (const std::int64_t a : node.ints) {
        PS_ASSIGN_OR_RETURN(const std::size_t axis, axis_of(node, a, rank));
        if (seen[axis]) return fail(node, "axis ", a, " is named twice");
        seen[axis] = true;
        to.push_back(dims[axis]);
      }
      out.shape = shape_of(to);
      return out;
    }
    case Op::kBroadcastTo: {
      if (node.ints.size() < rank) {
        return fail(node, "the shape has fewer dimensions than the input");
      }
      Dims to = node.ints;
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t d = dims[i];
        const std::int64_t t = to[to.size() - rank + i];
        if (d != 1 && d != kUnknownDim && d != t) {
          return fail(node, "cannot make ", t, " of dimension ", d);
        }
      }
      for (const std::int64_t t : to) {
        if (t < 0) return fail(node, "dimensions must be >= 0, got ", t);
      }
      out.shape = shape_of(to);
      return out;
    }
    case Op::kExpandDims: {
      const std::size_t total = rank + node.ints.size();
      std::vector<bool> added(total);
      for (const std::int64_t a : node.ints) {
        PS_ASSIGN_OR_RETURN(const std::size_t axis, axis_of(node, a, total));
        if (added[axis]) return fail(node, "axis ", a, " is named twice");
        added[axis] = true;
      }
      Dims to;
      std::size_t at = 0;
      for (std::size_t i = 0; i < total; ++i) {
        to.push_back(added[i] ? 1 : dims[at++]);
      }
      out.shape = shape_of(to);
      return out;
    }
    case Op::kSqueeze: {
      std::vector<bool> gone(rank);
      for (const std::int64_t a : node.ints) {
        PS_ASSIGN_OR_RETURN(const std::size_t axis, axis_of(node, a, rank));
        if (dims[axis] != 1 && dims[axis] != kUnknownDim) {
          return fail(node, "axis ", a, " has size ", dims[axis], ", not 1");
        }
        gone[axis] = true;
      }
      Dims to;
      for (std::size_t i = 0; i < rank; ++i) {
        if (!gone[i]) to.push_back(dims[i]);
      }
      out.shape = shape_of(to);
      return out;
    }
    case Op::kSlice: {
      if (node.ints.size() > 3 * rank || node.ints.size() % 3 != 0) {
        return fail(node, "more slices than dimensions");
      }
      for (std::size_t i = 0; i < node.ints.size() / 3; ++i) {
        const std::int64_t start = node.ints[3 * i];
        const std::int64_t stop = node.ints[3 * i + 1];
        const std::int64_t step = node.ints[3 * i + 2];
        if (step == 0) return fail(node, "step must not be 0");
        const bool all = start == kSliceNone && stop == kSliceNone &&
                         (step == 1 || step == -1 || step == kSliceNone);
        if (dims[i] != kUnknownDim) {
          dims[i] = normalize_slice(start, stop, step, dims[i]).count;
        } else if (!all) {
          dims[i] = kUnknownDim;
        }
      }
      out.shape = shape_of(dims);
      return out;
    }
    case Op::kConcat: {
      if (node.ints.size() != 1) return fail(node, "takes one axis");
      PS_ASSIGN_OR_RETURN(const std::size_t axis,
                          axis_of(node, node.ints[0], rank));
      for (const LeafSpec& other : in.subspan(1)) {
        if (other.dtype != first.dtype) return fail(node, "dtypes differ");
        if (!other.shape.has_rank() || other.shape.rank() != rank) {
          return fail(node, "ranks differ");
        }
        for (std::size_t i = 0; i < rank; ++i) {
          const std::int64_t d = other.shape[i];
          if (i == axis) {
            dims[i] = d == kUnknownDim || dims[i] == kUnknownDim ? kUnknownDim
                                                                 : dims[i] + d;
          } else if (dims[i] == kUnknownDim) {
            dims[i] = d;
          } else if (d != kUnknownDim && d != dims[i]) {
            return fail(node, "dimension ", i, " is ", dims[i], " and ", d);
          }
        }
      }
      out.shape = shape_of(dims);
      return out;
    }
    case Op::kGather: {
      if (node.ints.size() != 1) return fail(node, "takes one axis");
      PS_ASSIGN_OR_RETURN(const std::size_t axis,
                          axis_of(node, node.ints[0], rank));
      if (in[1].dtype != DType::kInt64) {
        return fail(node, "indices must be int64");
      }
      if (!in[1].shape.has_rank()) return fail(node, "unknown indices");
      Dims to(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis));
      for (std::size_t i = 0; i < in[1].shape.rank(); ++i) {
        to.push_back(in[1].shape[i]);
      }
      to.insert(to.end(), dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                dims.end());
      out.shape = shape_of(to);
      return out;
    }
    case Op::kShapeOf:
      return LeafSpec{DType::kInt64,
                      PartialShape{static_cast<std::int64_t>(rank)}};
    default:
      return fail(node, "not an operation on shapes");
  }
}

StatusOr<LeafSpec> infer_matmul(const Node& node,
                                std::span<const LeafSpec> in) {
  if (in[0].dtype != in[1].dtype) return fail(node, "dtypes differ");
  if (!in[0].shape.has_rank() || !in[1].shape.has_rank() ||
      in[0].shape.rank() != 2 || in[1].shape.rank() != 2) {
    return fail(node, "takes two matrices");
  }
  const std::int64_t k = in[0].shape[1];
  const std::int64_t l = in[1].shape[0];
  if (k != l && k != kUnknownDim && l != kUnknownDim) {
    return fail(node, "inner dimensions differ, got ", k, " and ", l);
  }
  return LeafSpec{in[0].dtype, PartialShape{in[0].shape[0], in[1].shape[1]}};
}

Status check_dtype(const Node& node, DType t) {
  if (!dtype_is_dense(t)) {
    return fail(node, "takes numbers, got ", to_absl(dtype_name(t)));
  }
  const bool boolean = t == DType::kBool;
  bool fits = true;
  switch (node.op) {
    case Op::kNegative:
    case Op::kSign:
    case Op::kSubtract:
    case Op::kDivide:
    case Op::kSqrt:
    case Op::kReciprocal:
    case Op::kSquare:
    case Op::kFloorDivide:
    case Op::kRemainder:
    case Op::kFmod:
      fits = !boolean;
      break;
    case Op::kInvert:
    case Op::kBitwiseAnd:
    case Op::kBitwiseOr:
    case Op::kBitwiseXor:
      fits = !is_float(t);
      break;
    case Op::kLeftShift:
    case Op::kRightShift:
      fits = is_integer(t);
      break;
    case Op::kCopysign:
    case Op::kSignbit:
      fits = is_float(t);
      break;
    default:
      break;
  }
  if (node.op == Op::kDivide || node.op == Op::kSqrt) fits = is_float(t);
  const OpClass cls = op_class(node.op);
  if (cls == OpClass::kMath || cls == OpClass::kMath2) {
    fits = is_float(t) || (node.op == Op::kPower && is_integer(t));
  }
  if (node.op == Op::kScalarPower) fits = is_float(t);
  if (t == DType::kBFloat16 && node.op != Op::kCast) fits = false;
  if (fits) return absl::OkStatus();
  return fail(node, "not defined for ", to_absl(dtype_name(t)));
}

std::size_t arity(Op op) {
  switch (op_class(op)) {
    case OpClass::kInput:
    case OpClass::kConst:
      return 0;
    case OpClass::kBinary:
    case OpClass::kMath2:
    case OpClass::kCompare:
      return 2;
    case OpClass::kChoose:
      return 3;
    case OpClass::kShape:
      return op == Op::kGather ? 2 : 1;
    default:
      return op == Op::kMatmul ? 2 : 1;
  }
}

}  // namespace

SliceRange normalize_slice(std::int64_t start, std::int64_t stop,
                           std::int64_t step, std::int64_t size) {
  if (step == kSliceNone) step = 1;
  const std::int64_t low = step < 0 ? -1 : 0;
  const std::int64_t high = step < 0 ? size - 1 : size;
  const auto bound = [&](std::int64_t v, std::int64_t none) {
    if (v == kSliceNone) return none;
    if (v < 0) {
      v += size;
      return v < low ? low : v;
    }
    return v > high ? high : v;
  };
  const std::int64_t from = bound(start, step < 0 ? high : low);
  const std::int64_t to = bound(stop, step < 0 ? low : high);
  SliceRange range{from, step, 0};
  if (step > 0 && to > from) range.count = (to - from - 1) / step + 1;
  if (step < 0 && to < from) {
    // In unsigned numbers: the step may be the least there is.
    const auto back = ~static_cast<std::uint64_t>(step) + 1;
    range.count = static_cast<std::int64_t>(
        (static_cast<std::uint64_t>(from - to) - 1) / back + 1);
  }
  return range;
}

StatusOr<std::vector<LeafSpec>> infer(const Node& node,
                                      std::span<const LeafSpec> in) {
  const OpClass cls = op_class(node.op);
  const auto one = [](LeafSpec spec) {
    return std::vector<LeafSpec>{std::move(spec)};
  };
  if (node.op == Op::kNative) {
    auto specs = node.native->infer(in, node.attributes);
    if (!specs.ok()) {
      return annotate(specs.status(), absl::StrCat(node.name, ": "));
    }
    return specs;
  }
  if (node.op == Op::kConcat) {
    if (in.empty()) return fail(node, "takes at least one input");
  } else if (node.op == Op::kRandom) {
    if (in.size() > 1) return fail(node, "takes at most one input");
  } else if (in.size() != arity(node.op)) {
    return fail(node, "takes ", arity(node.op), " inputs, got ", in.size());
  }
  switch (cls) {
    case OpClass::kInput:
      return fail(node, "inputs are made by make()");
    case OpClass::kConst:
      return one({node.constant.dtype(), PartialShape(node.constant.shape())});
    case OpClass::kUnary:
    case OpClass::kMath:
      PS_RETURN_IF_ERROR(check_dtype(node, in[0].dtype));
      return one(in[0]);
    case OpClass::kTest:
      PS_RETURN_IF_ERROR(check_dtype(node, in[0].dtype));
      return one({DType::kBool, in[0].shape});
    case OpClass::kCast:
      PS_RETURN_IF_ERROR(check_dtype(node, in[0].dtype));
      PS_RETURN_IF_ERROR(check_dtype(node, node.dtype));
      return one({node.dtype, in[0].shape});
    case OpClass::kBinary:
    case OpClass::kMath2:
    case OpClass::kCompare: {
      if (in[0].dtype != in[1].dtype) {
        return fail(node, "dtypes differ: ", to_absl(dtype_name(in[0].dtype)),
                    " and ", to_absl(dtype_name(in[1].dtype)));
      }
      PS_RETURN_IF_ERROR(check_dtype(node, in[0].dtype));
      PS_ASSIGN_OR_RETURN(PartialShape shape, broadcast(node, in));
      return one({cls == OpClass::kCompare ? DType::kBool : in[0].dtype,
                  std::move(shape)});
    }
    case OpClass::kChoose: {
      if (in[1].dtype != in[2].dtype ||
          (node.op == Op::kClip && in[0].dtype != in[1].dtype)) {
        return fail(node, "dtypes differ");
      }
      if (node.op == Op::kWhere && in[0].dtype != DType::kBool) {
        return fail(node, "the condition must be bool");
      }
      PS_RETURN_IF_ERROR(check_dtype(node, in[1].dtype));
      PS_ASSIGN_OR_RETURN(PartialShape shape, broadcast(node, in));
      return one({in[1].dtype, std::move(shape)});
    }
    case OpClass::kReduce: {
      PS_RETURN_IF_ERROR(check_dtype(node, in[0].dtype));
      PS_ASSIGN_OR_RETURN(LeafSpec spec, infer_reduce(node, in[0]));
      return one(std::move(spec));
    }
    case OpClass::kShape: {
      if (node.op != Op::kShapeOf && node.op != Op::kEnsureShape) {
        PS_RETURN_IF_ERROR(check_dtype(node, in[0].dtype));
      }
      PS_ASSIGN_OR_RETURN(LeafSpec spec, infer_shape(node, in));
      return one(std::move(spec));
    }
    case OpClass::kOther:
      break;
  }
  if (node.op == Op::kMatmul) {
    PS_RETURN_IF_ERROR(check_dtype(node, in[0].dtype));
    PS_ASSIGN_OR_RETURN(LeafSpec spec, infer_matmul(node, in));
    return one(std::move(spec));
  }
  if (node.op == Op::kRandom) {
    // ints: kind, number of the call, shape.
    if (node.ints.size() < 2 || node.ints[0] < 0 || node.ints[0] > 3) {
      return fail(node, "kind and call must be given");
    }
    const auto kind = static_cast<RandomKind>(node.ints[0]);
    const bool integers =
        kind == RandomKind::kBelow || kind == RandomKind::kPermutation;
    const bool fits =
        integers
            ? node.dtype == DType::kInt64 ||
                  (node.dtype == DType::kUInt64 && kind == RandomKind::kBelow)
            : node.dtype == DType::kFloat32 || node.dtype == DType::kFloat64;
    if (!fits) return fail(node, "not of this dtype");
    if ((kind == RandomKind::kBelow) != (in.size() == 1)) {
      return fail(node, "takes a bound");
    }
    if (kind == RandomKind::kBelow &&
        (in[0].dtype != node.dtype || !in[0].shape.has_rank() ||
         in[0].shape.rank() != 0)) {
      return fail(node, "the bound must be a scalar of the same dtype");
    }
    Dims dims(node.ints.begin() + 2, node.ints.end());
    for (const std::int64_t d : dims) {
      if (d < 0) return fail(node, "dimensions must be >= 0, got ", d);
    }
    if (!Shape(std::span<const std::int64_t>(dims)).checked_num_elements()) {
      return fail(node, "the shape is too large");
    }
    if (kind == RandomKind::kPermutation && dims.size() != 1) {
      return fail(node, "a permutation has one dimension");
    }
    return one({node.dtype, shape_of(dims)});
  }
  return fail(node, "unknown operation");
}

}  // namespace penstock::expr
