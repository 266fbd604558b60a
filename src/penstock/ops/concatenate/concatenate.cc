// concatenate: the elements of one dataset, then those of another.
//
// A sequencer that opens its inputs one after the other, the second as soon as
// the last block of the first is on its way: nothing is read there before. An
// input that is a concatenate itself is not opened, but its inputs in its
// place: each element of a long chain passes one sequencer. The number of the
// input, at each of them, is part of every element's origin. State: which
// input, and where in it.
#include "penstock/ops/concatenate/concatenate.h"

#include <utility>

#include "penstock/graph/node.h"

namespace penstock::ops {
namespace {

constexpr int kInputs = 2;

PathRef branch(const PathRef& path, std::int64_t input) {
  return OriginPath::extend(path, OriginPath::Kind::kBranch, input);
}

/// One of the concatenates that are open inside of each other.
struct Level {
  const std::vector<NodeRef>* inputs;
  PathRef path;
  int current = 0;

  const NodeRef& input() const {
    return (*inputs)[static_cast<std::size_t>(current)];
  }
};

struct Place final : SequencerState {
  std::vector<NodeRef> inputs;
  std::vector<Level> levels;  // outermost first; empty: at the end
  int open = -1;
  int next = -1;      // opened ahead
  int restored = -1;  // place of the current one in a saved state
};

class Concatenate final : public SequencerOp, public IndexedOp {
 public:
  std::string_view op() const override { return "concatenate"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override { return "concatenate()"; }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    auto spec = Spec::unify(in[0], in[1]);
    if (spec.ok()) return spec;
    return invalid_argument(
        "the elements of the inputs do not fit: ", in[0].to_string(), " and ",
        in[1].to_string(), " (", spec.status().message(), ")");
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    if (in[0].is_infinite() || in[1].is_infinite()) {
      return Cardinality::infinite();
    }
    if (in[0].is_unknown() || in[1].is_unknown()) {
      return Cardinality::unknown();
    }
    std::int64_t n = 0;
    return __builtin_add_overflow(in[0].value(), in[1].value(), &n)
               ? Cardinality::infinite()
               : Cardinality(n);
  }
  void add_to(Fingerprint&) const override {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.num_inputs = 0;
    traits.opens_inputs = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<Place>();
    state->inputs = context.input_nodes;
    state->levels.push_back({&state->inputs, context.path});
    descend(state->levels);
    return state;
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<Place>();
    if (state.levels.empty()) return Step::end();
    if (state.open < 0) {
      const int restored = std::exchange(state.restored, -1);
      PS_ASSIGN_OR_RETURN(state.open, open(state.levels, in, restored));
      return Step::need_each(state.open, out.room(), 1);
    }
    const bool ended = in.ended(state.open);
    if (in.available(state.open) > 0) {
      if (ended && state.next < 0) {
        std::vector<Level> ahead = state.levels;
        advance(ahead);
        if (!ahead.empty()) {
          PS_ASSIGN_OR_RETURN(state.next, open(ahead, in, -1));
        }
      }
      out.emit(in.take(state.open, out.room()));
      return Step::more();
    }
    if (!ended) return Step::need_each(state.open, out.room(), 1);
    in.close(state.open);
    advance(state.levels);
    state.open = std::exchange(state.next, -1);
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<Place>();
    writer.own.i64(state.levels.empty() ? kInputs
                                        : state.levels.front().current);
    writer.own.boolean(state.open >= 0);
    for (std::size_t i = 1; i < state.levels.size(); ++i) {
      writer.own.i64(state.levels[i].current);
    }
    if (state.open >= 0) writer.add_opened(state.open);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<Place>();
    auto& levels = state.levels;
    levels.resize(1);
    const std::int64_t current = own.i64();
    if (own.boolean()) state.restored = 0;
    if (current == kInputs) {
      levels.clear();
      return absl::OkStatus();
    }
    for (std::int64_t at = current;; at = own.i64()) {
      if (at < 0 || at >= kInputs) own.fail();
      if (!own.ok()) return absl::OkStatus();
      levels.back().current = static_cast<int>(at);
      if (!enter(levels)) return absl::OkStatus();
      if (own.at_end()) {
        return absl::FailedPreconditionError(
            "state: it was saved before a concatenate of concatenates became "
            "one stage");
      }
    }
  }

  const IndexedOp* indexed() const override { return this; }
  Status read(const IndexRun& run, IndexInputs& in, CallContext& /*context*/,
              std::vector<Block>& out) const override {
    const std::int64_t first = in.size(0);
    // Consecutive indices of one input stay together.
    std::int64_t i = 0;
    while (i < run.count) {
      const int input = run.at(i) < first ? 0 : 1;
      IndexRun part;
      part.path = branch(run.path, input);
      if (!run.list && run.step == 1) {
        part.begin = run.at(i) - (input == 0 ? 0 : first);
        part.count = input == 0 ? std::min(run.count - i, first - run.at(i))
                                : run.count - i;
        i += part.count;
      } else {
        std::vector<std::int64_t> list;
        for (; i < run.count && (run.at(i) < first) == (input == 0); ++i) {
          list.push_back(run.at(i) - (input == 0 ? 0 : first));
        }
        part.count = static_cast<std::int64_t>(list.size());
        part.list =
            std::make_shared<const std::vector<std::int64_t>>(std::move(list));
      }
      PS_RETURN_IF_ERROR(in.read(input, part, out));
    }
    return absl::OkStatus();
  }

 private:
  static bool is_concatenate(const Node& node) {
    return dynamic_cast<const Concatenate*>(node.op.get()) != nullptr;
  }
  /// Goes into the current input, if that is a concatenate.
  static bool enter(std::vector<Level>& levels) {
    const Level& last = levels.back();
    if (!is_concatenate(*last.input())) return false;
    levels.push_back({&last.input()->inputs, branch(last.path, last.current)});
    return true;
  }
  static void descend(std::vector<Level>& levels) {
    while (enter(levels)) {
    }
  }
  static void advance(std::vector<Level>& levels) {
    while (!levels.empty() && ++levels.back().current == kInputs) {
      levels.pop_back();
    }
    if (!levels.empty()) descend(levels);
  }
  static StatusOr<int> open(const std::vector<Level>& levels, Inputs& in,
                            int restored) {
    const Level& last = levels.back();
    return in.open(last.input(), branch(last.path, last.current), restored);
  }
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_concatenate() {
  return std::make_shared<Concatenate>();
}

}  // namespace penstock::ops
