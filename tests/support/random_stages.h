// The kinds of stages that random graphs are made of, and what their models
// share. random_graph.cc has those of the base operators, random_stages.cc the
// others.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "tests/support/random_graph.h"

namespace penstock::testing {

constexpr std::size_t kMaxElements = 300;

struct StageKind {
  const char* name;
  bool (*fits)(const Graph&);
  void (*add)(Graph&, Choices&);
};

std::span<const StageKind> more_stages();

std::uint64_t hash_of(const Element& element);
ModelElement failure(std::string text);
/// Drops or changes values; errors stay where they are.
Model each_value(const Model& in,
                 const std::function<void(const Element&, Model&)>& fn);
/// Takes the order from a run on one worker with blocks of 1, after checking
/// that it is a permutation of the model (unless elements may be other ones,
/// under a repeat).
void take_order(Graph& graph, bool permutation);
ModelElement batched(std::span<const ModelElement> group);

bool always(const Graph&);
bool of_scalars(const Graph& g);

}  // namespace penstock::testing
