// Random pipelines against their models, in random configurations.
//
// PENSTOCK_RANDOM_GRAPH_SEEDS says how many (300), PENSTOCK_RANDOM_GRAPH_FIRST
// where to begin (0): a failing seed runs alone with FIRST=seed SEEDS=1.
#include "tests/support/random_graph.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "penstock/runtime/simulation.h"

namespace penstock::testing {
namespace {

std::int64_t number_from(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : otherwise;
}

// Builds the graph of `seed` again: a new Dataset object of an equal graph.
Graph build(std::uint64_t seed) {
  Choices choices(seed);
  const int stages = static_cast<int>(choices.between(1, 9));
  return random_graph(choices, stages);
}

std::string check(std::uint64_t seed, const Graph& graph) {
  Choices choices(mix64(seed, 1));
  const auto limit = static_cast<std::int64_t>(graph.model.size()) + 10;
  const Cardinality declared = graph.dataset.cardinality();
  const auto size = static_cast<std::int64_t>(graph.model.size());
  if (!declared.is_unknown() && declared != Cardinality(size)) {
    return absl::StrCat("the cardinality is ", declared.to_string(),
                        ", but there are ", size, " elements");
  }
  for (int i = 0; i < 4; ++i) {
    const Options options = i == 0 ? Options{} : random_options(choices);
    const Outcomes got = run(graph.dataset.with_options(options), limit);
    std::string text = difference(got, graph.model);
    if (!text.empty()) return absl::StrCat("run ", i, ": ", text);
    for (const Outcome& o : got) {
      if (!o.ok()) continue;
      const Status fits = graph.dataset.element_spec().check(o.element);
      if (!fits.ok()) return fits.ToString();
    }
  }
  for (int i = 0; i < 3; ++i) {
    Iterator it =
        graph.dataset.with_options(random_options(choices)).iterator();
    const std::int64_t at = choices.below(size + 1);
    (void)take_some(it, at);
    // In a new Dataset object, twice in a row, under other options.
    Iterator again = build(seed)
                         .dataset.with_options(random_options(choices))
                         .iterator(it.state_dict());
    const std::int64_t further = choices.below(size - at + 1);
    (void)take_some(again, further);
    Iterator third = build(seed)
                         .dataset.with_options(random_options(choices))
                         .iterator(again.state_dict());
    const std::span<const ModelElement> all(graph.model);
    std::string text =
        difference(take_some(third, limit),
                   all.subspan(static_cast<std::size_t>(at + further)));
    if (!text.empty()) {
      return absl::StrCat("restored after ", at, " and after ", further,
                          " more: ", text);
    }
  }
  for (int i = 0; i < 3 && graph.dataset.node()->indexed && size > 0; ++i) {
    const std::int64_t at = choices.below(size);
    Outcome got;
    try {
      got.element = graph.dataset.at(at);
    } catch (const Error& e) {
      got.error = e.status();
    }
    const ModelElement& wanted = graph.model[static_cast<std::size_t>(at)];
    if (!wanted.matches(got)) {
      return absl::StrCat("at(", at, ") is ", got.to_string(), " instead of ",
                          wanted.to_string());
    }
  }
  return "";
}

TEST(RandomGraphs, GiveWhatTheirModelsSay) {
  const auto first = number_from("PENSTOCK_RANDOM_GRAPH_FIRST", 0);
  const auto seeds = number_from("PENSTOCK_RANDOM_GRAPH_SEEDS", 300);
  int failures = 0;
  for (std::int64_t i = first; i < first + seeds && failures < 5; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    std::string graph_text = "(not built)";
    std::string text;
    try {
      const Graph graph = build(seed);
      graph_text = graph.dataset.explain();
      text = check(seed, graph);
    } catch (const std::exception& e) {
      text = e.what();
    }
    if (text.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << text << "\n" << graph_text;
  }
}

// Saved and restored every few elements, each time by another simulated
// schedule.
std::string check_in_pieces(std::uint64_t seed, const Graph& graph) {
  Choices choices(mix64(seed, 2));
  const std::int64_t piece = choices.between(1, 4);
  Outcomes got;
  std::string state;
  for (std::uint64_t turn = 0;; ++turn) {
    SimulationOptions options;
    options.seed = mix64(seed, turn);
    options.workers = static_cast<int>(choices.between(1, 4));
    options.overdue = choices.chance(30) ? 0.6 : 0.05;
    Simulation simulation(options);
    Iterator it = graph.dataset.with_options(random_options(choices))
                      .iterator_on(simulation, state);
    const Outcomes some = take_some(it, piece);
    got.insert(got.end(), some.begin(), some.end());
    if (simulation.stuck()) {
      return absl::StrCat("stuck after ", got.size(), " elements");
    }
    if (static_cast<std::int64_t>(some.size()) < piece ||
        got.size() > graph.model.size()) {
      break;
    }
    state = it.state_dict();
  }
  std::string text = difference(got, graph.model);
  if (text.empty()) return text;
  return absl::StrCat("restored every ", piece, " elements: ", text);
}

TEST(RandomGraphs, GoOnWhereverTheyAreSavedUnderSimulatedSchedules) {
  const auto first = number_from("PENSTOCK_RANDOM_GRAPH_FIRST", 0);
  const auto seeds = number_from("PENSTOCK_RANDOM_GRAPH_SEEDS", 300) / 4 + 1;
  int failures = 0;
  for (std::int64_t i = first; i < first + seeds && failures < 5; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    std::string graph_text = "(not built)";
    std::string text;
    try {
      const Graph graph = build(seed);
      graph_text = graph.dataset.explain();
      text = check_in_pieces(seed, graph);
    } catch (const std::exception& e) {
      text = e.what();
    }
    if (text.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << text << "\n" << graph_text;
  }
}

}  // namespace
}  // namespace penstock::testing
