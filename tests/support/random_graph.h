// Random pipelines with a model of what they give.
//
// A Graph is a dataset and, beside it, the elements that it must give, computed
// by a few lines per operator on a std::vector, with errors as elements. The
// table of random_graph.cc has one entry per kind of stage: a new operator
// becomes part of every random pipeline by a line there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "penstock/penstock.h"
#include "tests/support/outcome.h"

namespace penstock::testing {

/// Where choices come from: a seed, or the bytes of a fuzzer.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(mix64(seed)) {}
  explicit Choices(std::span<const std::uint8_t> bytes)
      : random_(0), bytes_(bytes), from_bytes_(true) {}

  /// In [0, n).
  std::int64_t below(std::int64_t n);
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + below(high - low + 1);
  }
  bool chance(int percent) { return below(100) < percent; }
  /// The fuzzer has no more to say.
  bool spent() const { return from_bytes_ && bytes_.empty(); }

 private:
  RandomStream random_;
  std::span<const std::uint8_t> bytes_;
  bool from_bytes_ = false;
};

/// A value, or the end of the message of the error in its place.
struct ModelElement {
  Element value;
  std::string error;
  std::int64_t others = 0;  // further errors that a batch stands for

  bool failed() const { return !error.empty(); }
  bool matches(const Outcome& outcome) const;
  std::string to_string() const;
};
using Model = std::vector<ModelElement>;

struct Graph {
  Dataset dataset = Dataset::range(0);
  Model model;
  bool scalars = true;  // every value is an int64 scalar
  bool random = false;  // a repetition may give other elements
};

/// A pipeline of `stages` stages.
Graph random_graph(Choices& choices, int stages);
/// Some way to run it.
Options random_options(Choices& choices);

/// Empty if `got` is what `wanted` says, else what differs.
std::string difference(const Outcomes& got,
                       std::span<const ModelElement> wanted);

}  // namespace penstock::testing
