// From the user's graph to pipes.
//
// A chain of operators is flattened to parts (source first), which are grouped:
//   - index mappings directly above an indexed source disappear into the index
//     chain the first segment starts from;
//   - transforms run of one to one in front of a shuffle move behind it;
//   - consecutive transforms share a segment; an explicit num_parallel_calls,
//     a sequencer or a prefetch(n) cuts.
// Places to restore (marks) are peeled off from the consumer's end in the same
// pass, so that a state fits however the plan is cut.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "penstock/ops/joined_maps.h"
#include "penstock/ops/on_error/on_error.h"
#include "penstock/ops/shard/shard.h"
#include "penstock/ops/unused_work.h"
#include "penstock/runtime/pipe.h"

namespace penstock {
namespace {

struct PlannedPart {
  Part part;
  const Node* node;
  Stage* stage;
  // Where to restore the output of this part.
  Mark mark;
  bool last = true;  // of the parts of its node
};

/// Emits the indices of a chain, for sequencers that permute positions.
class Positions final : public Sequencer {
 public:
  Positions(std::int64_t begin, const IndexChain& chain)
      : begin_(begin),
        end_(chain.size),
        num_shards_(chain.num_shards),
        period_(chain.period) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.num_inputs = 0;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext&) const override {
    auto state = std::make_unique<Next>();
    state->index = begin_;
    return state;
  }
  StatusOr<Step> step(SequencerState& s, Inputs&, Outputs& out) const override {
    auto& state = s.as<Next>();
    const std::int64_t n = std::min(out.room(), end_ - state.index);
    if (n > 0) out.emit(Rows::lazy(state.index, n));
    state.index += n;
    return state.index >= end_ ? Step::end() : Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    // As an indexed segment writes it: restore_index() reads both.
    writer.own.i64(s.as<Next>().index);
    writer.own.i64(num_shards_);
    writer.own.i64(period_);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    s.as<Next>().index = own.i64();
    return absl::OkStatus();
  }

 private:
  struct Next : SequencerState {
    std::int64_t index = 0;
  };
  std::int64_t begin_;
  std::int64_t end_;
  std::int64_t num_shards_;
  std::int64_t period_;
};

std::int64_t size_of(const Node& node) {
  return node.cardinality.is_infinite()
             ? std::numeric_limits<std::int64_t>::max()
             : node.cardinality.value();
}

Mark inner_mark(const Mark& mark) {
  if (!mark.snapshot || mark.snapshot->inputs.empty()) return {};
  return mark.snapshot->inputs.front();
}

bool one_to_one(const Part& part) {
  return part.transform && part.transform->traits().one_to_one;
}

bool opens_inputs(const Node& node) {
  for (const Part& part : node.op->lower()) {
    if (part.sequencer && part.sequencer->traits().opens_inputs) return true;
  }
  return false;
}

/// Strings that go into the parts come out as they are, where they are.
bool only_arrange(const std::vector<PlannedPart>& parts) {
  for (const PlannedPart& at : parts) {
    const Part& part = at.part;
    if (part.transform && !part.transform->traits().arranges) return false;
    if (part.sequencer && part.sequencer->traits().permutes) return false;
  }
  return true;
}

/// What restore_index() reads.
struct SavedIndex {
  std::int64_t index = 0;
  std::int64_t shards = 1;
  std::int64_t period = 0;
};

StatusOr<SavedIndex> read_index(const Snapshot& snapshot) {
  Decoder own(snapshot.own);
  SavedIndex saved;
  saved.index = own.i64();
  saved.shards = own.i64();
  saved.period = own.i64();
  PS_RETURN_IF_ERROR(own.status("state of an indexed source"));
  if (saved.index < 0 || saved.shards < 1 || saved.period < 0) {
    return absl::DataLossError("state: bad position of an indexed source");
  }
  return saved;
}

Status keeps_no_order() {
  return absl::FailedPreconditionError(
      "state: a stage behind the shard that keeps no order does not move to "
      "another number of shards");
}

/// Prefix of the stages of `input`, if it is one of the inputs of `stage`, or
/// one of those of an input that the stage opens in its place (concatenate):
/// the branches of `path` behind `base` lead there.
std::optional<std::string> prefix_of_input(const StageInfo& stage,
                                           const std::vector<NodeRef>& own,
                                           const PathRef& base,
                                           const Node& input,
                                           const PathRef& path) {
  if (own.size() == 1) {
    if (own.front().get() != &input) return std::nullopt;
    return stage.prefix;
  }
  std::vector<std::size_t> branches;
  for (const OriginPath* at = path.get(); at != nullptr && at != base.get();
       at = at->parent().get()) {
    if (at->kind() != OriginPath::Kind::kBranch) return std::nullopt;
    branches.push_back(static_cast<std::size_t>(at->ordinal()));
  }
  std::string prefix = stage.to_string();
  const std::vector<NodeRef>* inputs = &own;
  while (!branches.empty() && branches.back() < inputs->size()) {
    const std::size_t branch = branches.back();
    const Node& next = *(*inputs)[branch];
    absl::StrAppend(&prefix, "[", branch, "].");
    branches.pop_back();
    if (branches.empty() && &next == &input) return prefix;
    absl::StrAppend(&prefix, next.stage().to_string());
    inputs = &next.inputs;
  }
  return std::nullopt;
}

class Planner {
 public:
  Planner(Run& run, std::string prefix, const Epoch& epoch, PathRef path,
          InheritedOptions inherited)
      : run_(run),
        prefix_(std::move(prefix)),
        epoch_(epoch),
        path_(std::move(path)),
        inherited_(std::move(inherited)) {}

  StatusOr<std::unique_ptr<Pipe>> plan(const NodeRef& top, Mark mark,
                                       bool bounded);

 private:
  Stage* stage_of(const Node& node) {
    return run_.new_stage(node.stage(prefix_));
  }
  bool flattens(const Node& node) const;
  /// Results of the transform keep the order of its input.
  bool in_order(const Part& part) const {
    const TransformTraits traits = part.transform->traits();
    return traits.deterministic.value_or(!traits.user_code || deterministic());
  }
  bool deterministic() const {
    return inherited_->deterministic.value_or(run_.config().deterministic);
  }
  Status restore_index(IndexChain& chain, const Mark& mark,
                       std::int64_t& next) const;
  Status move_to_shards(const std::vector<PlannedPart>& parts,
                        const IndexChain& chain, Mark& mark) const;
  Status move_shard(const std::vector<PlannedPart>& parts, Mark& mark) const;
  SegmentPipe* open_segment();
  void join_maps();
  Status close_segment();
  Status add_sequencer(const PlannedPart& at, std::int64_t limit);

  Run& run_;
  const std::string prefix_;
  const Epoch epoch_;
  const PathRef path_;
  const InheritedOptions inherited_;

  std::unique_ptr<Pipe> below_;           // finished so far
  std::unique_ptr<SegmentPipe> segment_;  // being filled
  std::optional<IndexChain> lazy_chain_;  // rows below_ gives are positions
  const Spec* rows_spec_ = nullptr;  // of what was planned last, if it is known
  std::int64_t granularity_ = 1;
  bool below_is_sequencer_ = false;
};

// The node's work is done by mapping indices, or one to one per element.
bool Planner::flattens(const Node& node) const {
  if (!node.indexed) return false;
  if (node.op->indexed()->is_map()) return true;
  const std::vector<Part> parts = node.op->lower();
  return parts.size() == 1 && one_to_one(parts.front());
}

SegmentPipe* Planner::open_segment() {
  if (segment_) return segment_.get();
  segment_ = std::make_unique<SegmentPipe>(run_);
  if (auto* below = dynamic_cast<SegmentPipe*>(below_.get())) {
    segment_->input_ordered = below->ordered;
  }
  segment_->input = std::move(below_);
  segment_->granularity = granularity_;
  segment_->path = path_;
  segment_->epoch = epoch_;
  if (lazy_chain_) {
    segment_->chain = std::move(lazy_chain_);
    segment_->user_code = segment_->chain->user_code;
    lazy_chain_.reset();
  }
  granularity_ = 1;
  return segment_.get();
}

// Maps on pictures become one where that saves work.
void Planner::join_maps() {
  auto& links = segment_->links;
  for (std::size_t i = 1; i < links.size();) {
    SegmentPipe::Link& first = links[i - 1];
    SegmentPipe::Link& second = links[i];
    ops::JoinedMaps joined =
        ops::join_maps(*first.transform, *second.transform);
    if (joined.transform &&
        (first.traits.max_parallel != 0 || second.traits.max_parallel != 0)) {
      joined = {nullptr, "not fused: num_parallel_calls is given", false};
    }
    if (!joined.note.empty()) {
      segment_->notes.push_back(absl::StrCat(
          first.stage->label, " and ", second.stage->label, ": ", joined.note));
    }
    if (!joined.transform) {
      ++i;
      continue;
    }
    // Its time and its errors are those of the first, which decodes; what it
    // draws is drawn for the stage that was written to draw.
    if (joined.random) first.draws = second.draws_for();
    first.joined.push_back(second.stage);
    first.joined.insert(first.joined.end(), second.joined.begin(),
                        second.joined.end());
    first.traits = joined.transform->traits();
    first.transform = std::move(joined.transform);
    links.erase(links.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Status Planner::close_segment() {
  if (!segment_) return absl::OkStatus();
  join_maps();
  std::vector<std::shared_ptr<const Transform>*> transforms;
  for (auto& link : segment_->links) transforms.push_back(&link.transform);
  for (auto& [i, leaves] : ops::drop_unused_work(transforms)) {
    segment_->notes.push_back(absl::StrCat(segment_->links[i].stage->label,
                                           " does not compute ", leaves,
                                           ": nothing reads it"));
  }
  if (rows_spec_ != nullptr) segment_->expect_bytes(*rows_spec_);
  segment_->expect_as_before();
  if (segment_->user_code) run_.note_user_code();
  below_ = std::move(segment_);
  below_is_sequencer_ = false;
  return absl::OkStatus();
}

Status Planner::restore_index(IndexChain& chain, const Mark& mark,
                              std::int64_t& next) const {
  next = mark.skip;
  if (mark.snapshot) {
    PS_ASSIGN_OR_RETURN(const SavedIndex saved, read_index(*mark.snapshot));
    const auto [index, shards, period] = saved;
    if (__builtin_add_overflow(next, index, &next)) {
      return absl::DataLossError("state: bad position of an indexed source");
    }
    if (shards != chain.num_shards || period != chain.period) {
      // The same global position, seen from another number of shards; in the
      // same repetition, if there are any.
      const std::int64_t repetition = period > 0 ? next / period : 0;
      std::int64_t global = period > 0 ? next % period : next;
      if (__builtin_mul_overflow(global, shards, &global)) {
        return absl::DataLossError("state: bad position of an indexed source");
      }
      next = global <= chain.shard_index
                 ? 0
                 : (global - chain.shard_index - 1) / chain.num_shards + 1;
      if (chain.period > 0) next = std::min(next, chain.period);
      std::int64_t before = 0;
      if (__builtin_mul_overflow(repetition, chain.period, &before) ||
          __builtin_add_overflow(next, before, &next)) {
        return absl::DataLossError("state: bad position of an indexed source");
      }
    }
  }
  if (next < 0) return absl::DataLossError("state: negative position");
  next = std::min(next, chain.size);
  return absl::OkStatus();
}

// A state of other shards: elements to drop behind a batch were counted in
// batches of those. They become elements of the chain, which counts them anew.
Status Planner::move_to_shards(const std::vector<PlannedPart>& parts,
                               const IndexChain& chain, Mark& mark) const {
  std::vector<Mark> levels = {mark};  // of what the parts give, consumer first
  std::int64_t group = 0;
  bool ordered = true;
  for (const PlannedPart& at : parts) {
    if (at.part.limit) continue;
    const bool in_order = at.part.sequencer || this->in_order(at.part);
    ordered &= in_order;
    if (in_order && one_to_one(at.part)) continue;
    levels.push_back(inner_mark(levels.back()));
    const IndexedOp* op = at.node->op->indexed();
    if (op != nullptr) group = op->group_size();
  }
  const Mark& source = levels.back();
  if (!source.snapshot) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(const SavedIndex saved, read_index(*source.snapshot));
  if (saved.shards == chain.num_shards && saved.period == chain.period) {
    return absl::OkStatus();
  }
  if (!ordered) return keeps_no_order();
  if (levels.size() == 1) return absl::OkStatus();
  std::int64_t dropped = 0;
  if (levels.size() != 3 || group == 0 ||
      __builtin_mul_overflow(levels[0].skip, group, &dropped) ||
      __builtin_add_overflow(dropped, levels[1].skip, &dropped) ||
      __builtin_add_overflow(dropped, source.skip, &dropped)) {
    return absl::DataLossError("state: bad position of a batch");
  }
  auto cut = make_ref<Snapshot>();
  cut->own = levels[1].snapshot->own;
  cut->inputs.push_back(Mark{source.snapshot, dropped});
  auto stacked = make_ref<Snapshot>();
  stacked->inputs.push_back(Mark{std::move(cut), 0});
  mark = Mark{std::move(stacked), 0};
  return absl::OkStatus();
}

// The same of a shard over what is not read by index: elements behind it are
// those of the shard, one to one, or the state was refused before.
Status Planner::move_shard(const std::vector<PlannedPart>& parts,
                           Mark& mark) const {
  Mark inner = mark;
  bool ordered = true;
  for (const PlannedPart& at : parts) {
    if (at.part.limit) continue;
    const IndexedOp* op = at.node->op->indexed();
    if (at.part.sequencer && at.node->indexed && op->num_shards() > 0) {
      PS_ASSIGN_OR_RETURN(
          Mark moved, ops::move_shard_state(
                          inner, *op, at.node->inputs.front()->cardinality));
      if (moved.snapshot.get() == inner.snapshot.get()) return absl::OkStatus();
      if (!ordered) return keeps_no_order();
      mark = std::move(moved);
      return absl::OkStatus();
    }
    if (!one_to_one(at.part)) return absl::OkStatus();
    if (in_order(at.part)) continue;
    ordered = false;
    inner = inner_mark(inner);
  }
  return absl::OkStatus();
}

Status Planner::add_sequencer(const PlannedPart& at, std::int64_t limit) {
  const SequencerTraits traits = at.part.sequencer->traits();
  if (traits.needs_payload && (below_is_sequencer_ || lazy_chain_) &&
      !segment_) {
    open_segment();
  }
  if (segment_) {
    segment_->align = std::max(segment_->align, traits.granularity);
    segment_->into_batches = traits.granularity > 1 && segment_->filters == 0 &&
                             segment_->ordered && !segment_->links.empty();
    if (segment_->into_batches) {
      segment_->expect_rows(at.node->inputs.front()->spec.leaves());
    }
    PS_RETURN_IF_ERROR(close_segment());
  }
  auto pipe =
      std::make_unique<SequencerPipe>(run_, at.part.sequencer, at.stage);
  pipe->out.limit = limit;
  pipe->bounded = limit != kUnlimited;
  pipe->last = at.last;
  std::vector<Spec> specs;
  if (traits.num_inputs == 1) {
    specs.push_back(at.node->inputs.empty() ? Spec()
                                            : at.node->inputs.front()->spec);
    pipe->add_input(std::move(below_), inner_mark(at.mark));
  } else if (traits.num_inputs > 1) {
    for (int i = 0; i < traits.num_inputs; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const NodeRef& input = at.node->inputs[k];
      Mark mark;
      if (at.mark.snapshot) {
        if (at.mark.snapshot->inputs.size() <= k) {
          return absl::DataLossError("state: an input's place is missing");
        }
        mark = at.mark.snapshot->inputs[k];
      }
      const std::string prefix =
          absl::StrCat(at.stage->info.to_string(), "[", i, "].");
      const PathRef path =
          traits.own_paths
              ? OriginPath::extend(path_, OriginPath::Kind::kBranch, i)
              : path_;
      PS_ASSIGN_OR_RETURN(std::unique_ptr<Pipe> branch,
                          ::penstock::plan(run_, input, prefix, epoch_, path,
                                           mark, pipe->bounded, inherited_));
      pipe->add_input(std::move(branch), mark);
      specs.push_back(input->spec);
    }
  }
  pipe->plan_nested =
      [run = &run_, stage = at.stage->info, own = at.node->inputs, base = path_,
       inherited = inherited_](
          const NodeRef& node, const Epoch& epoch, const PathRef& path,
          const Mark& mark, bool bounded) -> StatusOr<std::unique_ptr<Pipe>> {
    NodeRef opened = node;
    // Stages of the node's own inputs keep the names, and so the random values,
    // that random access gives them, whoever opens them (repeat, cache, ...).
    std::optional<std::string> prefix =
        prefix_of_input(stage, own, base, *node, path);
    if (!prefix) {
      prefix = absl::StrCat(stage.to_string(), ".");
      if (!node->error_policy) {
        // A dataset that a function made: it inherits the policy.
        PS_ASSIGN_OR_RETURN(opened,
                            ops::with_error_policy(node, inherited->on_error));
      }
    }
    return ::penstock::plan(*run, opened, *prefix, epoch, path, mark, bounded,
                            inherited);
  };
  pipe->epoch = epoch_;
  SequencerContext context;
  context.stage = &at.stage->info;
  context.epoch = epoch_;
  context.stage_salt = at.stage->salt;
  context.path = path_;
  context.memory_budget = run_.config().memory_budget;
  context.cancel_flag = run_.cancel_flag();
  context.clock = &run_.scheduler().clock();
  context.input_specs = specs;
  context.input_nodes = at.node->inputs;
  pipe->out.drop_first(at.mark.skip, run_.config().no_errors_before);
  pipe->inherit_order(deterministic());
  PS_RETURN_IF_ERROR(pipe->start(context, at.mark));
  granularity_ = traits.granularity;
  rows_spec_ = at.last ? &at.node->spec : nullptr;
  below_ = std::move(pipe);
  below_is_sequencer_ = true;
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Pipe>> Planner::plan(const NodeRef& top, Mark mark,
                                              bool bounded) {
  // Nodes of the unary chain, consumer first.
  std::vector<NodeRef> nodes;
  for (NodeRef n = top;; n = n->inputs.front()) {
    nodes.push_back(n);
    if (n->inputs.size() != 1 || (opens_inputs(*n) && !runs_by_index(*n)))
      break;
  }

  // The nodes from `head` down to the end of `nodes` become the index chain.
  std::size_t base = nodes.size();  // the chain's base node
  if (nodes.back()->inputs.empty() && nodes.back()->indexed &&
      nodes.back()->op->lower().front().source) {
    base = nodes.size() - 1;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->indexed && nodes[i]->op->indexed()->needs_random_access()) {
      // Everything below the one nearest the consumer is read by index.
      base = i + 1;
      while (base + 1 < nodes.size() && flattens(*nodes[base])) ++base;
      break;
    }
  }
  std::size_t head = base;
  if (base < nodes.size()) {
    while (head > 0 && flattens(*nodes[head - 1])) --head;
  }

  // Parts above the chain's index mappings, consumer first.
  std::vector<PlannedPart> parts;
  std::optional<IndexChain> chain;
  for (std::size_t i = 0; i < std::min(base, nodes.size()); ++i) {
    const Node& node = *nodes[i];
    const bool mapped = i >= head && node.op->indexed()->is_map();
    if (mapped) continue;
    Stage* stage = stage_of(node);
    std::vector<Part> lowered = node.op->lower();
    for (std::size_t k = lowered.size(); k-- > 0;) {
      parts.push_back(
          {std::move(lowered[k]), &node, stage, {}, k + 1 == lowered.size()});
    }
  }
  if (base < nodes.size()) {
    chain.emplace();
    chain->keep_alive = nodes;
    chain->path = path_;
    chain->epoch = epoch_;
    chain->base = nodes[base];
    chain->base_prefix = prefix_;
    chain->base_stage = stage_of(*nodes[base]);
    chain->size = size_of(*nodes[head]);
    const std::vector<Part> lowered = nodes[base]->op->lower();
    chain->user_code = lowered.size() != 1 || !lowered.front().source ||
                       lowered.front().source->user_code();
    bool outermost = true;
    bool repeated = false;
    for (std::size_t i = head; i < base; ++i) {
      const IndexedOp* op = nodes[i]->op->indexed();
      if (!op->is_map()) continue;
      if (outermost && op->num_shards() > 0) {
        chain->num_shards = op->num_shards();
        chain->shard_index = op->shard_index();
        if (repeated) chain->period = size_of(*nodes[i]);
      }
      repeated |= op->repeats();
      // Options and limits map every index to itself.
      const std::vector<Part> own = nodes[i]->op->lower();
      outermost &=
          op->repeats() || own.empty() || own.front().limit.has_value();
      chain->maps.push_back(
          {op, size_of(*nodes[i]->inputs.front()), stage_of(*nodes[i])});
    }
  }

  // A permuting sequencer right above maps that are one to one takes their
  // place; they run behind it, on what it lets out.
  if (chain && !parts.empty()) {
    std::size_t p = parts.size();
    while (p > 0 && one_to_one(parts[p - 1].part)) --p;
    if (p > 0 && parts[p - 1].part.sequencer &&
        parts[p - 1].part.sequencer->traits().permutes) {
      std::rotate(parts.begin() + static_cast<std::ptrdiff_t>(p) - 1,
                  parts.begin() + static_cast<std::ptrdiff_t>(p), parts.end());
    }
  }

  PS_RETURN_IF_ERROR(move_shard(parts, mark));
  if (chain) PS_RETURN_IF_ERROR(move_to_shards(parts, *chain, mark));

  // Places to restore and limits, from the consumer down.
  std::vector<std::int64_t> limits(parts.size() + 1, kUnlimited);
  std::int64_t limit = bounded ? 0 : kUnlimited;
  std::vector<bool> cut_above(parts.size() + 1, false);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    limits[i] = limit;
    PlannedPart& at = parts[i];
    at.mark = mark;
    if (at.part.limit) {
      limits[i + 1] = limit = *at.part.limit < 0 ? kUnlimited : *at.part.limit;
      cut_above[i + 1] = true;
      continue;
    }
    if (limit != kUnlimited) limit = 0;
    if (at.part.sequencer || !in_order(at.part)) {
      mark = inner_mark(mark);
    } else if (!one_to_one(at.part)) {
      if (mark.skip > 0) cut_above[i] = true;
      mark = inner_mark(mark);
    }
  }
  limits[parts.size()] = limit;

  // Build, source first.
  const auto finish_limit = [&](std::size_t i) {
    // The pipe that ends with part i (parts.size(): the chain head).
    if (segment_) segment_->out.limit = limits[i];
  };
  if (chain) {
    rows_spec_ = &nodes[head]->spec;
    // Positions are the least that a window can hold; but files are read in
    // order, so there it holds what was read.
    const std::vector<Part> lowered = nodes[base]->op->lower();
    const bool in_memory = lowered.size() != 1 || !lowered.front().source ||
                           lowered.front().source->in_memory();
    if (in_memory && !parts.empty() && parts.back().part.sequencer &&
        parts.back().part.sequencer->traits().permutes) {
      std::int64_t next = 0;
      PS_RETURN_IF_ERROR(restore_index(*chain, mark, next));
      Stage* stage = chain->base_stage;
      auto positions = std::make_shared<Positions>(next, *chain);
      auto pipe = std::make_unique<SequencerPipe>(run_, positions, stage);
      pipe->out.limit = limits[parts.size()];
      pipe->last = false;  // elements count where they are read
      SequencerContext context;
      context.stage = &stage->info;
      PS_RETURN_IF_ERROR(pipe->start(context, {}));
      below_ = std::move(pipe);
      below_is_sequencer_ = true;
      lazy_chain_ = std::move(chain);
    } else {
      std::int64_t next = 0;
      PS_RETURN_IF_ERROR(restore_index(*chain, mark, next));
      SegmentPipe* segment = open_segment();
      segment->from_index = true;
      segment->next_index = next;
      segment->end_index = chain->size;
      segment->user_code = chain->user_code;
      segment->strings_for_caller = prefix_.empty() && only_arrange(parts);
      segment->chain = std::move(chain);
      segment->out.limit = limits[parts.size()];
    }
  }
  for (std::size_t i = parts.size(); i-- > 0;) {
    PlannedPart& at = parts[i];
    if (at.part.limit) {
      finish_limit(i + 1);
      PS_RETURN_IF_ERROR(close_segment());
      continue;
    }
    if (at.part.sequencer) {
      PS_RETURN_IF_ERROR(add_sequencer(at, limits[i]));
      continue;
    }
    const TransformTraits traits = at.part.transform->traits();
    const bool ordered = in_order(at.part);
    const bool capped = traits.user_code && traits.max_parallel > 0;
    const bool has_links = segment_ && !segment_->links.empty();
    const bool own_segment = capped || !run_.config().fuse || !ordered;
    if (segment_ &&
        (segment_->cap > 0 || !segment_->ordered ||
         (own_segment && has_links) || (capped && segment_->user_code))) {
      PS_RETURN_IF_ERROR(close_segment());
    }
    SegmentPipe* segment = open_segment();
    if (rows_spec_ != nullptr && !segment->links.empty()) {
      segment->expect_passing(*rows_spec_);
    }
    segment->links.push_back(
        {at.part.transform, traits, at.stage, at.last, {}, nullptr});
    rows_spec_ = at.last ? &at.node->spec : nullptr;
    segment->user_code |= traits.user_code;
    segment->out.limit = limits[i];
    if (capped) segment->cap = traits.max_parallel;
    if (!ordered) {
      PS_RETURN_IF_ERROR(segment->start_unordered(at.mark));
    } else if (!traits.one_to_one) {
      ++segment->filters;
      segment->out.drop_first(at.mark.skip, run_.config().no_errors_before);
    }
    if (cut_above[i] || !run_.config().fuse) {
      PS_RETURN_IF_ERROR(close_segment());
    }
  }
  PS_RETURN_IF_ERROR(close_segment());
  if (below_is_sequencer_) {
    // The consumer takes blocks, so a last segment gathers them.
    const std::int64_t ahead = below_->out.limit;
    if (ahead != kUnlimited) below_->out.limit = 0;
    open_segment()->out.limit = ahead;
    PS_RETURN_IF_ERROR(close_segment());
  }
  return std::move(below_);
}

}  // namespace

StatusOr<std::unique_ptr<Pipe>> plan(Run& run, const NodeRef& node,
                                     const std::string& prefix,
                                     const Epoch& epoch, PathRef path,
                                     const Mark& mark, bool bounded,
                                     const InheritedOptions& outer) {
  return Planner(run, prefix, epoch, std::move(path),
                 inherited_by(*node, outer))
      .plan(node, mark, bounded);
}

}  // namespace penstock
