#include "penstock/ops/cache/cache_pass.h"

#include "penstock/graph/holds_rows.h"
#include "penstock/graph/node.h"

namespace penstock::ops {
namespace {

struct Pass final : SequencerState {
  NodeRef input;
  Spec spec;
  std::int64_t budget = 0;
  CacheKey key;  // the iterator's own, until begun or restored
  bool key_fixed = false;
  bool begun = false;
  std::int64_t position = 0;  // of the next element to go out
  int restored = -1;          // place of the input in a saved state
  int open = -1;
  std::int64_t skip = 0;  // elements that went out before the state
  std::shared_ptr<const CacheReplay> replay;
  std::unique_ptr<CacheFill> fill;
};

bool has_error(const Rows& rows) {
  if (rows.block().errors().empty()) return false;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    if (rows.block().error_at(rows.at(i)) != nullptr) return true;
  }
  return false;
}

class CachePass final : public Sequencer, public HoldsRows {
 public:
  explicit CachePass(std::shared_ptr<CacheStore> store)
      : store_(std::move(store)) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.num_inputs = 0;
    traits.opens_inputs = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<Pass>();
    state->input = context.input_nodes.front();
    state->spec = state->input->spec;
    state->budget = context.memory_budget;
    state->key = cache_key(context.epoch, context.path);
    return state;
  }
  std::int64_t row_bytes(const SequencerState& s) const override {
    const auto& state = s.as<Pass>();
    return state.fill ? state.fill->held_bytes() : 0;
  }
  MemoryNeed memory_need(const SequencerState& s) const override {
    const auto& state = s.as<Pass>();
    const Cardinality all = state.input->cardinality;
    return {all.finite()
                ? scaled_bytes(row_bytes(s), all.value(), state.position)
                : 0,
            "keep the elements in a file: cache(path)"};
  }

  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<Pass>();
    if (!state.begun) return begin(state, in);
    if (state.replay) {
      if (state.position < state.replay->size()) {
        out.set_tag(state.position);
        state.position += state.replay->emit(state.position, out);
      }
      return state.position < state.replay->size() ? Step::more() : Step::end();
    }
    if (in.available(state.open) == 0) {
      if (!in.ended(state.open)) return Step::need(state.open, out.room());
      if (state.skip > 0) {
        return absl::DataLossError(
            "the input is shorter than when the state was saved");
      }
      if (state.fill) PS_RETURN_IF_ERROR(state.fill->complete());
      state.fill.reset();
      return Step::end();
    }
    if (state.skip > 0) {
      const Rows rows = in.take(state.open, state.skip);
      for (std::int64_t i = 0; i < rows.size(); ++i) {
        PS_RETURN_IF_ERROR(in.check_again(rows, i));
      }
      state.skip -= rows.size();
      return Step::more();
    }
    Rows rows = in.take(state.open, out.room());
    if (state.fill && has_error(rows)) state.fill.reset();
    if (state.fill) PS_RETURN_IF_ERROR(state.fill->add(rows));
    out.set_tag(state.position);
    state.position += rows.size();
    out.emit(std::move(rows));
    // All that there is: complete without a look at the end.
    if (state.fill && state.input->cardinality == Cardinality(state.position)) {
      PS_RETURN_IF_ERROR(state.fill->complete());
      state.fill.reset();
    }
    return Step::more();
  }

  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<Pass>();
    writer.own.i64(state.position);
    writer.own.boolean(state.begun || state.key_fixed);
    if (state.begun || state.key_fixed) encode_key(state.key, writer.own);
    const bool place = state.open >= 0 && state.skip == 0;
    writer.own.boolean(place);
    if (place) writer.add_opened(state.open);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<Pass>();
    state.position = own.i64();
    state.key_fixed = own.boolean();
    if (state.key_fixed) state.key = decode_key(own);
    if (own.boolean()) state.restored = 0;
    if (state.position < 0) own.fail();
    return absl::OkStatus();
  }

 private:
  StatusOr<Step> begin(Pass& state, Inputs& in) const {
    PS_ASSIGN_OR_RETURN(
        CacheOpening opening,
        store_->open(state.key, state.key_fixed, state.position == 0,
                     state.budget, state.spec));
    state.begun = true;
    state.key = std::move(opening.key);
    state.replay = std::move(opening.replay);
    state.fill = std::move(opening.fill);
    if (state.replay) return Step::more();
    PS_ASSIGN_OR_RETURN(state.open, in.open_in(state.key.epoch, state.input,
                                               state.key.path, state.restored));
    if (state.restored < 0) state.skip = state.position;
    return Step::need(state.open);
  }

  std::shared_ptr<CacheStore> store_;
};

}  // namespace

std::shared_ptr<const Sequencer> make_cache_pass(
    std::shared_ptr<CacheStore> store) {
  return std::make_shared<CachePass>(std::move(store));
}

}  // namespace penstock::ops
