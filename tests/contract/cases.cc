#include "tests/contract/cases.h"

#include <cctype>
#include <cstdlib>

#include "tests/support/rebuild.h"

namespace penstock::testing {

std::string Case::name() const {
  std::string text = op + "_" + example->name;
  if (with_errors) text += " with errors";
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

Dataset Case::make(Options options) const {
  Dataset dataset = example->make();
  if (with_errors) {
    dataset = with_inputs_wrapped(dataset, op, failing).value();
  }
  options.seed = 20;
  return dataset.with_options(std::move(options));
}

Outcomes Case::expected() const { return run(make(), example->limit); }

void Case::expect_same(const Outcomes& got, const Outcomes& wanted,
                       const std::string& how) const {
  if (example->ordered) {
    EXPECT_EQ(got, wanted) << how;
  } else {
    EXPECT_EQ(sorted(got), sorted(wanted)) << how;
  }
}

std::vector<Configuration> configurations(const Case& c) {
  return {
      {"one worker", {.cpu_budget = 1}},
      {"two workers", {.cpu_budget = 2}},
      {"eight workers", {.cpu_budget = 8}},
      {"blocks of 1", {.max_block_rows = 1}},
      {"blocks of 2", {.max_block_rows = 2}},
      {"blocks of 3", {.max_block_rows = 3}},
      {"blocks of 7", {.max_block_rows = 7}},
      {"every stage cut", {.fuse = false}},
      {"every stage cut, one worker, blocks of 2",
       {.cpu_budget = 1, .fuse = false, .max_block_rows = 2}},
      {"little memory", {.memory_budget = c.example->tight_memory}},
  };
}

std::vector<Case> plain_cases() {
  std::vector<Case> out;
  for (const auto& [op, examples] : ExampleRegistry::get().all()) {
    for (const Example& example : examples) out.push_back({op, &example});
  }
  return out;
}

std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const Case& c : plain_cases()) {
    out.push_back(c);
#ifdef PENSTOCK_SANITIZED
    // Ten times slower; soak runs them all: PENSTOCK_ALL_CASES=1.
    if (out.size() % 4 != 0 && std::getenv("PENSTOCK_ALL_CASES") == nullptr) {
      continue;
    }
#endif
    if (with_inputs_wrapped(c.example->make(), c.op, failing)) {
      out.push_back({c.op, c.example, true});
    }
  }
  return out;
}

}  // namespace penstock::testing
