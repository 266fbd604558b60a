// A node of the user's graph. Immutable; building one reads no data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "penstock/graph/operator.h"

namespace penstock {

struct Node {
  std::shared_ptr<const Operator> op;
  std::vector<NodeRef> inputs;
  std::string name;
  Spec spec;
  Cardinality cardinality;
  int index = 0;  // along the chain; a source is 0; -1: made for a source
  bool indexed = false;       // random access reaches down to the sources
  bool cheap = false;         // Operator::cheap() holds down to the sources
  bool error_policy = false;  // options below say something on errors
  bool any_order = false;     // options below say deterministic=false
  bool kept = false;          // elements come as they are from what keeps them
  /// Of all with_options stages, the outermost first. `on_error` and
  /// `deterministic` end where branches meet: see inherited_by().
  Options options;

  /// Checks the inputs' specs and derives the node's own.
  static StatusOr<NodeRef> make(std::shared_ptr<const Operator> op,
                                std::vector<NodeRef> inputs,
                                std::string name = "");

  StageInfo stage(std::string prefix = "") const;
  /// Identifies the graph: equal graphs give equal elements.
  std::string fingerprint() const;
  /// Identifies the shards of the graph that a state cannot leave: all but one
  /// that only index-preserving stages and repeats lie behind. 0 without any.
  std::uint64_t fixed_shards() const;
};

/// Every node down to a source, or to one that needs random access, maps
/// indices or elements: the chain runs without a sequencer.
bool runs_by_index(const Node& top);

/// The `on_error` and `deterministic` that stages of `chain` inherit: those
/// given behind it (`outer`, may be null), or else in it.
using InheritedOptions = std::shared_ptr<const Options>;
InheritedOptions inherited_by(const Node& chain, const InheritedOptions& outer);

/// The stage nearest the source that ends random access, and what it is said to
/// be ("does not give it"), with the reason where there is one; `top` is not
/// indexed.
std::string random_access_ends_at(const Node& top, std::string_view said);

/// The graph as text, one line per stage, sources first.
std::string explain_graph(const Node& node);

/// Elements at output indices `run` of an indexed node.
Status read_indexed(const Node& node, const IndexRun& run, const Epoch& epoch,
                    const std::atomic<bool>* cancel_flag,
                    const std::string& prefix, std::vector<Block>& out);

/// Salt of a stage's random values: its position in the chain and its branch.
std::uint64_t stage_salt(const StageInfo& stage);

/// A nested dataset as an element's value.
class DatasetObject final : public Object {
 public:
  /// `bytes`: payload that only this object keeps alive.
  explicit DatasetObject(NodeRef nested, std::int64_t bytes = 0)
      : node(std::move(nested)), bytes_(bytes) {}
  std::string to_string() const override;
  std::int64_t byte_size() const override { return 64 + bytes_; }
  const NodeRef node;

 private:
  const std::int64_t bytes_;
};

}  // namespace penstock
