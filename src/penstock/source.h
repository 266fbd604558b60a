// Sources of the user: the interfaces, and typed functions as sources.
//
//   RandomAccessSource   size() and read(i), from many threads
//   SequentialSource     next(), with save() and restore() of its cursor
//
// Their contracts are in ops/from_source/source.h. Dataset::from_generator and
// from_indexable take functions instead: the type of what they give tells the
// spec, as for Dataset::map.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "penstock/ops/from_source/source.h"
#include "penstock/typed_function.h"

namespace penstock {

struct SourceOptions {
  /// What the elements are, where their type does not tell. Each is checked;
  /// one that does not fit is an error in its place.
  Spec output_signature = {};
  /// How many there will be, where known: a count, or Cardinality::infinite().
  /// No more than that are read; a source that ends earlier ends in an error.
  Cardinality cardinality = Cardinality::unknown();
  std::string name = "";
};

namespace detail {

template <class R>
struct Generated {
  static_assert(sizeof(R) == 0,
                "a generator must give std::optional<T> or "
                "StatusOr<std::optional<T>>");
};
template <class T>
struct Generated<std::optional<T>> {
  using Type = T;
};
template <class T>
struct Generated<absl::StatusOr<std::optional<T>>> {
  using Type = T;
};

/// A generator object as a source.
template <class G>
class GeneratorSource final : public SequentialSource {
 public:
  static_assert(std::is_invocable_v<G&>,
                "what a generator's function makes must be callable without "
                "arguments");
  using Result = std::remove_cvref_t<std::invoke_result_t<G&>>;
  using Value = typename Generated<Result>::Type;

  explicit GeneratorSource(G generator) : generator_(std::move(generator)) {}

  StatusOr<std::optional<Element>> next() override {
    Result result = generator_();
    if constexpr (IsStatusOr<Result>::value) {
      if (!result.ok()) return result.status();
      return convert(*std::move(result));
    } else {
      return convert(std::move(result));
    }
  }

 private:
  static std::optional<Element> convert(std::optional<Value> value) {
    if (!value) return std::nullopt;
    return to_element(*std::move(value));
  }

  G generator_;
};

template <class F>
using GeneratorOf =
    typename Bare<std::remove_cvref_t<std::invoke_result_t<const F&>>>::Type;

/// `make`, which makes generators, as a factory of sources. Several iterators
/// may call it at once, so only const call operators are taken.
template <class F>
SequentialFactory generator_factory(F make) {
  if (is_null(make)) return nullptr;
  // Shared: a std::function is copied, what a lambda holds need not be.
  return [make = std::make_shared<const F>(std::move(
              make))]() -> StatusOr<std::unique_ptr<SequentialSource>> {
    using Source = GeneratorSource<GeneratorOf<F>>;
    auto made = (*make)();
    if constexpr (IsStatusOr<decltype(made)>::value) {
      if (!made.ok()) return made.status();
      return std::make_unique<Source>(*std::move(made));
    } else {
      return std::make_unique<Source>(std::move(made));
    }
  };
}

template <class F>
std::string function_identity(const std::string& name) {
  return absl::StrCat(typeid(F).name(), ":", name);
}

}  // namespace detail
}  // namespace penstock
