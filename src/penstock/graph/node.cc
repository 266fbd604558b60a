#include "penstock/graph/node.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Planning, running and destroying go from stage to stage, up to 800 bytes of
// stack for each of them, and threads have 8 MiB.
constexpr int kMaxStages = 4000;

/// Of `node` with all that lies under it. A dataset may be used twice, and what
/// it is made of twice again: `known` has those that were visited.
Fingerprint fingerprint_of(
    const Node& node, std::unordered_map<const Node*, Fingerprint>& known) {
  if (const auto it = known.find(&node); it != known.end()) return it->second;
  Fingerprint fp;
  fp.add(node.op->op());
  node.op->add_to(fp);
  fp.add(node.inputs.size());
  for (const NodeRef& input : node.inputs) {
    const Fingerprint below = fingerprint_of(*input, known);
    fp.add(below.low());
    fp.add(below.high());
  }
  known.emplace(&node, fp);
  return fp;
}

/// The state's position in `node` is its position in the only input.
bool keeps_position(const Node& node) {
  if (!node.indexed || node.inputs.size() != 1) return false;
  for (const Part& part : node.op->lower()) {
    const bool mapped = part.transform && part.transform->traits().one_to_one;
    if (!mapped && !part.limit) return false;
  }
  return true;
}

/// The state's position in `node` is one in what its only input has by index.
bool groups_by_index(const Node& node) {
  return node.indexed && node.op->indexed()->group_size() > 0 &&
         runs_by_index(*node.inputs.front());
}

void add_shards(Fingerprint& fp, const Node& node, const Node* movable,
                std::unordered_set<const Node*>& visited, bool& any) {
  if (!visited.insert(&node).second) return;
  const IndexedOp* op = node.op->indexed();
  if (op != nullptr && op->num_shards() > 0 && &node != movable) {
    any = true;
    fp.add(static_cast<std::uint64_t>(op->num_shards()));
    fp.add(static_cast<std::uint64_t>(op->shard_index()));
  }
  for (const NodeRef& input : node.inputs) {
    add_shards(fp, *input, movable, visited, any);
  }
}

class NodeInputs final : public IndexInputs {
 public:
  NodeInputs(const Node& node, const Epoch& epoch,
             const std::atomic<bool>* cancel_flag, const std::string& prefix)
      : node_(node),
        epoch_(epoch),
        cancel_flag_(cancel_flag),
        prefix_(prefix) {}

  std::int64_t size(int input) const override {
    const Cardinality c =
        node_.inputs[static_cast<std::size_t>(input)]->cardinality;
    return c.is_infinite() ? std::numeric_limits<std::int64_t>::max()
                           : c.value();
  }
  Status read(int input, const IndexRun& run,
              std::vector<Block>& out) override {
    return read_in(epoch_, input, run, out);
  }
  Status read_in(const Epoch& epoch, int input, const IndexRun& run,
                 std::vector<Block>& out) override {
    std::string prefix = prefix_;
    if (node_.inputs.size() > 1) {
      prefix = absl::StrCat(node_.stage(prefix_).to_string(), "[", input, "].");
    }
    return read_indexed(*node_.inputs[static_cast<std::size_t>(input)], run,
                        epoch, cancel_flag_, prefix, out);
  }

 private:
  const Node& node_;
  const Epoch& epoch_;
  const std::atomic<bool>* cancel_flag_;
  const std::string& prefix_;
};

void explain_into(const Node& node, const std::string& indent,
                  std::string& out) {
  if (node.index < 0) return;
  const auto& inputs = node.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool branch = inputs.size() > 1;
    if (branch) absl::StrAppend(&out, indent, "[", i, "]");
    const auto same = std::find(inputs.begin(), inputs.begin() + i, inputs[i]);
    if (same != inputs.begin() + i) {
      absl::StrAppend(&out, " as [", same - inputs.begin(), "]\n");
      continue;
    }
    if (branch) out += "\n";
    explain_into(*inputs[i], branch ? indent + "  " : indent, out);
  }
  absl::StrAppend(&out, indent, node.stage().to_string(), "  ",
                  node.op->describe(), "  -> ", node.spec.to_string(), ", ",
                  node.cardinality.to_string(),
                  node.cardinality.finite() ? " elements" : "",
                  node.indexed ? ", indexed" : "", "\n");
}

}  // namespace

StatusOr<NodeRef> Node::make(std::shared_ptr<const Operator> op,
                             std::vector<NodeRef> inputs, std::string name) {
  auto node = std::make_shared<Node>();
  std::vector<Spec> specs;
  std::vector<Cardinality> cardinalities;
  bool indexed = op->indexed() != nullptr;
  bool cheap = op->cheap();
  bool all_kept = true;
  int index = -1;
  for (const NodeRef& input : inputs) {
    specs.push_back(input->spec);
    cardinalities.push_back(input->cardinality);
    indexed = indexed && input->indexed;
    cheap = cheap && input->cheap;
    all_kept = all_kept && input->kept;
    node->error_policy |= input->error_policy;
    node->any_order |= input->any_order;
    node->options = node->options.over(input->options);
    index = std::max(index, input->index);
  }
  if (inputs.size() > 1) {
    // To skip errors of one branch of a zip must not do so in another.
    node->options.on_error = {};
    node->options.deterministic.reset();
  }
  if (const Options* options = op->options()) {
    node->error_policy |= options->on_error.kind != ErrorPolicy::Kind::kInherit;
    node->any_order |= !options->deterministic.value_or(true);
    node->options = options->over(node->options);
  }
  node->kept = op->memory() == Memory::kKept ||
               (op->memory() == Memory::kInputs && all_kept);
  if (index + 1 >= kMaxStages) {
    return invalid_argument(to_absl(op->op()), ": a chain has at most ",
                            kMaxStages,
                            " stages; give a function more to do, or read many "
                            "datasets by one flat_map or sample_from_datasets");
  }
  auto spec = op->output_spec(specs);
  if (!spec.ok()) {
    return annotate(spec.status(), absl::StrCat(to_absl(op->op()), ": "));
  }
  node->spec = *std::move(spec);
  node->cardinality = op->cardinality(cardinalities);
  node->op = std::move(op);
  node->inputs = std::move(inputs);
  node->name = std::move(name);
  node->index = index + 1;
  node->cheap = cheap;
  node->indexed = indexed && !node->cardinality.is_unknown();
  return node;
}

StageInfo Node::stage(std::string prefix) const {
  return {std::string(op->op()), index, name, std::move(prefix)};
}

std::string Node::fingerprint() const {
  // Options at the end say how it runs and are no stage of the data: a state
  // moves to a pipeline that was given others, or none. Only the order shows in
  // what a state holds.
  const Node* top = this;
  while (top->op->op() == "with_options") top = top->inputs.front().get();
  std::unordered_map<const Node*, Fingerprint> known;
  Fingerprint fp = fingerprint_of(*top, known);
  if (!options.deterministic.value_or(!any_order)) fp.add("any order");
  return fp.hex();
}

InheritedOptions inherited_by(const Node& chain,
                              const InheritedOptions& outer) {
  if (outer && !chain.error_policy && !chain.any_order) return outer;
  Options own;
  own.on_error = chain.options.on_error;
  own.deterministic = chain.options.deterministic;
  return std::make_shared<const Options>(outer ? outer->over(own) : own);
}

std::string random_access_ends_at(const Node& top, std::string_view said) {
  std::string prefix;
  for (const Node* node = &top;;) {
    const auto& inputs = node->inputs;
    const auto ends =
        std::find_if(inputs.begin(), inputs.end(),
                     [](const NodeRef& input) { return !input->indexed; });
    if (ends == inputs.end()) {
      const std::string_view why = node->op->why_in_order();
      return absl::StrCat(node->stage(prefix).to_string(), " ", to_absl(said),
                          why.empty() ? "" : ": ", to_absl(why));
    }
    if (inputs.size() > 1) {
      prefix = absl::StrCat(node->stage(prefix).to_string(), "[",
                            ends - inputs.begin(), "].");
    }
    node = ends->get();
  }
}

bool runs_by_index(const Node& top) {
  for (const Node* n = &top;; n = n->inputs.front().get()) {
    if (!n->indexed) return false;
    const std::vector<Part> parts = n->op->lower();
    if (n->inputs.empty()) return parts.front().source != nullptr;
    if (n->inputs.size() > 1) return false;
    if (n->op->indexed()->needs_random_access()) return true;
    if (n->op->indexed()->is_map()) continue;
    if (parts.size() != 1 || !parts.front().transform ||
        !parts.front().transform->traits().one_to_one) {
      return false;
    }
  }
}

std::uint64_t Node::fixed_shards() const {
  const Node* movable = this;
  bool grouped = false;
  while (keeps_position(*movable) ||
         (movable->indexed && movable->op->indexed()->repeats() &&
          runs_by_index(*movable)) ||
         (!grouped && groups_by_index(*movable))) {
    grouped |= groups_by_index(*movable);
    movable = movable->inputs.front().get();
  }
  if (!movable->indexed || movable->op->indexed()->num_shards() == 0) {
    movable = nullptr;
  }
  Fingerprint fp;
  std::unordered_set<const Node*> visited;
  bool any = false;
  add_shards(fp, *this, movable, visited, any);
  return any ? fp.low() : 0;
}

std::string explain_graph(const Node& node) {
  std::string out;
  explain_into(node, "", out);
  return out;
}

std::uint64_t stage_salt(const StageInfo& stage) {
  Fingerprint fp;
  fp.add(stage.prefix);
  fp.add(stage.op);
  fp.add(static_cast<std::uint64_t>(stage.index));
  return fp.low();
}

namespace {

/// A stage and its salt, shared by the reads of a thread.
struct KnownStage {
  StageInfo info;
  std::uint64_t salt;
};

// Nested datasets are read by the million, each a graph of its own, under the
// same few stages: making the names anew costs more than the elements.
std::shared_ptr<const KnownStage> known_stage(const Node& node,
                                              const std::string& prefix) {
  constexpr std::size_t kEntries = 8;
  thread_local std::array<std::shared_ptr<const KnownStage>, kEntries> known;
  const std::string_view op = node.op->op();
  auto& entry = known[(static_cast<std::size_t>(node.index) + op.size() * 3 +
                       prefix.size()) %
                      kEntries];
  if (entry == nullptr || entry->info.op != op ||
      entry->info.index != node.index || entry->info.name != node.name ||
      entry->info.prefix != prefix) {
    StageInfo info = node.stage(prefix);
    const std::uint64_t salt = stage_salt(info);
    entry =
        std::make_shared<const KnownStage>(KnownStage{std::move(info), salt});
  }
  return entry;
}

}  // namespace

Status read_indexed(const Node& node, const IndexRun& run, const Epoch& epoch,
                    const std::atomic<bool>* cancel_flag,
                    const std::string& prefix, std::vector<Block>& out) {
  const auto stage = known_stage(node, prefix);
  CallContext context;
  context.stage = &stage->info;
  context.epoch = epoch;
  context.stage_salt = stage->salt;
  context.cancel_flag = cancel_flag;
  context.path = run.path;
  NodeInputs inputs(node, epoch, cancel_flag, prefix);
  return node.op->indexed()->read(run, inputs, context, out);
}

std::string DatasetObject::to_string() const {
  return absl::StrCat("<dataset of ", node->spec.to_string(), ">");
}

}  // namespace penstock
