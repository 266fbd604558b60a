#include "penstock/ops/function.h"

#include <cxxabi.h>

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
      if (result.ok()) {
        builder.add(*std::move(result));
      } else {
        builder.add_error(context.error(result.status(), in.origins().at(row)));
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
          if (!result.ok()) return result;
          if (!result->defined()) {
            return absl::InvalidArgumentError("the function returned nothing");
          }
          PS_RETURN_IF_ERROR(spec_.check(*result));
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
