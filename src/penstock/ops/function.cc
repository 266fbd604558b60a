#include "penstock/ops/function.h"

#include <cxxabi.h>

#include "penstock/base/error.h"
#include "penstock/base/status_exception.h"
#include "penstock/memory/placement.h"

namespace penstock {

Status status_of_current_exception() {
  try {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;  // a thread being cancelled must be allowed to unwind
  } catch (const StatusException& e) {
    return e.status();
  } catch (const Error& e) {
    if (!e.status().ok()) return e.status();
    return absl::InvalidArgumentError("the function threw an Error that is OK");
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the function ran out of memory");
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(
        absl::StrCat("the function threw: ", e.what()));
  } catch (...) {
    return absl::UnknownError(
        "the function threw something that is not a "
        "std::exception");
  }
}

namespace {

bool all_defined(const Element& element) {
  bool defined = element.defined();
  for (const Tensor& t : element.leaves()) defined = defined && t.defined();
  return defined;
}

Status check_defined(const Element& result) {
  if (all_defined(result)) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError("the function returned nothing");
}

}  // namespace

Status check_source_element(const Spec& spec, const Element& element) {
  if (!all_defined(element)) {
    return invalid_argument("the source gave an ",
                            element.defined()
                                ? "element with an undefined tensor"
                                : "empty element");
  }
  if (element.size() != element.structure()->num_leaves()) {
    return invalid_argument("the source gave ", element.size(), " tensors for ",
                            element.structure()->to_string());
  }
  return spec.check(element);
}

StatusOr<Spec> declared_result(const Spec& declared, const Spec& given) {
  if (!declared.known()) return given;
  if (!given.known()) return declared;
  bool fits = declared.structure() == given.structure();
  Spec out = declared;
  for (std::size_t i = 0; fits && i < out.leaves().size(); ++i) {
    LeafSpec& leaf = out.leaves()[i];
    const LeafSpec& own = given.leaves()[i];
    if (leaf.dtype == DType::kInvalid) leaf.dtype = own.dtype;
    fits = (own.dtype == DType::kInvalid || own.dtype == leaf.dtype) &&
           PartialShape::compatible(leaf.shape, own.shape);
  }
  if (fits) return out;
  return invalid_argument("output_signature is ", declared.to_string(),
                          ", the function gives ", given.to_string());
}

Status fit_result(const Spec& declared, Element& result) {
  if (!declared.known() || !result.defined()) return absl::OkStatus();
  result.order_like(declared.structure());
  return declared.check(result);
}

Status apply_rowwise(
    const Block& in, CallContext& context, Block& out,
    const std::function<StatusOr<Element>(const Element&, std::int64_t)>& fn) {
  BlockBuilder builder;
  builder.reserve(in.size());
  for (std::int64_t row = 0; row < in.size(); ++row) {
    if (row > 0 && context.overdue()) break;
    if (ErrorRef error = in.error_ref(row)) {
      builder.add_error(std::move(error));
      continue;
    }
    if (context.cancelled()) {
      builder.add_error(context.error(absl::CancelledError("cancelled"),
                                      in.origins().at(row)));
      continue;
    }
    try {
      PlacementScope placement(
          context.sink != nullptr ? context.sink->offer(row) : nullptr);
      auto result = fn(in.element(row), row);
      const Status status =
          result.ok() ? check_defined(*result) : result.status();
      if (status.ok()) {
        builder.add(*std::move(result));
      } else {
        builder.add_error(context.error(status, in.origins().at(row)));
      }
    } catch (...) {
      Status status = status_of_current_exception();
      builder.add_error(context.error(std::move(status), in.origins().at(row),
                                      std::current_exception()));
    }
  }
  PS_ASSIGN_OR_RETURN(out, builder.finish());
  out.set_origins(in.origins());
  return absl::OkStatus();
}

namespace {

class UntypedFunction final : public Function {
 public:
  UntypedFunction(ElementFunction fn, Spec spec, std::string identity)
      : fn_(std::move(fn)),
        spec_(std::move(spec)),
        identity_(std::move(identity)) {}

  StatusOr<Spec> output_spec(const Spec&) const override { return spec_; }
  Status apply(const Block& in, CallContext& context,
               Block& out) const override {
    return apply_rowwise(
        in, context, out,
        [&](const Element& element, std::int64_t) -> StatusOr<Element> {
          auto result = fn_(element);
          if (result.ok()) PS_RETURN_IF_ERROR(fit_result(spec_, *result));
          return result;
        });
  }
  std::string identity() const override { return identity_; }

 private:
  ElementFunction fn_;
  Spec spec_;
  std::string identity_;
};

}  // namespace

FunctionRef make_element_function(ElementFunction fn, Spec spec,
                                  std::string identity) {
  return std::make_shared<UntypedFunction>(std::move(fn), std::move(spec),
                                           std::move(identity));
}

}  // namespace penstock
