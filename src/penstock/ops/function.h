// A user's function on elements, as operators call it.
//
// Typed lambdas (typed_function.h at the public edge) and untyped ones become
// a Function. It works on whole blocks, so that a cheap typed lambda is one
// loop over a column. A call that fails or throws turns its element into an
// error; the others are not affected.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "penstock/graph/node.h"
#include "penstock/graph/operator.h"

namespace penstock {

class Function {
 public:
  virtual ~Function() = default;
  /// Spec of the result; InvalidArgument if it cannot take `input`.
  virtual StatusOr<Spec> output_spec(const Spec& input) const = 0;
  /// One result per element of `in`, in order, with its origins and errors; of
  /// the first elements only, when it stops because context.overdue().
  virtual Status apply(const Block& in, CallContext& context,
                       Block& out) const = 0;
  /// Identifies the function in a graph's fingerprint.
  virtual std::string identity() const = 0;
  virtual bool user_code() const { return true; }
};
using FunctionRef = std::shared_ptr<const Function>;

/// A function from an element to a nested dataset.
class DatasetFunction {
 public:
  /// Several calls in a row on one thread. It may keep what calls need, an
  /// interpreter's lock for one, so nothing else is done while it lives.
  class Calls {
   public:
    virtual ~Calls() = default;
    virtual StatusOr<NodeRef> call(const Element& element) = 0;
  };

  virtual ~DatasetFunction() = default;
  virtual StatusOr<NodeRef> call(const Element& element) const = 0;
  /// Null: `call` is as good. Ends before the function does.
  virtual std::unique_ptr<Calls> calls() const { return nullptr; }
  /// Spec of the nested datasets' elements, as far as known.
  virtual StatusOr<Spec> output_spec(const Spec& input) const = 0;
  virtual std::string identity() const = 0;
};
using DatasetFunctionRef = std::shared_ptr<const DatasetFunction>;

using ElementFunction = std::function<StatusOr<Element>(const Element&)>;

/// Calls `fn` row by row; exceptions, and results that are undefined or hold an
/// undefined tensor, become errors in place.
Status apply_rowwise(
    const Block& in, CallContext& context, Block& out,
    const std::function<StatusOr<Element>(const Element&, std::int64_t row)>&
        fn);

/// OK, or what is wrong with an element that a source of the user gave: it is
/// empty, holds an undefined tensor, or is not as `spec` says.
Status check_source_element(const Spec& spec, const Element& element);

/// What an exception that is being handled means as a status.
Status status_of_current_exception();

/// What a function that declares `declared` gives, where its type tells
/// `given`; InvalidArgument if they contradict each other.
StatusOr<Spec> declared_result(const Spec& declared, const Spec& given);
/// Puts the keys of `result` in the order of `declared`, and checks it.
Status fit_result(const Spec& declared, Element& result);

/// OK, or that the parameter of an operator is no function.
template <class Callable>
Status check_given(std::string_view op, std::string_view parameter,
                   const std::shared_ptr<Callable>& function) {
  if (function != nullptr) return absl::OkStatus();
  return invalid_argument(to_absl(op), ": ", to_absl(parameter),
                          " must be callable, got none");
}

/// An untyped function. `spec` is what it declares about its result.
FunctionRef make_element_function(ElementFunction fn, Spec spec,
                                  std::string identity);

}  // namespace penstock
