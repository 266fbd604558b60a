#include "tests/support/example.h"

namespace penstock::testing {

ExampleRegistry& ExampleRegistry::get() {
  static auto* const registry = new ExampleRegistry;
  return *registry;
}

void ExampleRegistry::add(const std::string& op,
                          std::vector<Example> examples) {
  entries_.emplace_back(op, std::move(examples));
}

std::vector<Element> scalars(const std::vector<std::int64_t>& values) {
  std::vector<Element> out;
  for (std::int64_t v : values) out.emplace_back(Tensor::scalar(v));
  return out;
}

}  // namespace penstock::testing
