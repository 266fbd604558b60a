// Fuzzes pipelines: bytes choose stages, parameters and options.
//
// Whatever was built must give what its model says, in a second configuration
// too, and continue from a state in the middle.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/random_graph.h"

namespace {

using penstock::testing::Graph;

void require(const std::string& difference, const Graph& graph) {
  if (difference.empty()) return;
  std::fprintf(stderr, "%s\n%s", difference.c_str(),
               graph.dataset.explain().c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace penstock::testing;  // NOLINT
  Choices choices(std::span<const std::uint8_t>(data, size));
  const penstock::Options options = random_options(choices);
  const std::int64_t percent = choices.below(101);
  const Graph graph = random_graph(choices, 12);
  const auto limit = static_cast<std::int64_t>(graph.model.size()) + 10;
  require(difference(run(graph.dataset, limit), graph.model), graph);

  const penstock::Dataset other = graph.dataset.with_options(options);
  penstock::Iterator it = other.iterator();
  const std::size_t at =
      graph.model.size() * static_cast<std::size_t>(percent) / 100;
  (void)take_some(it, static_cast<std::int64_t>(at));
  penstock::Iterator again = other.iterator(it.state_dict());
  require(
      difference(take_some(again, limit), std::span(graph.model).subspan(at)),
      graph);
  return 0;
}
