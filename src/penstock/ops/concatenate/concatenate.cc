// concatenate: the elements of one dataset, then those of another.
//
// A sequencer that opens its inputs one after the other, the second as soon as
// the last block of the first is on its way: nothing is read there before. The
// number of the input is part of every element's origin. State: which input,
// and where in it.
#include "penstock/ops/concatenate/concatenate.h"

#include <utility>

namespace penstock::ops {
namespace {

constexpr int kInputs = 2;

PathRef branch(const PathRef& path, std::int64_t input) {
  return OriginPath::extend(path, OriginPath::Kind::kBranch, input);
}

struct Place final : SequencerState {
  std::vector<NodeRef> inputs;
  PathRef path;
  int current = 0;
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
    state->path = context.path;
    return state;
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<Place>();
    if (state.current >= kInputs) return Step::end();
    if (state.open < 0) {
      const int restored = std::exchange(state.restored, -1);
      PS_ASSIGN_OR_RETURN(state.open, open(state, in, state.current, restored));
      return Step::need_each(state.open, out.room(), 1);
    }
    const bool ended = in.ended(state.open);
    if (in.available(state.open) > 0) {
      if (ended && state.next < 0 && state.current + 1 < kInputs) {
        PS_ASSIGN_OR_RETURN(state.next, open(state, in, state.current + 1, -1));
      }
      out.emit(in.take(state.open, out.room()));
      return Step::more();
    }
    if (!ended) return Step::need_each(state.open, out.room(), 1);
    in.close(state.open);
    ++state.current;
    state.open = std::exchange(state.next, -1);
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<Place>();
    writer.own.i64(state.current);
    writer.own.boolean(state.open >= 0);
    if (state.open >= 0) writer.add_opened(state.open);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<Place>();
    const std::int64_t current = own.i64();
    if (current < 0 || current > kInputs) own.fail();
    if (own.boolean()) state.restored = 0;
    if (own.ok()) state.current = static_cast<int>(current);
    return absl::OkStatus();
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
  static StatusOr<int> open(const Place& state, Inputs& in, int input,
                            int restored) {
    return in.open(state.inputs[static_cast<std::size_t>(input)],
                   branch(state.path, input), restored);
  }
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_concatenate() {
  return std::make_shared<Concatenate>();
}

}  // namespace penstock::ops
