// The cases of the contract suite: every example of every operator, and each
// again with errors among the elements in front of the operator.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/example.h"
#include "tests/support/outcome.h"

namespace penstock::testing {

// Between the elements at which a test stops, saves or destroys. Sanitizers
// slow everything tenfold, and look for other things than which element is
// wrong.
#ifdef PENSTOCK_SANITIZED
constexpr std::size_t kStride = 23;
#else
constexpr std::size_t kStride = 1;
#endif

struct Case {
  std::string op;
  const Example* example;
  bool with_errors = false;

  /// "take_behind_a_filter", "take_behind_a_filter_with_errors".
  std::string name() const;
  /// A new Dataset object of an equal graph, with `options` and a seed for the
  /// stages that have none.
  Dataset make(Options options = {}) const;
  /// The outcomes of the first iteration as a default run gives them.
  Outcomes expected() const;
  /// Fails unless the two hold the same, in the same order if there is one.
  void expect_same(const Outcomes& got, const Outcomes& wanted,
                   const std::string& how) const;

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name();
  }
};

/// One way to run a pipeline; none may change what it gives.
struct Configuration {
  std::string name;
  Options options;
};
std::vector<Configuration> configurations(const Case& c);

std::vector<Case> plain_cases();
std::vector<Case> all_cases();

class ContractTest : public ::testing::TestWithParam<Case> {};

inline std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name();
}

}  // namespace penstock::testing

/// Runs the ContractTests named `Suite` over `cases` (plain or all).
#define PENSTOCK_CONTRACT(Suite, cases)                                       \
  INSTANTIATE_TEST_SUITE_P(                                                   \
      Each, Suite, ::testing::ValuesIn(::penstock::testing::cases##_cases()), \
      ::penstock::testing::case_name)
