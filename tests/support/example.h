// Example pipelines of the operators: what the contract suite runs.
//
// An operator registers its examples beside its source, in
// ops/<op>/<op>_examples.cc; that covers it by the whole suite: worker counts,
// block sizes, save and restore at every element, random access, cancel,
// errors.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/penstock.h"

namespace penstock::testing {

struct Example {
  /// What it shows, in a few words; unique within the operator.
  std::string name = "";
  /// Builds the same graph each time it is called.
  std::function<Dataset()> make = nullptr;
  /// The elements it must give, computed another way (a five-line model), with
  /// failed() in the place of an error; null where only its own invariants can
  /// be checked (random orders).
  std::function<std::vector<Element>()> model = nullptr;
  /// Only the first elements are looked at (endless datasets).
  std::int64_t limit = 200;
  /// False where the order is free (deterministic = false).
  bool ordered = true;
  /// False where one input element may be part of several outputs (windows
  /// that overlap), so that its error may be seen more than once.
  bool errors_once = true;
  /// The memory_budget of the run with little memory; must hold the example's
  /// buffers.
  std::int64_t tight_memory = 256 * 1024;
};

class ExampleRegistry {
 public:
  static ExampleRegistry& get();
  void add(const std::string& op, std::vector<Example> examples);
  const std::vector<std::pair<std::string, std::vector<Example>>>& all() const {
    return entries_;
  }

 private:
  std::vector<std::pair<std::string, std::vector<Example>>> entries_;
};

/// int64 scalars as elements, for models.
std::vector<Element> scalars(const std::vector<std::int64_t>& values);
/// Stands for an error in a model.
inline Element failed() { return {}; }

#define PENSTOCK_EXAMPLES(op, ...)                                   \
  static const bool penstock_examples_##op = [] {                    \
    ::penstock::testing::ExampleRegistry::get().add(                 \
        #op, std::vector<::penstock::testing::Example> __VA_ARGS__); \
    return true;                                                     \
  }()

}  // namespace penstock::testing
