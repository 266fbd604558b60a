// Operations that move values without computing: reshape, transpose, slice,
// broadcast, concatenate, gather; and the product of matrices.
#include <cstring>

#include "penstock/expr/kernels.h"
#include "penstock/expr/loop_templates.h"
#include "penstock/expr/nest.h"

namespace penstock::expr {
namespace {

template <std::size_t kWidth>
void copy_run(const std::byte* from, std::int64_t stride, std::byte* to,
              std::int64_t n) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * kWidth);
    return;
  }
  const std::int64_t step = stride * static_cast<std::int64_t>(kWidth);
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(to + i * static_cast<std::int64_t>(kWidth), from + i * step,
                kWidth);
  }
}

/// Copies what `nest` walks over, beginning at value `begin`.
void copy_nest(const Nest<1>& nest, std::size_t width, const std::byte* from,
               std::int64_t begin, std::byte* to) {
  nest.run([&](const auto& at, const auto& s, std::int64_t n, std::int64_t o) {
    const auto w = static_cast<std::int64_t>(width);
    const std::byte* const source = from + (begin + at[0]) * w;
    std::byte* const target = to + o * w;
    switch (width) {
      case 1:
        copy_run<1>(source, s[0], target, n);
        break;
      case 2:
        copy_run<2>(source, s[0], target, n);
        break;
      case 4:
        copy_run<4>(source, s[0], target, n);
        break;
      default:
        copy_run<8>(source, s[0], target, n);
        break;
    }
  });
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(
      axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

absl::InlinedVector<std::int64_t, 4> strides_of(const Shape& shape) {
  absl::InlinedVector<std::int64_t, 4> strides(shape.rank());
  std::int64_t stride = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

Value viewed(const Value& in, const Shape& element, std::int64_t rows) {
  Value out;
  out.batched = in.batched;
  out.tensor =
      in.tensor.reshaped(in.batched ? element.prepended(rows) : element);
  return out;
}

StatusOr<Value> reshape(const Node& node, const Value& in, std::int64_t rows) {
  // Specs were right when the program was built; now the sizes are known.
  Node exact;
  exact.op = node.op;
  exact.ints = node.ints;
  const LeafSpec given{in.tensor.dtype(), PartialShape(in.element_shape())};
  PS_ASSIGN_OR_RETURN(const auto specs, infer(exact, {&given, 1}));
  return viewed(in, specs[0].shape.to_shape(), rows);
}

StatusOr<Value> concat(const Node& node, std::span<const Value* const> in,
                       std::int64_t rows) {
  bool batched = false;
  for (const Value* v : in) batched = batched || v->batched;
  Shape shape = in[0]->element_shape();
  const std::size_t axis = axis_of(node.ints[0], shape.rank());
  for (const Value* v : in.subspan(1)) {
    const Shape other = v->element_shape();
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (i == axis) {
        shape[i] += other[i];
      } else if (shape[i] != other[i]) {
        return invalid_argument("concat: dimension ", i, " is ", shape[i],
                                " and ", other[i]);
      }
    }
  }
  const DType dtype = in[0]->tensor.dtype();
  PS_ASSIGN_OR_RETURN(Value out, allocate_value(dtype, shape, batched, rows));
  const std::size_t width = dtype_size(dtype);
  std::int64_t pre = 1;
  std::int64_t post = 1;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i < axis) pre *= shape[i];
    if (i > axis) post *= shape[i];
  }
  const std::int64_t n = batched ? rows : 1;
  const std::int64_t out_run = shape[axis] * post;
  std::int64_t offset = 0;
  for (const Value* v : in) {
    const std::int64_t run = v->element_shape()[axis] * post;
    const std::int64_t row = v->batched ? pre * run : 0;
    const std::byte* const from = v->tensor.data();
    std::byte* const to = out.tensor.mutable_data();
    const auto w = static_cast<std::int64_t>(width);
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t i = 0; i < pre; ++i) {
        std::memcpy(to + ((r * pre + i) * out_run + offset) * w,
                    from + (r * row + i * run) * w,
                    static_cast<std::size_t>(run * w));
      }
    }
    offset += run;
  }
  return out;
}

StatusOr<Value> gather(const Node& node, const Value& in, const Value& indices,
                       std::int64_t rows, RowErrors& errors) {
  const Shape shape = in.element_shape();
  const Shape index_shape = indices.element_shape();
  const std::size_t axis = axis_of(node.ints[0], shape.rank());
  Shape out_shape;
  std::int64_t pre = 1;
  std::int64_t post = 1;
  for (std::size_t i = 0; i < axis; ++i) {
    out_shape.push_back(shape[i]);
    pre *= shape[i];
  }
  for (const std::int64_t d : index_shape.dims()) out_shape.push_back(d);
  for (std::size_t i = axis + 1; i < shape.rank(); ++i) {
    out_shape.push_back(shape[i]);
    post *= shape[i];
  }
  const bool batched = in.batched || indices.batched;
  const DType dtype = in.tensor.dtype();
  PS_ASSIGN_OR_RETURN(Value out,
                      allocate_value(dtype, out_shape, batched, rows));
  const std::int64_t size = shape[axis];
  const std::int64_t m = indices.element_size();
  const auto width = static_cast<std::int64_t>(dtype_size(dtype));
  const auto* const index =
      reinterpret_cast<const std::int64_t*>(indices.tensor.data());
  std::byte* to = out.tensor.mutable_data();
  const std::int64_t n = batched ? rows : 1;
  for (std::int64_t r = 0; r < n; ++r) {
    const std::byte* const from =
        in.tensor.data() + (in.batched ? r * pre * size * post * width : 0);
    const std::int64_t* const at = index + (indices.batched ? r * m : 0);
    bool failed = false;
    for (std::int64_t i = 0; i < pre; ++i) {
      for (std::int64_t k = 0; k < m; ++k) {
        std::int64_t j = at[k];
        if (j < 0) j += size;
        if (j < 0 || j >= size) {
          if (!failed) {
            failed = true;
            const Status status = make_error(
                StatusCode::kOutOfRange, "index ", at[k],
                " is out of bounds for axis ", axis, " with size ", size);
            if (batched) {
              errors.emplace_back(r, status);
            } else {
              for (std::int64_t q = 0; q < rows; ++q) {
                errors.emplace_back(q, status);
              }
            }
          }
          std::memset(to, 0, static_cast<std::size_t>(post * width));
        } else {
          std::memcpy(to, from + (i * size + j) * post * width,
                      static_cast<std::size_t>(post * width));
        }
        to += post * width;
      }
    }
  }
  return out;
}

template <class T>
void multiply(const T* a, const T* b, T* out, std::int64_t m, std::int64_t k,
              std::int64_t n) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      if constexpr (std::is_same_v<T, bool>) {
        bool any = false;
        for (std::int64_t l = 0; l < k; ++l) any |= a[i * k + l] & b[l * n + j];
        out[i * n + j] = any;
      } else if constexpr (Int<T>) {
        Bits<T> sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          sum += bits(a[i * k + l]) * bits(b[l * n + j]);
        }
        out[i * n + j] = wrap<T>(sum);
      } else {
        using W = Wide<T>;
        typename W::Type sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          sum += W::load(a[i * k + l]) * W::load(b[l * n + j]);
        }
        out[i * n + j] = W::store(sum);
      }
    }
  }
}

}  // namespace

StatusOr<Value> run_shape(const Node& node, const LeafSpec& out_spec,
                          std::span<const Value* const> in, std::int64_t rows,
                          RowErrors& errors) {
  const Value& first = *in[0];
  const Shape shape = first.element_shape();
  switch (node.op) {
    case Op::kReshape:
      return reshape(node, first, rows);
    case Op::kConcat:
      return concat(node, in, rows);
    case Op::kGather:
      return gather(node, first, *in[1], rows, errors);
    case Op::kExpandDims:
    case Op::kSqueeze: {
      const LeafSpec given{first.tensor.dtype(), PartialShape(shape)};
      PS_ASSIGN_OR_RETURN(const auto specs, infer(node, {&given, 1}));
      return viewed(first, specs[0].shape.to_shape(), rows);
    }
    case Op::kEnsureShape: {
      const LeafSpec given{first.tensor.dtype(), PartialShape(shape)};
      PS_RETURN_IF_ERROR(infer(node, {&given, 1}).status());
      return first;
    }
    case Op::kShapeOf: {
      Value out;
      PS_ASSIGN_OR_RETURN(
          out.tensor,
          Tensor::allocate(DType::kInt64,
                           Shape{static_cast<std::int64_t>(shape.rank())}));
      for (std::size_t i = 0; i < shape.rank(); ++i) {
        out.tensor.mutable_as<std::int64_t>()[i] = shape[i];
      }
      return out;
    }
    default:
      break;
  }
  // The rest are copies with strides.
  const auto strides = strides_of(shape);
  absl::InlinedVector<std::pair<std::int64_t, std::int64_t>, 4> dims;
  std::int64_t begin = 0;
  if (node.op == Op::kTranspose) {
    for (const std::int64_t a : node.ints) {
      const std::size_t axis = axis_of(a, shape.rank());
      dims.emplace_back(shape[axis], strides[axis]);
    }
  } else if (node.op == Op::kBroadcastTo) {
    const std::size_t added = node.ints.size() - shape.rank();
    for (std::size_t i = 0; i < node.ints.size(); ++i) {
      const bool repeats = i < added || shape[i - added] != node.ints[i];
      if (repeats && i >= added && shape[i - added] != 1) {
        return invalid_argument("broadcast_to: cannot make ", node.ints[i],
                                " of dimension ", shape[i - added]);
      }
      dims.emplace_back(node.ints[i], repeats ? 0 : strides[i - added]);
    }
  } else if (node.op == Op::kSlice) {
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (3 * i >= node.ints.size()) {
        dims.emplace_back(shape[i], strides[i]);
        continue;
      }
      const SliceRange range =
          normalize_slice(node.ints[3 * i], node.ints[3 * i + 1],
                          node.ints[3 * i + 2], shape[i]);
      if (range.count > 0) begin += range.begin * strides[i];
      dims.emplace_back(range.count,
                        range.count > 1 ? range.step * strides[i] : 0);
    }
  } else {
    return internal_error("not an operation on shapes");
  }
  Shape out_shape;
  Nest<1> nest;
  if (first.batched) nest.add(rows, {first.element_size()});
  for (const auto& [size, stride] : dims) {
    out_shape.push_back(size);
    nest.add(size, {stride});
  }
  PS_ASSIGN_OR_RETURN(Value out, allocate_value(out_spec.dtype, out_shape,
                                                first.batched, rows));
  if (out.tensor.num_elements() == 0) return out;
  copy_nest(nest, dtype_size(out_spec.dtype), first.tensor.data(), begin,
            out.tensor.mutable_data());
  return out;
}

StatusOr<Value> run_matmul(const Value& a, const Value& b, std::int64_t rows) {
  const Shape left = a.element_shape();
  const Shape right = b.element_shape();
  if (left[1] != right[0]) {
    return invalid_argument("matmul: inner dimensions differ, got ", left[1],
                            " and ", right[0]);
  }
  const bool batched = a.batched || b.batched;
  PS_ASSIGN_OR_RETURN(
      Value out,
      allocate_value(a.tensor.dtype(), {left[0], right[1]}, batched, rows));
  visit_dtype<bool>(a.tensor.dtype(), [&]<class T>() {
    const T* const p = reinterpret_cast<const T*>(a.tensor.data());
    const T* const q = reinterpret_cast<const T*>(b.tensor.data());
    T* const o = reinterpret_cast<T*>(out.tensor.mutable_data());
    for (std::int64_t r = 0; r < (batched ? rows : 1); ++r) {
      multiply(p + (a.batched ? r * left[0] * left[1] : 0),
               q + (b.batched ? r * right[0] * right[1] : 0),
               o + r * left[0] * right[1], left[0], left[1], right[1]);
    }
    return true;
  });
  return out;
}

}  // namespace penstock::expr
