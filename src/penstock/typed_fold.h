// Typed lambdas of a state and an element, for scan and reduce.
//
// The first argument is the state, the others are the element's leaves in
// order, each a number, std::span of numbers, std::string_view or Tensor, or a
// tuple of them; or either of them whole, as an Element. Numbers as initial
// state take on the type of the first argument.
#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "penstock/ops/scan/scan.h"
#include "penstock/typed_function.h"

namespace penstock::detail {

template <class F, class Signature>
struct FoldImpl;
template <class F, class C, class R, class S, class... X>
struct FoldImpl<F, R (C::*)(S, X...) const noexcept>
    : FoldImpl<F, R (C::*)(S, X...) const> {};
template <class F, class C, class R, class S, class... X>
struct FoldImpl<F, R (C::*)(S, X...) const> {
  using State = std::remove_cvref_t<S>;
  using StateLeaves = Spread<State>;
  using Leaves = Spread<std::remove_cvref_t<X>...>;
  static_assert(sizeof...(X) > 0,
                "the function must take a state and an element");
  static_assert(!std::is_void_v<R>,
                "the function must return the next state, and a scan's the "
                "pair of it and the output");
  static_assert(kKeepsArgument<S> && (kKeepsArgument<X> && ...),
                "state and element must be taken by value or by const "
                "reference");
  static constexpr bool kWholeState = std::is_same_v<State, Element>;
  static constexpr bool kWhole =
      sizeof...(X) == 1 &&
      std::is_same_v<typename Leaves::All, std::tuple<Element>>;

  /// What the function returns, without StatusOr.
  using Result = typename Bare<std::remove_cvref_t<R>>::Type;

  template <class Init>
  static Element initial(Init&& init) {
    using T = std::remove_cvref_t<Init>;
    if constexpr (Number<State> && std::is_arithmetic_v<T>) {
      return to_element(static_cast<State>(init));
    } else if constexpr (IsTuple<State>::value && IsTuple<T>::value) {
      return converted_tuple(init);
    } else {
      return to_element(std::forward<Init>(init));
    }
  }

  static Status check_state(const Spec& state) {
    if constexpr (kWholeState) {
      return absl::OkStatus();
    } else {
      if (!state.known()) return absl::OkStatus();
      if (state.leaves().size() != StateLeaves::kLeaves ||
          state.structure()->is_leaf() == IsTuple<State>::value) {
        return invalid_argument(
            "the function takes ",
            IsTuple<State>::value
                ? absl::StrCat("a tuple of ", StateLeaves::kLeaves)
                : std::string("one tensor"),
            " as its state, the state is ", state.to_string());
      }
      return StateLeaves::check(state);
    }
  }
  static Status check_input(const Spec& input) {
    if constexpr (kWhole) {
      return absl::OkStatus();
    } else {
      return Leaves::check(input, " besides the state", 1);
    }
  }

  static StatusOr<Result> call(const F& fn, const Element& state,
                               const Element& element) {
    if constexpr (!kWholeState) {
      if (!StateLeaves::fits(state)) {
        PS_RETURN_IF_ERROR(check_state(Spec::of(state)));
        return invalid_argument("the function cannot take the state ",
                                Spec::of(state).to_string());
      }
    }
    if constexpr (!kWhole) {
      if (!Leaves::fits(element)) {
        PS_RETURN_IF_ERROR(check_input(Spec::of(element)));
        return invalid_argument("the function cannot take the element ",
                                Spec::of(element).to_string());
      }
    }
    return StatusOr<Result>(std::apply(
        fn, std::tuple_cat(arguments<kWholeState, StateLeaves>(state),
                           arguments<kWhole, Leaves>(element))));
  }

 private:
  template <bool kAsItIs, class Parts>
  static auto arguments(const Element& element) {
    if constexpr (kAsItIs) {
      return std::tuple<const Element&>(element);
    } else {
      return Parts::arguments(element);
    }
  }
  /// Each part of `init` as the state has it.
  template <class T>
  static Element converted_tuple(const T& init) {
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      return Element::tuple({part_of<kI>(std::get<kI>(init))...});
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  }
  template <std::size_t kI, class T>
  static Element part_of(const T& value) {
    if constexpr (kI < std::tuple_size_v<State>) {
      using Part = std::tuple_element_t<kI, State>;
      if constexpr (Number<Part> && std::is_arithmetic_v<T>) {
        return to_element(static_cast<Part>(value));
      }
    }
    return to_element(value);
  }
};

template <class F>
  requires(check_callable<F>())
using Fold = FoldImpl<F, decltype(&F::operator())>;

template <class F>
ReduceFunction make_reduce_function(F fn) {
  // Shared: a std::function is copied, what a lambda holds need not be.
  return
      [fn = std::make_shared<const F>(std::move(fn))](
          const Element& state, const Element& element) -> StatusOr<Element> {
        auto result = Fold<F>::call(*fn, state, element);
        if (!result.ok()) return result.status();
        return to_element(*std::move(result));
      };
}

template <class T>
constexpr bool kIsPair = [] {
  if constexpr (IsTuple<T>::value) return std::tuple_size_v<T> == 2;
  return false;
}();

template <class F>
ScanFunction make_scan_function(F fn) {
  return [fn = std::make_shared<const F>(std::move(fn))](
             const Element& state,
             const Element& element) -> StatusOr<std::pair<Element, Element>> {
    auto result = Fold<F>::call(*fn, state, element);
    if (!result.ok()) return result.status();
    return std::pair<Element, Element>(
        to_element(std::get<0>(*std::move(result))),
        to_element(std::get<1>(*std::move(result))));
  };
}

/// Spec of what a scan with `F` gives out.
template <class F>
Spec scan_output_spec() {
  using Result = typename Fold<F>::Result;
  static_assert(kIsPair<Result>,
                "the function must return a pair: the next state, the output");
  if constexpr (kIsPair<Result>) {
    return result_spec<std::tuple_element_t<1, Result>>();
  } else {
    return Spec();
  }
}

}  // namespace penstock::detail
