#include "tests/support/rebuild.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace penstock::testing {
namespace {

std::atomic<int> g_jitter{0};

NodeRef rebuild(const NodeRef& node, const std::string& op,
                const std::function<Dataset(const Dataset&)>& wrap,
                bool& wrapped) {
  std::vector<NodeRef> inputs;
  for (const NodeRef& input : node->inputs) {
    NodeRef again = rebuild(input, op, wrap, wrapped);
    if (op.empty() || node->op->op() == op) {
      again = wrap(Dataset(again)).node();
      wrapped = true;
    }
    inputs.push_back(std::move(again));
  }
  return detail::value_or_throw(
      Node::make(node->op, std::move(inputs), node->name));
}

}  // namespace

std::optional<Dataset> with_inputs_wrapped(
    const Dataset& dataset, const std::string& op,
    const std::function<Dataset(const Dataset&)>& wrap) {
  bool wrapped = false;
  try {
    NodeRef node = rebuild(dataset.node(), op, wrap, wrapped);
    if (!wrapped) return std::nullopt;
    return Dataset(std::move(node));
  } catch (const Error&) {
    return std::nullopt;
  }
}

Dataset failing(const Dataset& dataset) {
  return dataset.map(
      [](const Element& element, RandomStream& random) -> StatusOr<Element> {
        if (random.below(4) == 0) return absl::DataLossError("planted");
        return element;
      },
      {.output_signature = dataset.element_spec(), .name = "failing"});
}

Dataset jittery(const Dataset& dataset) {
  return dataset.map(
      [](const Element& element, RandomStream& random) {
        if (g_jitter.load(std::memory_order_relaxed) > 0) {
          const std::uint64_t us = random.below(8) * random.below(40);
          if (us > 30) {
            std::this_thread::sleep_for(std::chrono::microseconds(us));
          }
        }
        return element;
      },
      {.output_signature = dataset.element_spec()});
}

JitterScope::JitterScope() { g_jitter.fetch_add(1); }
JitterScope::~JitterScope() { g_jitter.fetch_sub(1); }

}  // namespace penstock::testing
