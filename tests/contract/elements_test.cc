// What an operator gives: what its model says, of the spec and the number that
// it declares.
#include "tests/contract/cases.h"

namespace penstock::testing {
namespace {

class Elements : public ContractTest {};
PENSTOCK_CONTRACT(Elements, all);

TEST_P(Elements, AreWhatTheModelSays) {
  const Case& c = GetParam();
  if (!c.example->model || c.with_errors) GTEST_SKIP() << "no model";
  std::vector<Element> wanted = c.example->model();
  const Outcomes got = run(c.example->make(), c.example->limit);
  ASSERT_EQ(got.size(), wanted.size());
  if (!c.example->ordered) {
    Outcomes expected;
    for (Element& element : wanted)
      expected.push_back({std::move(element), {}});
    EXPECT_EQ(sorted(got), sorted(expected));
    return;
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    // An undefined element stands for an error.
    EXPECT_EQ(got[i].element, wanted[i])
        << "element " << i << ": " << got[i].to_string() << " instead of "
        << (wanted[i].defined() ? wanted[i].to_string() : "an error");
  }
}

TEST_P(Elements, FitTheDeclaredSpec) {
  const Dataset dataset = GetParam().make();
  for (const Outcome& o : run(dataset, GetParam().example->limit)) {
    if (!o.ok()) continue;
    const Status fits = dataset.element_spec().check(o.element);
    EXPECT_TRUE(fits.ok()) << fits.ToString();
  }
}

TEST_P(Elements, AreAsManyAsTheCardinalitySays) {
  const Case& c = GetParam();
  const Dataset dataset = c.make();
  const auto got = static_cast<std::int64_t>(c.expected().size());
  const Cardinality declared = dataset.cardinality();
  if (declared.finite()) {
    EXPECT_EQ(got, std::min(declared.value(), c.example->limit));
  } else if (declared.is_infinite()) {
    EXPECT_EQ(got, c.example->limit);
  }
}

TEST_P(Elements, ArePlannedAndExplainedWithoutCountingAnIteration) {
  const Case& c = GetParam();
  const Dataset dataset = c.make();
  EXPECT_NE(dataset.explain().find(c.op + "#"), std::string::npos);
  (void)dataset.explain();
  c.expect_same(run(dataset, c.example->limit), c.expected(), "after explain");
}

}  // namespace
}  // namespace penstock::testing
