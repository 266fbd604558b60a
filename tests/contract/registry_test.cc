// An operator is covered by being listed; none can hide.
#include <algorithm>
#include <set>
#include <string>

#include "tests/contract/cases.h"

namespace penstock::testing {
namespace {

std::set<std::string> listed() {
  return {
#define PENSTOCK_OPERATOR(op) #op,
#include "penstock/ops/operators.inc"
#undef PENSTOCK_OPERATOR
  };
}

std::set<std::string> with_examples() {
  std::set<std::string> out;
  for (const auto& [op, examples] : ExampleRegistry::get().all()) {
    out.insert(op);
  }
  return out;
}

void collect_ops(const Node& node, std::set<std::string>& out) {
  out.insert(std::string(node.op->op()));
  for (const NodeRef& input : node.inputs) collect_ops(*input, out);
}

TEST(Registry, EveryListedOperatorHasExamplesAndNoOtherDoes) {
  EXPECT_EQ(with_examples(), listed());
}

TEST(Registry, EveryOperatorThatIsMetIsListed) {
  const std::set<std::string> known = listed();
  for (const Case& c : plain_cases()) {
    std::set<std::string> met;
    collect_ops(*c.example->make().node(), met);
    for (const std::string& op : met) {
      EXPECT_TRUE(known.contains(op)) << op << " in " << c.name();
    }
    EXPECT_TRUE(met.contains(c.op))
        << c.name() << " does not use the operator it is an example of";
  }
}

TEST(Registry, NoOperatorIsRegisteredTwice) {
  std::set<std::string> seen;
  for (const auto& [op, examples] : ExampleRegistry::get().all()) {
    EXPECT_TRUE(seen.insert(op).second) << op;
  }
}

TEST(Registry, EveryOperatorHasThreeExamplesOrMore) {
  for (const auto& [op, examples] : ExampleRegistry::get().all()) {
    EXPECT_GE(examples.size(), 3U) << op;
  }
}

TEST(Registry, NamesOfExamplesAreUnique) {
  std::set<std::string> seen;
  for (const Case& c : plain_cases()) {
    EXPECT_TRUE(seen.insert(c.name()).second) << c.name();
  }
}

}  // namespace
}  // namespace penstock::testing
