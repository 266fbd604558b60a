// repeat: the input several times over, or for ever.
//
// Over an indexed chain it maps indices. Otherwise it is a sequencer that opens
// its input anew for each repetition, the next one as soon as the last block of
// this one is on its way. The number of the repetition is part of every
// element's origin: each epoch has its own random values. State: which
// repetition, and where in it.
#include "penstock/ops/repeat/repeat.h"

#include <limits>

namespace penstock::ops {
namespace {

struct Repetition final : SequencerState {
  NodeRef input;
  PathRef path;
  std::int64_t current = 0;
  bool any_data = false;        // in the current repetition
  bool previous_empty = false;  // the one before had none
  int open = -1;
  int next = -1;      // opened ahead
  int restored = -1;  // places of both in a saved state
  int restored_next = -1;
};

class Repeat final : public SequencerOp, public IndexedOp {
 public:
  explicit Repeat(std::int64_t count)
      : count_(count < 0 ? std::numeric_limits<std::int64_t>::max() : count) {}

  std::string_view op() const override { return "repeat"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return endless() ? "repeat()" : absl::StrCat("repeat(", count_, ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    return in[0];
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    if (count_ == 0 || in[0] == Cardinality(0)) return 0;
    if (!in[0].finite()) return in[0];
    if (endless()) return Cardinality::infinite();
    std::int64_t n = 0;
    if (__builtin_mul_overflow(in[0].value(), count_, &n)) {
      return Cardinality::infinite();
    }
    return n;
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(count_));
  }

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.num_inputs = 0;
    traits.opens_inputs = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<Repetition>();
    state->input = context.input_nodes.front();
    state->path = context.path;
    return state;
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<Repetition>();
    if (state.current >= count_) return Step::end();
    if (state.open < 0) {
      PS_ASSIGN_OR_RETURN(state.open,
                          open(state, in, state.current, state.restored));
      state.restored = -1;
      if (state.restored_next >= 0) {
        PS_ASSIGN_OR_RETURN(state.next,
                            open(state, in, state.current + 1,
                                 std::exchange(state.restored_next, -1)));
      }
      return Step::need_each(state.open, out.room(), 1);
    }
    if (in.ended(state.open) && state.next < 0 && state.current + 1 < count_ &&
        in.available(state.open) > 0) {
      PS_ASSIGN_OR_RETURN(state.next, open(state, in, state.current + 1, -1));
    }
    if (in.available(state.open) > 0) {
      state.any_data = true;
      out.emit(in.take(state.open, out.room()));
      return Step::more();
    }
    if (!in.ended(state.open))
      return Step::need_each(state.open, out.room(), 1);
    in.close(state.open);
    // An input that is empty twice running would make this loop for ever.
    if (!state.any_data && (state.current == 0 || state.previous_empty)) {
      return Step::end();
    }
    state.previous_empty = !state.any_data;
    state.any_data = false;
    ++state.current;
    state.open = std::exchange(state.next, -1);
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<Repetition>();
    writer.own.i64(state.current);
    writer.own.boolean(state.any_data);
    writer.own.boolean(state.previous_empty);
    writer.own.boolean(state.open >= 0);
    if (state.open >= 0) writer.add_opened(state.open);
    writer.own.boolean(state.next >= 0);
    if (state.next >= 0) writer.add_opened(state.next);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<Repetition>();
    state.current = own.i64();
    state.any_data = own.boolean();
    state.previous_empty = own.boolean();
    if (own.boolean()) state.restored = 0;
    if (own.boolean()) state.restored_next = state.restored + 1;
    return absl::OkStatus();
  }

  const IndexedOp* indexed() const override { return this; }
  bool is_map() const override { return true; }
  bool repeats() const override { return true; }
  void map_run(const IndexRun& run, std::int64_t input_size, const CallContext&,
               std::vector<IndexRun>& out) const override {
    const auto extended = [&](std::int64_t repetition) {
      return OriginPath::extend(run.path, OriginPath::Kind::kRepeat,
                                repetition);
    };
    if (!run.list && run.step == 1) {
      std::int64_t begin = run.begin;
      std::int64_t left = run.count;
      while (left > 0) {
        IndexRun part;
        part.path = extended(begin / input_size);
        part.begin = begin % input_size;
        part.count = std::min(left, input_size - part.begin);
        begin += part.count;
        left -= part.count;
        out.push_back(std::move(part));
      }
      return;
    }
    // Consecutive indices of one repetition stay together.
    std::int64_t i = 0;
    while (i < run.count) {
      const std::int64_t repetition = run.at(i) / input_size;
      std::vector<std::int64_t> list;
      while (i < run.count && run.at(i) / input_size == repetition) {
        list.push_back(run.at(i++) % input_size);
      }
      IndexRun part;
      part.path = extended(repetition);
      part.count = static_cast<std::int64_t>(list.size());
      part.list =
          std::make_shared<const std::vector<std::int64_t>>(std::move(list));
      out.push_back(std::move(part));
    }
  }

 private:
  bool endless() const {
    return count_ == std::numeric_limits<std::int64_t>::max();
  }
  StatusOr<int> open(const Repetition& state, Inputs& in,
                     std::int64_t repetition, int restored) const {
    return in.open(
        state.input,
        OriginPath::extend(state.path, OriginPath::Kind::kRepeat, repetition),
        restored);
  }

  std::int64_t count_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_repeat(std::int64_t count) {
  if (count < -1) {
    return invalid_argument("repeat: count must be >= 0, got ", count,
                            " (-1 means for ever)");
  }
  return std::make_shared<Repeat>(count);
}

}  // namespace penstock::ops
