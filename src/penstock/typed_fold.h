// Typed lambdas of a state and an element, for scan and reduce.
//
// The first argument is the state, the others are the element's leaves in
// order, each a number, std::span of numbers, std::string_view or Tensor; or
// either of them whole, as an Element. A number as initial state takes on the
// type of the first argument.
#pragma once

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
  using Args = std::tuple<std::remove_cvref_t<X>...>;
  static constexpr std::size_t kArgs = sizeof...(X);
  static_assert(kArgs > 0, "the function must take a state and an element");
  static constexpr bool kWholeState = std::is_same_v<State, Element>;
  static constexpr bool kWhole =
      kArgs == 1 && std::is_same_v<std::tuple_element_t<0, Args>, Element>;

  /// What the function returns, without StatusOr.
  template <class T>
  struct Bare {
    using Type = T;
  };
  template <class T>
  struct Bare<absl::StatusOr<T>> {
    using Type = T;
  };
  using Result = typename Bare<std::remove_cvref_t<R>>::Type;

  template <class Init>
  static Element initial(Init&& init) {
    using T = std::remove_cvref_t<Init>;
    if constexpr (Number<State> && std::is_arithmetic_v<T>) {
      return to_element(static_cast<State>(init));
    } else {
      return to_element(std::forward<Init>(init));
    }
  }

  static Status check_state(const Spec& state) {
    if constexpr (kWholeState) {
      return absl::OkStatus();
    } else {
      if (!state.known()) return absl::OkStatus();
      if (!state.structure()->is_leaf()) {
        return invalid_argument(
            "the function takes one tensor as its state, "
            "the state is ",
            state.to_string());
      }
      return check_argument(argument_spec<State>(), state.leaves()[0], 0);
    }
  }
  static Status check_input(const Spec& input) {
    if (kWhole || !input.known()) return absl::OkStatus();
    if (input.leaves().size() != kArgs) {
      return invalid_argument("the function takes ", kArgs,
                              " arguments besides the state, the element is ",
                              input.to_string());
    }
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      Status status;
      (..., (status = status.ok() ? check_leaf<kI>(input) : status));
      return status;
    }(std::make_index_sequence<kArgs>());
  }

  static StatusOr<Result> call(const F& fn, const Element& state,
                               const Element& element) {
    PS_RETURN_IF_ERROR(check_state(Spec::of(state)));
    PS_RETURN_IF_ERROR(check_input(Spec::of(element)));
    return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      return StatusOr<Result>(
          fn(state_argument(state), element_argument<kI>(element)...));
    }(std::make_index_sequence<kArgs>());
  }

 private:
  template <std::size_t kI>
  using Arg = std::tuple_element_t<kI, Args>;

  template <std::size_t kI>
  static Status check_leaf(const Spec& input) {
    if constexpr (kWhole) {
      return absl::OkStatus();
    } else {
      return check_argument(argument_spec<Arg<kI>>(), input.leaves()[kI],
                            kI + 1);
    }
  }
  static decltype(auto) state_argument(const Element& state) {
    if constexpr (kWholeState) {
      return (state);
    } else {
      return get_argument<State>(state[0]);
    }
  }
  template <std::size_t kI>
  static decltype(auto) element_argument(const Element& element) {
    if constexpr (kWhole) {
      return (element);
    } else {
      return get_argument<Arg<kI>>(element[kI]);
    }
  }
};

template <class F>
using Fold = FoldImpl<F, decltype(&F::operator())>;

template <class F>
ReduceFunction make_reduce_function(F fn) {
  return [fn = std::move(fn)](const Element& state,
                              const Element& element) -> StatusOr<Element> {
    auto result = Fold<F>::call(fn, state, element);
    if (!result.ok()) return result.status();
    return to_element(*std::move(result));
  };
}

template <class F>
ScanFunction make_scan_function(F fn) {
  using Result = typename Fold<F>::Result;
  static_assert(IsTuple<Result>::value && std::tuple_size_v<Result> == 2,
                "the function must return a pair: the next state, the output");
  return [fn = std::move(fn)](
             const Element& state,
             const Element& element) -> StatusOr<std::pair<Element, Element>> {
    auto result = Fold<F>::call(fn, state, element);
    if (!result.ok()) return result.status();
    return std::pair<Element, Element>(
        to_element(std::get<0>(*std::move(result))),
        to_element(std::get<1>(*std::move(result))));
  };
}

/// Spec of what a scan with `F` gives out.
template <class F>
Spec scan_output_spec() {
  return result_spec<std::tuple_element_t<1, typename Fold<F>::Result>>();
}

}  // namespace penstock::detail
