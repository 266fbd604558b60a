// Typed lambdas as element functions.
//
// The argument and result types of a lambda give the spec: numbers, std::span
// of numbers, std::string_view and Tensor for an element's leaves in order
// (also std::vector and std::array of numbers and std::vector of strings, which
// are copied), tuples of them for as many leaves, or one Element; the result
// may be a number, a string, a std::vector, std::array or std::span of numbers,
// a std::vector of strings, a Tensor, an Element, a tuple of them, or StatusOr
// of any. A last argument of type RandomStream& gives random numbers keyed to
// the element. A lambda from numbers to numbers becomes one loop over columns.
// A lambda that returns a Dataset (or StatusOr of one) is a DatasetFunction; a
// Dataset as argument takes a leaf that is a nested dataset.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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

/// A result: of std::span<T>, too.
template <class T>
struct IsSpanResult : std::false_type {};
template <class T>
struct IsSpanResult<std::span<T>>
    : std::bool_constant<Number<std::remove_const_t<T>>> {};

template <class T>
struct IsNumberVector : std::false_type {};
template <class T>
struct IsNumberVector<std::vector<T>> : std::bool_constant<Number<T>> {};

template <class T>
struct IsNumberArray : std::false_type {};
template <class T, std::size_t kN>
struct IsNumberArray<std::array<T, kN>> : std::bool_constant<Number<T>> {};

template <class T>
constexpr bool kIsString =
    std::is_same_v<T, std::string_view> || std::is_same_v<T, std::string>;
template <class T>
constexpr bool kIsCString =
    std::is_same_v<T, const char*> || std::is_same_v<T, char*>;
template <class T>
constexpr bool kIsStringVector =
    std::is_same_v<T, std::vector<std::string>> ||
    std::is_same_v<T, std::vector<std::string_view>>;

/// T without StatusOr.
template <class T>
struct Bare {
  using Type = T;
};
template <class T>
struct Bare<absl::StatusOr<T>> {
  using Type = T;
};

/// A Dataset: made from a node, and gives it back.
template <class T>
concept DatasetLike =
    std::is_constructible_v<T, NodeRef> && requires(const T& t) {
      { t.node() } -> std::convertible_to<NodeRef>;
    };

// --- arguments ----------------------------------------------------------

/// Whether a function may take an argument as `A`: elements are shared.
template <class A>
constexpr bool kKeepsArgument =
    (!std::is_lvalue_reference_v<A> && !std::is_same_v<A, Element&&>) ||
    std::is_const_v<std::remove_reference_t<A>> ||
    std::is_same_v<A, RandomStream&>;

/// Leaves that an argument of type T takes.
template <class T>
constexpr std::size_t leaf_count() {
  if constexpr (IsTuple<T>::value) {
    return []<std::size_t... kI>(std::index_sequence<kI...>) {
      return (std::size_t{0} + ... + leaf_count<std::tuple_element_t<kI, T>>());
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    return 1;
  }
}

template <class T>
LeafSpec argument_spec() {
  if constexpr (Number<T>)
    return {dtype_of<T>(), PartialShape(Shape{})};
  else if constexpr (kIsString<T>)
    return {DType::kString, PartialShape(Shape{})};
  else if constexpr (IsNumberSpan<T>::value || IsNumberVector<T>::value)
    return {dtype_of<typename T::value_type>(), PartialShape()};
  else if constexpr (IsNumberArray<T>::value)
    return {dtype_of<typename T::value_type>(),
            PartialShape{static_cast<std::int64_t>(std::tuple_size_v<T>)}};
  else if constexpr (kIsStringVector<T>)
    return {DType::kString, PartialShape()};
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

/// The leaves from `first` on against an argument of type T, which is counted
/// from `index`.
template <class T>
Status check_leaves(const std::vector<LeafSpec>& leaves, std::size_t first,
                    std::size_t index) {
  if constexpr (IsTuple<T>::value) {
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      Status status;
      std::size_t at = 0;
      [[maybe_unused]] const auto check =
          [&]<class Part>(std::type_identity<Part>) {
            if (status.ok())
              status = check_leaves<Part>(leaves, first + at, index + at);
            at += leaf_count<Part>();
          };
      (..., check(std::type_identity<std::tuple_element_t<kI, T>>()));
      return status;
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    return check_argument(argument_spec<T>(), leaves[first], index);
  }
}

/// Whether get_argument<T>() may be asked for the leaves from `first` on.
template <class T>
bool argument_fits(const Element& element, std::size_t first) {
  if constexpr (IsTuple<T>::value) {
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      std::size_t at = first;
      [[maybe_unused]] const auto fits =
          [&]<class Part>(std::type_identity<Part>) {
            const bool ok = argument_fits<Part>(element, at);
            at += leaf_count<Part>();
            return ok;
          };
      return (fits(std::type_identity<std::tuple_element_t<kI, T>>()) && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    const Tensor& t = element[first];
    if constexpr (Number<T>)
      return t.dtype() == dtype_of<T>() && t.rank() == 0;
    else if constexpr (kIsString<T>)
      return t.dtype() == DType::kString && t.rank() == 0;
    else if constexpr (IsNumberSpan<T>::value || IsNumberVector<T>::value)
      return t.dtype() == dtype_of<typename T::value_type>();
    else if constexpr (IsNumberArray<T>::value)
      return t.dtype() == dtype_of<typename T::value_type>() && t.rank() == 1 &&
             t.num_elements() ==
                 static_cast<std::int64_t>(std::tuple_size_v<T>);
    else if constexpr (kIsStringVector<T>)
      return t.dtype() == DType::kString;
    else if constexpr (DatasetLike<T>)
      return dynamic_cast<const DatasetObject*>(t.object()) != nullptr;
    else
      return true;
  }
}

template <class T>
T get_argument(const Element& element, std::size_t first) {
  if constexpr (IsTuple<T>::value) {
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      std::size_t at = first;
      [[maybe_unused]] const auto get =
          [&]<class Part>(std::type_identity<Part>) {
            const std::size_t here = at;
            at += leaf_count<Part>();
            return get_argument<Part>(element, here);
          };
      // Braces: evaluated from left to right.
      return T{get(std::type_identity<std::tuple_element_t<kI, T>>())...};
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    const Tensor& t = element[first];
    if constexpr (Number<T>)
      return t.value<T>();
    else if constexpr (kIsString<T>)
      return T(t.str());
    else if constexpr (IsNumberSpan<T>::value)
      return t.as<typename T::value_type>();
    else if constexpr (IsNumberVector<T>::value) {
      const auto values = t.as<typename T::value_type>();
      return T(values.begin(), values.end());
    } else if constexpr (IsNumberArray<T>::value) {
      const auto values = t.as<typename T::value_type>();
      T copy{};
      std::copy(values.begin(), values.end(), copy.begin());
      return copy;
    } else if constexpr (kIsStringVector<T>) {
      const auto values = t.strs();
      return T(values.begin(), values.end());
    } else if constexpr (DatasetLike<T>)
      return T(static_cast<const DatasetObject*>(t.object())->node);
    else {
      static_assert(std::is_same_v<T, Tensor>,
                    "an argument must be a number, std::span<const number>, "
                    "std::vector or std::array of numbers, a string, "
                    "std::vector of strings, Tensor, Dataset, a tuple of "
                    "them, or an Element alone");
      return t;
    }
  }
}

/// The arguments `Args`, without references, of a function that an element is
/// spread over.
template <class... Args>
struct Spread {
  static constexpr std::size_t kLeaves =
      (std::size_t{0} + ... + leaf_count<Args>());
  using All = std::tuple<Args...>;

  /// `besides` names what the function takes in front of them.
  static Status check(const Spec& input, const char* besides = "",
                      std::size_t index = 0) {
    if (!input.known()) return absl::OkStatus();
    if (input.leaves().size() != kLeaves) {
      return invalid_argument("the function takes ", kLeaves, " arguments",
                              besides, ", the element is ", input.to_string());
    }
    return check_leaves<All>(input.leaves(), 0, index);
  }
  /// Whether arguments() may be called.
  static bool fits(const Element& element) {
    return element.size() == kLeaves && argument_fits<All>(element, 0);
  }
  static All arguments(const Element& element) {
    return get_argument<All>(element, 0);
  }
};

// --- results ------------------------------------------------------------

template <class T>
Spec result_spec() {
  if constexpr (IsStatusOr<T>::value) {
    return result_spec<typename T::value_type>();
  } else if constexpr (Number<T>) {
    return Spec::scalar<T>();
  } else if constexpr (kIsString<T> || kIsCString<T>) {
    return Spec::tensor(DType::kString, PartialShape(Shape{}));
  } else if constexpr (IsNumberVector<T>::value || IsSpanResult<T>::value) {
    return Spec::tensor(dtype_of<typename T::value_type>(),
                        PartialShape{kUnknownDim});
  } else if constexpr (IsNumberArray<T>::value) {
    return Spec::tensor(
        dtype_of<typename T::value_type>(),
        PartialShape{static_cast<std::int64_t>(std::tuple_size_v<T>)});
  } else if constexpr (kIsStringVector<T>) {
    return Spec::tensor(DType::kString, PartialShape{kUnknownDim});
  } else if constexpr (std::is_same_v<T, Tensor>) {
    return Spec(LeafSpec{});
  } else if constexpr (IsTuple<T>::value) {
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      return Spec::tuple({result_spec<std::tuple_element_t<kI, T>>()...});
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    static_assert(
        std::is_same_v<T, Element>,
        "a result must be a number, string, std::vector, std::array, "
        "std::span, Tensor, Element, a tuple of them, or StatusOr of one");
    return Spec();
  }
}

/// Whether every result of type T fits result_spec<T>(), and that tells all.
template <class T>
constexpr bool fixed_result() {
  if constexpr (IsStatusOr<T>::value) {
    return fixed_result<typename T::value_type>();
  } else if constexpr (IsTuple<T>::value) {
    return []<std::size_t... kI>(std::index_sequence<kI...>) {
      return (fixed_result<std::tuple_element_t<kI, T>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    return Number<T> || kIsString<T> || kIsCString<T> ||
           IsNumberArray<T>::value;
  }
}

template <class List>
Tensor tensor_of(const List& values) {
  using T = typename List::value_type;
  if constexpr (std::is_same_v<List, std::vector<bool>>) {
    // Its bits are no bools.
    const std::unique_ptr<bool[]> copy(new bool[values.size()]);
    std::copy(values.begin(), values.end(), copy.get());
    return Tensor::from(std::span<const bool>(copy.get(), values.size()),
                        Shape{static_cast<std::int64_t>(values.size())});
  } else {
    return Tensor::from(std::span<const T>(values),
                        Shape{static_cast<std::int64_t>(values.size())});
  }
}

inline Tensor tensor_of_strings(const std::vector<std::string_view>& values) {
  return value_or_throw(
      Tensor::strings(values, Shape{static_cast<std::int64_t>(values.size())}));
}

template <class T>
Element to_element(T&& value) {
  using U = std::remove_cvref_t<T>;
  if constexpr (Number<U>)
    return Element(Tensor::scalar(value));
  else if constexpr (kIsCString<U>)
    return value != nullptr
               ? Element(Tensor::string(value))
               : throw Error(invalid_argument("the function returned a null "
                                              "const char*"));
  else if constexpr (kIsString<U>)
    return Element(Tensor::string(value));
  else if constexpr (IsNumberVector<U>::value || IsNumberArray<U>::value ||
                     IsSpanResult<U>::value)
    return Element(tensor_of(value));
  else if constexpr (kIsStringVector<U>)
    return Element(tensor_of_strings({value.begin(), value.end()}));
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
  static_assert((kKeepsArgument<Args> && ...),
                "an argument must be taken by value or by const reference; "
                "only RandomStream& is not const");

 public:
  TypedFunction(F fn, Spec declared, std::string name)
      : fn_(std::move(fn)),
        declared_(std::move(declared)),
        name_(std::move(name)) {}

  StatusOr<Spec> output_spec(const Spec& input) const override {
    if constexpr (!kWhole) PS_RETURN_IF_ERROR(Leaves::check(input));
    return declared_result(declared_, result_spec<R>());
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
          auto result = call(element, random);
          if constexpr (!fixed_result<R>()) {
            if (result.ok()) {
              PS_RETURN_IF_ERROR(fit_result(declared_, *result));
            }
          }
          return result;
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
  /// The arguments but the random numbers.
  static constexpr std::size_t kGiven = kArgs - (kWantsRandom ? 1 : 0);
  static constexpr bool kWhole =
      kGiven == 1 &&
      std::is_same_v<std::remove_cvref_t<
                         std::tuple_element_t<0, std::tuple<Args..., void*>>>,
                     Element>;
  static constexpr bool kColumnwise = !kWantsRandom && kArgs > 0 && Number<R> &&
                                      (Number<std::remove_cvref_t<Args>> &&
                                       ...);
  template <std::size_t kI>
  using Arg =
      std::remove_cvref_t<std::tuple_element_t<kI, std::tuple<Args...>>>;
  template <std::size_t... kI>
  static Spread<Arg<kI>...> spread_of(std::index_sequence<kI...>);
  using Leaves = decltype(spread_of(std::make_index_sequence<kGiven>()));

  StatusOr<Element> call(const Element& element, RandomStream& random) const {
    const auto called = [&]<class... A>(A&&... args) {
      if constexpr (kWantsRandom)
        return to_result(fn_(std::forward<A>(args)..., random));
      else
        return to_result(fn_(std::forward<A>(args)...));
    };
    if constexpr (kWhole) {
      return called(element);
    } else {
      if (!Leaves::fits(element)) [[unlikely]] {
        PS_RETURN_IF_ERROR(Leaves::check(Spec::of(element)));
        return invalid_argument("the function cannot take the element ",
                                Spec::of(element).to_string());
      }
      return std::apply(called, Leaves::arguments(element));
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
    const auto stops = [&] {
      return context.cancelled() || (i > 0 && context.overdue());
    };
    while (i < n && !stops()) {
      try {
        do {
          const std::int64_t end = std::min(n, i + strip);
          for (; i < end; ++i) {
            // Copies: an argument may be an rvalue reference.
            to[i] = fn_(Arg<kI>(std::get<kI>(from)[i])...);
          }
        } while (i < n && !stops());
      } catch (...) {
        errors.emplace_back(
            i, context.error(status_of_current_exception(), in.origins().at(i),
                             std::current_exception()));
        to[i++] = R{};
      }
    }
    if (context.cancelled()) {
      for (; i < n; ++i) {
        to[i] = R{};
        errors.emplace_back(i, context.error(absl::CancelledError("cancelled"),
                                             in.origins().at(i)));
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
  using Type = TypedFunction<F, std::remove_cvref_t<R>, Args...>;
};
template <class F, class C, class R, class... Args>
struct MakeTyped<F, R (C::*)(Args...) const noexcept> {
  using Type = TypedFunction<F, std::remove_cvref_t<R>, Args...>;
};

// --- functions that give datasets ---------------------------------------

template <class F, class R, class... Args>
class TypedDatasetFunction final : public DatasetFunction {
  static_assert(DatasetLike<typename Bare<R>::Type>,
                "the function must return a Dataset, or StatusOr of one");
  static_assert((kKeepsArgument<Args> && ...),
                "an argument must be taken by value or by const reference");

 public:
  TypedDatasetFunction(F fn, Spec declared, std::string name)
      : fn_(std::move(fn)),
        declared_(std::move(declared)),
        name_(std::move(name)) {}

  StatusOr<Spec> output_spec(const Spec& input) const override {
    if constexpr (!kWhole) PS_RETURN_IF_ERROR(Leaves::check(input));
    return declared_;
  }
  StatusOr<NodeRef> call(const Element& element) const override {
    try {
      if constexpr (kWhole) {
        return node_of(fn_(element));
      } else {
        if (!Leaves::fits(element)) {
          PS_RETURN_IF_ERROR(Leaves::check(Spec::of(element)));
          return invalid_argument("the function cannot take the element ",
                                  Spec::of(element).to_string());
        }
        return node_of(std::apply(fn_, Leaves::arguments(element)));
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
  using Leaves = Spread<std::remove_cvref_t<Args>...>;

  static StatusOr<NodeRef> node_of(R result) {
    if constexpr (IsStatusOr<R>::value) {
      if (!result.ok()) return result.status();
      return result->node();
    } else {
      return result.node();
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
  using Type = TypedDatasetFunction<F, std::remove_cvref_t<R>, Args...>;
};
template <class F, class C, class R, class... Args>
struct MakeTypedDataset<F, R (C::*)(Args...) const noexcept> {
  using Type = TypedDatasetFunction<F, std::remove_cvref_t<R>, Args...>;
};

// --- what is taken as a function ----------------------------------------

/// One call operator, whose types tell what the function takes and gives.
template <class F>
concept OneCallOperator = requires { &F::operator(); };

template <class Signature>
struct IsConstCall : std::false_type {};
template <class C, class R, class... Args>
struct IsConstCall<R (C::*)(Args...) const> : std::true_type {};
template <class C, class R, class... Args>
struct IsConstCall<R (C::*)(Args...) const noexcept> : std::true_type {};

/// Whether `F` can be a function of a dataset; if not, says why.
template <class F>
constexpr bool check_callable() {
  if constexpr (!std::is_class_v<F>) {
    static_assert(std::is_class_v<F>,
                  "a function must be a lambda, a pointer to a function or an "
                  "object with operator(); call a member function in a lambda");
    return false;
  } else if constexpr (!OneCallOperator<F>) {
    static_assert(OneCallOperator<F>,
                  "a function must name the types of its arguments: not "
                  "[](auto x), std::bind or an overloaded operator()");
    return false;
  } else {
    static_assert(IsConstCall<decltype(&F::operator())>::value,
                  "a function is called from many threads at once: a mutable "
                  "lambda cannot be taken");
    return IsConstCall<decltype(&F::operator())>::value;
  }
}

/// A pointer to a function as a lambda; anything else as it is.
template <class F>
auto as_callable(F fn) {
  if constexpr (std::is_pointer_v<F>) {
    return [fn]<class R, class... A>(R (*)(A...)) {
      return [fn](A... args) -> R { return fn(std::forward<A>(args)...); };
    }(fn);
  } else {
    return fn;
  }
}

/// A null pointer to a function, an empty std::function or nullptr itself.
template <class F>
bool is_null(const F& fn) {
  if constexpr (std::is_constructible_v<F, std::nullptr_t> &&
                requires { fn == nullptr; }) {
    return fn == nullptr;
  } else {
    return false;
  }
}

/// `fn`, which returns a Dataset, as a DatasetFunction; null if it is.
template <class F>
DatasetFunctionRef make_dataset_function(F fn, Spec declared = {},
                                         std::string name = "") {
  if (is_null(fn)) return nullptr;
  if constexpr (std::is_convertible_v<F, DatasetFunctionRef>) {
    return fn;
  } else if constexpr (std::is_pointer_v<F>) {
    return make_dataset_function(as_callable(fn), std::move(declared),
                                 std::move(name));
  } else if constexpr (check_callable<F>()) {
    using Typed = typename MakeTypedDataset<F, decltype(&F::operator())>::Type;
    return std::make_shared<Typed>(std::move(fn), std::move(declared),
                                   std::move(name));
  }
}

/// `fn` as a Function; null if it is. A mutable lambda cannot be called from
/// many threads, so only const call operators are taken.
template <class F>
FunctionRef make_function(F fn, Spec declared = {}, std::string name = "") {
  if (is_null(fn)) return nullptr;
  if constexpr (std::is_convertible_v<F, FunctionRef>) {
    return fn;
  } else if constexpr (std::is_pointer_v<F>) {
    return make_function(as_callable(fn), std::move(declared), std::move(name));
  } else if constexpr (check_callable<F>()) {
    using Typed = typename MakeTyped<F, decltype(&F::operator())>::Type;
    return std::make_shared<Typed>(std::move(fn), std::move(declared),
                                   std::move(name));
  }
}

}  // namespace penstock::detail
