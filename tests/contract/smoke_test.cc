#include <gtest/gtest.h>

#include "tests/support/example.h"

namespace penstock::testing {
namespace {

TEST(Examples, GiveWhatTheirModelsSay) {
  for (const auto& [op, examples] : ExampleRegistry::get().all()) {
    for (const Example& example : examples) {
      if (!example.model) continue;
      EXPECT_EQ(example.make().to_list(), example.model())
          << op << ": " << example.name;
    }
  }
}

}  // namespace
}  // namespace penstock::testing
