// A function that Numba compiled, called by pointer without the GIL.
//
// The pointer takes the addresses of an element's values and their dimensions;
// for each result it asks for memory (penstock_result_memory) and writes it
// there. What it gives besides 0 is an exception: the element is then computed
// again by Python, which raises it.
#include "compiled_function.h"

#include "convert.h"
#include "text.h"

namespace penstock::python {
namespace {

constexpr std::size_t kMaxRank = 8;

struct Call {
  /// Where scalars of a whole block go, one column each, or none.
  absl::InlinedVector<std::byte*, 4> slots;
  /// Results of one row.
  std::vector<Tensor> results;
  const std::vector<LeafSpec>* specs = nullptr;
  Status status;
};

/// Memory for result `i` with `rank` dimensions. Null if there is none.
extern "C" void* penstock_result_memory(void* call, std::int64_t i,
                                        std::int64_t rank,
                                        const std::int64_t* dims) {
  auto& self = *static_cast<Call*>(call);
  const auto at = static_cast<std::size_t>(i);
  if (!self.slots.empty()) return self.slots[at];
  const Shape shape(
      std::span<const std::int64_t>(dims, static_cast<std::size_t>(rank)));
  auto tensor = Tensor::allocate((*self.specs)[at].dtype, shape);
  if (!tensor.ok()) {
    self.status = tensor.status();
    return nullptr;
  }
  self.results[at] = *std::move(tensor);
  return self.results[at].mutable_data();
}

class CompiledFunction final : public Function {
 public:
  CompiledFunction(CompiledPointer pointer, PyRef owner, Spec input,
                   Spec output, FunctionRef fallback, std::string identity)
      : pointer_(pointer),
        owner_(std::move(owner)),
        input_(std::move(input)),
        output_(std::move(output)),
        fallback_(std::move(fallback)),
        identity_(std::move(identity)) {
    for (const Spec* spec : {&input_, &output_}) {
      for (const LeafSpec& leaf : spec->leaves()) {
        scalars_ = scalars_ && leaf.shape.rank() == 0;
      }
    }
  }

  StatusOr<Spec> output_spec(const Spec&) const override { return output_; }
  std::string identity() const override { return identity_; }

  Status apply(const Block& in, CallContext& context,
               Block& out) const override {
    if (scalars_ && columns_fit(in)) return apply_columns(in, context, out);
    return apply_rowwise(
        in, context, out,
        [&](const Element& element, std::int64_t row) -> StatusOr<Element> {
          PS_RETURN_IF_ERROR(input_.check(element));
          const std::size_t n = element.size();
          absl::InlinedVector<const void*, 4> data(n);
          absl::InlinedVector<std::int64_t, 8> dims;
          for (std::size_t i = 0; i < n; ++i) {
            data[i] = element[i].data();
            for (const std::int64_t d : element[i].shape().dims()) {
              dims.push_back(d);
            }
          }
          if (dims.empty()) dims.push_back(0);
          Call call;
          call.specs = &output_.leaves();
          call.results.resize(output_.leaves().size());
          const int failed = pointer_(&call, data.data(), dims.data());
          PS_RETURN_IF_ERROR(call.status);
          if (failed != 0) return by_python(in, row, context);
          return Element(
              output_.structure(),
              Element::Leaves(call.results.begin(), call.results.end()));
        });
  }

 private:
  bool columns_fit(const Block& in) const {
    if (in.mixed() || in.structure() != input_.structure()) return false;
    for (std::size_t i = 0; i < input_.leaves().size(); ++i) {
      const Column& column = in.column(i);
      if (!column.packed() || column.tensor().rank() != 1 ||
          column.tensor().dtype() != input_.leaves()[i].dtype) {
        return false;
      }
    }
    return true;
  }

  /// Numbers to numbers: straight from column to column.
  Status apply_columns(const Block& in, CallContext& context,
                       Block& out) const {
    const std::int64_t n = in.size();
    absl::InlinedVector<const std::byte*, 4> from;
    for (const Column& column : in.columns()) {
      from.push_back(column.tensor().data());
    }
    std::vector<Tensor> made;
    Call call;
    call.specs = &output_.leaves();
    for (const LeafSpec& leaf : output_.leaves()) {
      PS_ASSIGN_OR_RETURN(Tensor column,
                          Tensor::allocate(leaf.dtype, Shape{n}));
      made.push_back(std::move(column));
      call.slots.push_back(made.back().mutable_data());
    }
    Block::Errors errors;
    const std::int64_t none = 0;
    absl::InlinedVector<const void*, 4> values(from.size());
    for (std::int64_t row = 0; row < n; ++row) {
      for (std::size_t i = 0; i < from.size(); ++i) values[i] = from[i];
      if (ErrorRef known = in.error_ref(row)) {
        errors.emplace_back(row, std::move(known));
      } else if (pointer_(&call, values.data(), &none) != 0) {
        const Block one = in.slice(row, row + 1);
        Block result;
        PS_RETURN_IF_ERROR(fallback_->apply(one, context, result));
        if (ErrorRef error = result.error_ref(0)) {
          errors.emplace_back(row, std::move(error));
        } else {
          return internal_error("a compiled function failed where Python ",
                                "did not");
        }
      }
      for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] += dtype_size(input_.leaves()[i].dtype);
      }
      for (std::size_t i = 0; i < call.slots.size(); ++i) {
        call.slots[i] += dtype_size(output_.leaves()[i].dtype);
      }
    }
    Block::Columns columns;
    for (Tensor& tensor : made) columns.emplace_back(std::move(tensor));
    out = Block(output_.structure(), std::move(columns), n, in.origins());
    out.errors() = std::move(errors);
    return absl::OkStatus();
  }

  StatusOr<Element> by_python(const Block& in, std::int64_t row,
                              CallContext& context) const {
    const Block one = in.slice(row, row + 1);
    Block result;
    PS_RETURN_IF_ERROR(fallback_->apply(one, context, result));
    if (const ElementError* error = result.error_at(0)) {
      if (error->cause) std::rethrow_exception(error->cause);
      return error->status;
    }
    return result.element(0);
  }

  const CompiledPointer pointer_;
  const PyRef owner_;  // of the machine code
  const Spec input_;
  const Spec output_;
  const FunctionRef fallback_;
  const std::string identity_;
  bool scalars_ = true;
};

}  // namespace

void bind_compiled(nb::module_& m) {
  m.def("result_memory_address", [] {
    return reinterpret_cast<std::uintptr_t>(&penstock_result_memory);
  });
  m.def(
      "compiled_function",
      [](std::uintptr_t address, nb::object owner, nb::object input,
         nb::object output, const FunctionHandle& fallback,
         std::string identity) {
        Spec in = value_or_raise(spec_from_python(input.ptr()));
        Spec out = value_or_raise(spec_from_python(output.ptr()));
        for (const LeafSpec& leaf : in.leaves()) {
          if (!leaf.shape.has_rank() || leaf.shape.rank() > kMaxRank) {
            throw Error(invalid_argument("a compiled function takes at most ",
                                         kMaxRank, " dimensions"));
          }
        }
        return FunctionHandle{std::make_shared<CompiledFunction>(
                                  reinterpret_cast<CompiledPointer>(address),
                                  ref(owner), std::move(in), std::move(out),
                                  fallback.ref, std::move(identity)),
                              nullptr, "native"};
      },
      nb::arg("address"), nb::arg("owner"), nb::arg("input"), nb::arg("output"),
      nb::arg("fallback"), nb::arg("identity"));
}

}  // namespace penstock::python
