// Typed lambdas as element functions.
//
// The argument and result types of a lambda give the spec: numbers, std::span
// of numbers, std::string_view and Tensor for an element's leaves in order, or
// one Element; the result may be a number, a string, a std::vector of numbers,
// a Tensor, an Element, a tuple of them, or StatusOr of any. A last argument
// of type RandomStream& gives random numbers keyed to the element. A lambda
// from numbers to numbers becomes one loop over columns. A lambda that returns
// a Dataset (or StatusOr of one) is a DatasetFunction; a Dataset as argument
// takes a leaf that is a nested dataset.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "penstock/error.h"
#include "penstock/ops/function.h"

namespace penstock::detail {

template <class T>
struct IsStatusOr : std::false_type {};
template <class T>
struct IsStatusOr<absl::StatusOr<T>> : std::true_type {};

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

template <class T>
struct IsNumberSpan : std::false_type {};
template <class T>
struct IsNumberSpan<std::span<const T>> : std::bool_constant<Number<T>> {};

template <class T>
struct IsNumberVector : std::false_type {};
template <class T>
struct IsNumberVector<std::vector<T>>
    : std::bool_constant<Number<T> && !std::is_same_v<T, bool>> {};

template <class T>
constexpr bool kIsString =
    std::is_same_v<T, std::string_view> || std::is_same_v<T, std::string>;

/// A Dataset: made from a node, and gives it back.
template <class T>
concept DatasetLike =
    std::is_constructible_v<T, NodeRef> && requires(const T& t) {
      { t.node() } -> std::convertible_to<NodeRef>;
    };

// --- arguments ----------------------------------------------------------

template <class T>
LeafSpec argument_spec() {
  if constexpr (Number<T>)
    return {dtype_of<T>(), PartialShape(Shape{})};
  else if constexpr (kIsString<T>)
    return {DType::kString, PartialShape(Shape{})};
  else if constexpr (IsNumberSpan<T>::value)
    return {dtype_of<typename T::value_type>(), PartialShape()};
  else if constexpr (DatasetLike<T>)
    return {DType::kObject, PartialShape(Shape{})};
  else
    return {};
}

inline Status check_argument(const LeafSpec& wanted, const LeafSpec& given,
                             std::size_t index) {
  const bool dtype_fits = wanted.dtype == DType::kInvalid ||
                          given.dtype == DType::kInvalid ||
                          wanted.dtype == given.dtype;
  if (dtype_fits && PartialShape::compatible(wanted.shape, given.shape)) {
    return absl::OkStatus();
  }
  return invalid_argument("argument ", index, " of the function takes ",
                          wanted.to_string(), ", the element has ",
                          given.to_string());
}

template <class T>
T get_argument(const Tensor& t) {
  if constexpr (Number<T>)
    return t.value<T>();
  else if constexpr (kIsString<T>)
    return T(t.str());
  else if constexpr (IsNumberSpan<T>::value)
    return t.as<typename T::value_type>();
  else if constexpr (DatasetLike<T>)
    return T(static_cast<const DatasetObject*>(t.object())->node);
  else {
    static_assert(std::is_same_v<T, Tensor>,
                  "an argument must be a number, std::span<const number>, "
                  "std::string_view, Tensor, Dataset or Element");
    return t;
  }
}

// --- results ------------------------------------------------------------

template <class T>
Spec result_spec() {
  if constexpr (IsStatusOr<T>::value) {
    return result_spec<typename T::value_type>();
  } else if constexpr (Number<T>) {
    return Spec::scalar<T>();
  } else if constexpr (kIsString<T>) {
    return Spec::tensor(DType::kString, PartialShape(Shape{}));
  } else if constexpr (IsNumberVector<T>::value) {
    return Spec::tensor(dtype_of<typename T::value_type>(),
                        PartialShape{kUnknownDim});
  } else if constexpr (std::is_same_v<T, Tensor>) {
    return Spec(LeafSpec{});
  } else if constexpr (IsTuple<T>::value) {
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      return Spec::tuple({result_spec<std::tuple_element_t<kI, T>>()...});
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    static_assert(std::is_same_v<T, Element>,
                  "a result must be a number, string, std::vector, Tensor, "
                  "Element, a tuple of them, or StatusOr of one");
    return Spec();
  }
}

template <class T>
Element to_element(T&& value) {
  using U = std::remove_cvref_t<T>;
  if constexpr (Number<U>)
    return Element(Tensor::scalar(value));
  else if constexpr (kIsString<U>)
    return Element(Tensor::string(value));
  else if constexpr (IsNumberVector<U>::value)
    return Element(Tensor::from(value));
  else if constexpr (std::is_same_v<U, Tensor>)
    return Element(std::forward<T>(value));
  else if constexpr (IsTuple<U>::value)
    return std::apply(
        [](auto&&... parts) {
          return Element::tuple(
              {to_element(std::forward<decltype(parts)>(parts))...});
        },
        std::forward<T>(value));
  else
    return std::forward<T>(value);
}

template <class R>
StatusOr<Element> to_result(R&& value) {
  if constexpr (IsStatusOr<std::remove_cvref_t<R>>::value) {
    if (!value.ok()) return value.status();
    return to_element(*std::forward<R>(value));
  } else {
    return to_element(std::forward<R>(value));
  }
}

// --- the function -------------------------------------------------------

template <class F, class R, class... Args>
class TypedFunction final : public Function {
 public:
  TypedFunction(F fn, Spec declared, std::string name)
      : fn_(std::move(fn)),
        declared_(std::move(declared)),
        name_(std::move(name)) {}

  StatusOr<Spec> output_spec(const Spec& input) const override {
    PS_RETURN_IF_ERROR(check_input(input));
    return declared_.known() ? declared_ : result_spec<R>();
  }

  Status apply(const Block& in, CallContext& context,
               Block& out) const override {
    if constexpr (kColumnwise) {
      if (in.errors().empty() && fits(in)) {
        return columnwise(in, context, out, std::index_sequence_for<Args...>());
      }
    }
    return apply_rowwise(
        in, context, out,
        [&](const Element& element, std::int64_t row) -> StatusOr<Element> {
          RandomStream random(
              kWantsRandom ? context.random_key(in.origins(), row) : 0);
          return call(element, random);
        });
  }
  std::string identity() const override {
    return absl::StrCat(typeid(F).name(), ":", name_);
  }

 private:
  static constexpr std::size_t kArgs = sizeof...(Args);
  static constexpr bool kWantsRandom =
      kArgs > 0 &&
      std::is_same_v<std::tuple_element_t<kArgs == 0 ? 0 : kArgs - 1,
                                          std::tuple<Args..., void*>>,
                     RandomStream&>;
  static constexpr std::size_t kLeaves = kArgs - (kWantsRandom ? 1 : 0);
  static constexpr bool kWhole =
      kLeaves == 1 &&
      std::is_same_v<std::remove_cvref_t<
                         std::tuple_element_t<0, std::tuple<Args..., void*>>>,
                     Element>;
  static constexpr bool kColumnwise = !kWantsRandom && kArgs > 0 && Number<R> &&
                                      (Number<std::remove_cvref_t<Args>> &&
                                       ...);
  template <std::size_t kI>
  using Arg =
      std::remove_cvref_t<std::tuple_element_t<kI, std::tuple<Args...>>>;

  Status check_input(const Spec& input) const {
    if (kWhole || !input.known()) return absl::OkStatus();
    if (input.leaves().size() != kLeaves) {
      return invalid_argument("the function takes ", kLeaves,
                              " arguments, the element is ", input.to_string());
    }
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      Status status;
      (..., (status = status.ok() ? check_argument(argument_spec<Arg<kI>>(),
                                                   input.leaves()[kI], kI)
                                  : status));
      return status;
    }(std::make_index_sequence < kWhole ? 0 : kLeaves > ());
  }

  StatusOr<Element> call(const Element& element, RandomStream& random) const {
    if constexpr (kWhole) {
      if constexpr (kWantsRandom)
        return to_result(fn_(element, random));
      else
        return to_result(fn_(element));
    } else {
      PS_RETURN_IF_ERROR(check_input(Spec::of(element)));
      return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
        if constexpr (kWantsRandom) {
          return to_result(fn_(get_argument<Arg<kI>>(element[kI])..., random));
        } else {
          return to_result(fn_(get_argument<Arg<kI>>(element[kI])...));
        }
      }(std::make_index_sequence<kLeaves>());
    }
  }

  static bool fits(const Block& in) {
    if (in.mixed() || in.columns().size() != kArgs) return false;
    std::size_t i = 0;
    bool ok = true;
    const auto check = [&](DType dtype) {
      const Column& column = in.column(i++);
      ok = ok && column.packed() && column.tensor().rank() == 1 &&
           column.tensor().dtype() == dtype;
    };
    (check(dtype_of<std::remove_cvref_t<Args>>()), ...);
    return ok;
  }

  template <std::size_t... kI>
  Status columnwise(const Block& in, CallContext& context, Block& out,
                    std::index_sequence<kI...>) const {
    // Blocks of costly calls do not grow to kManyRows: the flag is looked at
    // after each call. Between the looks at cheap calls lies a plain loop.
    constexpr std::int64_t kManyRows = 256;
    const std::int64_t n = in.size();
    const std::int64_t strip = n < kManyRows ? 1 : 16;
    PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate<R>(Shape{n}));
    R* const to = result.template mutable_as<R>().data();
    const auto from = std::make_tuple(
        in.column(kI).tensor().template as<Arg<kI>>().data()...);
    Block::Errors errors;
    std::int64_t i = 0;
    const auto stops = [&] { return i > 0 && context.overdue(); };
    while (i < n && !stops()) {
      try {
        do {
          const std::int64_t end = std::min(n, i + strip);
          for (; i < end; ++i) to[i] = fn_(std::get<kI>(from)[i]...);
        } while (i < n && !stops());
      } catch (...) {
        errors.emplace_back(
            i, context.error(status_of_current_exception(), in.origins().at(i),
                             std::current_exception()));
        to[i++] = R{};
      }
    }
    Block::Columns columns;
    columns.emplace_back(i == n ? std::move(result) : result.rows(0, i));
    out = Block(Structure::leaf(), std::move(columns), i, in.origins());
    out.errors() = std::move(errors);
    return absl::OkStatus();
  }

  F fn_;
  Spec declared_;
  std::string name_;
};

template <class F, class Signature>
struct MakeTyped;
template <class F, class C, class R, class... Args>
struct MakeTyped<F, R (C::*)(Args...) const> {
  using Type = TypedFunction<F, R, Args...>;
};
template <class F, class C, class R, class... Args>
struct MakeTyped<F, R (C::*)(Args...) const noexcept> {
  using Type = TypedFunction<F, R, Args...>;
};

// --- functions that give datasets ---------------------------------------

/// Whether get_argument<T>() may be asked for `t`.
template <class T>
bool argument_fits(const Tensor& t) {
  if constexpr (Number<T>)
    return t.dtype() == dtype_of<T>() && t.rank() == 0;
  else if constexpr (kIsString<T>)
    return t.dtype() == DType::kString && t.rank() == 0;
  else if constexpr (IsNumberSpan<T>::value)
    return t.dtype() == dtype_of<typename T::value_type>();
  else if constexpr (DatasetLike<T>)
    return dynamic_cast<const DatasetObject*>(t.object()) != nullptr;
  else
    return true;
}

template <class F, class R, class... Args>
class TypedDatasetFunction final : public DatasetFunction {
 public:
  TypedDatasetFunction(F fn, Spec declared, std::string name)
      : fn_(std::move(fn)),
        declared_(std::move(declared)),
        name_(std::move(name)) {}

  StatusOr<Spec> output_spec(const Spec& input) const override {
    PS_RETURN_IF_ERROR(check_input(input));
    return declared_;
  }
  StatusOr<NodeRef> call(const Element& element) const override {
    try {
      if constexpr (kWhole) {
        return node_of(fn_(element));
      } else {
        return call_spread(element, std::index_sequence_for<Args...>());
      }
    } catch (const Error& error) {
      // Building the dataset failed: the message says it all.
      return error.status();
    }
  }
  std::string identity() const override {
    return absl::StrCat(typeid(F).name(), ":", name_);
  }

 private:
  static constexpr bool kWhole =
      sizeof...(Args) == 1 &&
      std::is_same_v<std::remove_cvref_t<
                         std::tuple_element_t<0, std::tuple<Args..., void*>>>,
                     Element>;
  template <std::size_t kI>
  using Arg =
      std::remove_cvref_t<std::tuple_element_t<kI, std::tuple<Args...>>>;

  static StatusOr<NodeRef> node_of(R result) {
    if constexpr (IsStatusOr<R>::value) {
      if (!result.ok()) return result.status();
      return result->node();
    } else {
      return result.node();
    }
  }

  template <std::size_t... kI>
  StatusOr<NodeRef> call_spread(const Element& element,
                                std::index_sequence<kI...>) const {
    if (element.size() != sizeof...(Args) ||
        !(argument_fits<Arg<kI>>(element[kI]) && ...)) {
      PS_RETURN_IF_ERROR(check_input(Spec::of(element)));
      return invalid_argument("the function cannot take the element ",
                              Spec::of(element).to_string());
    }
    return node_of(fn_(get_argument<Arg<kI>>(element[kI])...));
  }

  static Status check_input(const Spec& input) {
    if constexpr (kWhole) {
      return absl::OkStatus();
    } else {
      if (!input.known()) return absl::OkStatus();
      if (input.leaves().size() != sizeof...(Args)) {
        return invalid_argument("the function takes ", sizeof...(Args),
                                " arguments, the element is ",
                                input.to_string());
      }
      return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
        Status status;
        (..., (status = status.ok() ? check_argument(argument_spec<Arg<kI>>(),
                                                     input.leaves()[kI], kI)
                                    : status));
        return status;
      }(std::index_sequence_for<Args...>());
    }
  }

  F fn_;
  Spec declared_;
  std::string name_;
};

template <class F, class Signature>
struct MakeTypedDataset;
template <class F, class C, class R, class... Args>
struct MakeTypedDataset<F, R (C::*)(Args...) const> {
  using Type = TypedDatasetFunction<F, R, Args...>;
};
template <class F, class C, class R, class... Args>
struct MakeTypedDataset<F, R (C::*)(Args...) const noexcept> {
  using Type = TypedDatasetFunction<F, R, Args...>;
};

/// `fn`, which returns a Dataset, as a DatasetFunction.
template <class F>
DatasetFunctionRef make_dataset_function(F fn, Spec declared = {},
                                         std::string name = "") {
  if constexpr (std::is_convertible_v<F, DatasetFunctionRef>) {
    return fn;
  } else if constexpr (std::is_pointer_v<F>) {
    return make_dataset_function(
        [fn]<class R, class... A>(R (*)(A...)) {
          return [fn](A... args) -> R { return fn(args...); };
        }(fn),
        std::move(declared), std::move(name));
  } else {
    using Typed = typename MakeTypedDataset<F, decltype(&F::operator())>::Type;
    return std::make_shared<Typed>(std::move(fn), std::move(declared),
                                   std::move(name));
  }
}

/// `fn` as a Function. A mutable lambda cannot be called from many threads, so
/// only const call operators are taken.
template <class F>
FunctionRef make_function(F fn, Spec declared = {}, std::string name = "") {
  if constexpr (std::is_convertible_v<F, FunctionRef>) {
    return fn;
  } else if constexpr (std::is_pointer_v<F>) {
    return make_function(
        [fn]<class R, class... A>(R (*)(A...)) {
          return [fn](A... args) -> R { return fn(args...); };
        }(fn),
        std::move(declared), std::move(name));
  } else {
    using Typed = typename MakeTyped<F, decltype(&F::operator())>::Type;
    return std::make_shared<Typed>(std::move(fn), std::move(declared),
                                   std::move(name));
  }
}

}  // namespace penstock::detail
