// What an iterator gives, one by one: elements, and errors in their places.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "penstock/penstock.h"

namespace penstock::testing {

/// An element, or the error that took its place.
struct Outcome {
  Element element;
  Status error;

  bool ok() const { return error.ok(); }
  std::string to_string() const;
  friend bool operator==(const Outcome& a, const Outcome& b) {
    return a.error == b.error && a.element == b.element;
  }
  friend std::ostream& operator<<(std::ostream& out, const Outcome& o) {
    return out << o.to_string();
  }
};
using Outcomes = std::vector<Outcome>;

/// False at the end.
bool take_one(Iterator& it, Outcome& out);
/// The next outcomes, at most `limit`, or fewer if it ends.
Outcomes take_some(Iterator& it, std::int64_t limit);
/// The first outcomes of a new iterator.
Outcomes run(const Dataset& dataset, std::int64_t limit);

/// Outcomes [from, ...).
Outcomes rest_of(const Outcomes& all, std::size_t from);
/// Rendered and sorted: equal for equal outcomes in any order.
std::vector<std::string> sorted(const Outcomes& outcomes);

}  // namespace penstock::testing
