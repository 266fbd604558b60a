// An error in front of an operator surfaces once and ends nothing.
#include <set>

#include "tests/contract/cases.h"
#include "tests/support/rebuild.h"

namespace penstock::testing {
namespace {

class UpstreamErrors : public ContractTest {};
PENSTOCK_CONTRACT(UpstreamErrors, plain);

TEST_P(UpstreamErrors, SurfaceOnceAndEndNothing) {
  const Case c{GetParam().op, GetParam().example, true};
  if (!with_inputs_wrapped(c.example->make(), c.op, failing)) {
    GTEST_SKIP() << "no input that could fail";
  }
  Iterator it = c.make().iterator();
  const Outcomes got = take_some(it, c.example->limit);
  std::set<std::string> seen;
  for (const Outcome& o : got) {
    if (o.ok()) continue;
    if (o.error.message().find("planted") == absl::string_view::npos) continue;
    // The message names the stage that failed and the element.
    const std::string text(to_std(o.error.message()));
    EXPECT_NE(text.find("map#"), std::string::npos) << text;
    EXPECT_NE(text.find(":failing: element "), std::string::npos) << text;
    EXPECT_EQ(o.error.code(), StatusCode::kDataLoss);
    if (c.example->errors_once) {
      EXPECT_TRUE(seen.insert(text).second) << "twice: " << text;
    }
  }
}

TEST_P(UpstreamErrors, AreRaisedByNextAndItGoesOn) {
  const Case c{GetParam().op, GetParam().example, true};
  if (!with_inputs_wrapped(c.example->make(), c.op, failing)) {
    GTEST_SKIP() << "no input that could fail";
  }
  if (!c.example->ordered) GTEST_SKIP() << "the order is free";
  const Outcomes expected = c.expected();
  Iterator it = c.make().iterator();
  for (const Outcome& wanted : expected) {
    try {
      const auto element = it.next();
      ASSERT_TRUE(element.has_value());
      EXPECT_EQ(*element, wanted.element);
    } catch (const Error& e) {
      EXPECT_EQ(e.status(), wanted.error);
    }
  }
}

}  // namespace
}  // namespace penstock::testing
