// shard: every num_shards-th element, beginning with element `index`.
//
// Over an indexed chain it maps indices; elsewhere it is a sequencer that
// lists rows of blocks. num_shards and index are not part of the fingerprint:
// the state of an indexed chain moves to another number of shards: to the same
// place in the unsharded stream, in the same repetition. Where it cannot, the
// state as a whole is refused under other shards (Node::fixed_shards).
//
// The sequencer's state is the last round of one element per shard that began,
// because all shards have the same ones: over an input with random access (a
// batch, a zip) it moves, too, by move_shard_state().
#include "penstock/ops/shard/shard.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "penstock/ops/slicing.h"

namespace penstock::ops {
namespace {

class Shard final : public CountingOp {
 public:
  Shard(std::int64_t num_shards, std::int64_t index)
      : num_shards_(num_shards), index_(index) {}

  std::string_view op() const override { return "shard"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return absl::StrCat("shard(", num_shards_, ", ", index_, ")");
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    if (!in[0].finite()) return in[0];
    const std::int64_t n = in[0].value();
    return n <= index_ ? 0 : (n - index_ - 1) / num_shards_ + 1;
  }
  void add_to(Fingerprint&) const override {}

  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext&) const override {
    return std::make_unique<Rounds>();
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<Rounds>();
    if (in.available(0) == 0) {
      if (in.ended(0)) return Step::end();
      return Step::need(0, saturated(out.room(), num_shards_));
    }
    const Mark mark = in.mark(0);
    if (!state.mark) state.mark = mark;
    const Rows rows = in.take(0, saturated(out.room(), num_shards_));
    std::vector<std::int64_t> kept;
    // Without sums that may be beyond 64 bits: num_shards may be any number.
    const std::int64_t phase = state.seen % num_shards_;
    std::int64_t i =
        index_ >= phase ? index_ - phase : num_shards_ - (phase - index_);
    std::int64_t last = -1;
    while (i < rows.size()) {
      last = i;
      if (state.drop > 0) {
        --state.drop;
      } else {
        kept.push_back(rows.at(i));
      }
      if (num_shards_ >= rows.size() - i) break;
      i += num_shards_;
    }
    const std::int64_t begin = state.seen;
    state.seen += rows.size();
    if (state.seen - state.round >= num_shards_) {
      state.round += (state.seen - state.round) / num_shards_ * num_shards_;
      state.mark = mark.after(state.round - begin);
      state.passed = last >= 0 && begin + last >= state.round ? 1 : 0;
    } else if (last >= 0) {
      state.passed = 1;
    }
    const std::optional<Rows> error = last_error(rows);
    const bool apart = error && last != rows.size() - 1;
    if (!kept.empty()) {
      out.emit(Rows::listed(rows.block_ref(), std::move(kept)));
    }
    if (apart) out.emit(*error);
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<Rounds>();
    encode_place(writer.own, {state.round, num_shards_, index_,
                              std::max(state.passed, state.drop)});
    if (state.mark) writer.set_input(0, *state.mark);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<Rounds>();
    const ShardPlace place = decode_place(own);
    state.seen = state.round = place.round;
    state.drop = place.passed;
    if (!own.ok() ||
        (place.num_shards == num_shards_ && place.index == index_)) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "shard: the state was saved by shard(", place.num_shards, ", ",
        place.index, "), this is ", describe(),
        "; only a chain with random access moves to other shards"));
  }

  std::int64_t num_shards() const override { return num_shards_; }
  std::int64_t shard_index() const override { return index_; }
  void map_run(const IndexRun& run, std::int64_t, const CallContext&,
               std::vector<IndexRun>& out) const override {
    IndexRun mapped = run;
    if (run.list) {
      std::vector<std::int64_t> list;
      list.reserve(run.list->size());
      for (std::int64_t i : *run.list) list.push_back(map_index(i));
      mapped.list =
          std::make_shared<const std::vector<std::int64_t>>(std::move(list));
    } else {
      mapped.begin = map_index(run.begin);
      mapped.step = run.step * num_shards_;
    }
    out.push_back(std::move(mapped));
  }

 private:
  struct Rounds : SequencerState {
    std::int64_t seen = 0;     // input elements
    std::int64_t round = 0;    // where the round began that `seen` lies in
    std::int64_t passed = 0;   // elements let out since
    std::int64_t drop = 0;     // after a restore: those of the round again
    std::optional<Mark> mark;  // of `round`
  };

  /// a * b, or the largest number.
  static std::int64_t saturated(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product)
               ? std::numeric_limits<std::int64_t>::max()
               : product;
  }
  std::int64_t map_index(std::int64_t i) const {
    std::int64_t at = saturated(i, num_shards_);
    return __builtin_add_overflow(at, index_, &at)
               ? std::numeric_limits<std::int64_t>::max()
               : at;
  }

  std::int64_t num_shards_;
  std::int64_t index_;
};

}  // namespace

void encode_place(Encoder& own, const ShardPlace& place) {
  own.i64(place.round);
  own.i64(place.num_shards);
  own.i64(place.index);
  own.i64(place.passed);
}

ShardPlace decode_place(Decoder& own) {
  ShardPlace place;
  place.round = own.i64();
  place.num_shards = own.i64();
  place.index = own.i64();
  place.passed = own.i64();
  if (place.round < 0 || place.num_shards < 1 || place.index < 0 ||
      place.passed < 0 || place.passed > 1) {
    own.fail();
  }
  return place;
}

StatusOr<Mark> move_shard_state(const Mark& mark, const IndexedOp& to,
                                Cardinality input) {
  if (!mark.snapshot) return mark;
  Decoder decoder(mark.snapshot->own);
  const ShardPlace from = decode_place(decoder);
  PS_RETURN_IF_ERROR(decoder.status("state of shard"));
  if (from.num_shards == to.num_shards() && from.index == to.shard_index()) {
    return mark;
  }
  // As many rounds as elements were taken: that far all shards have read.
  std::int64_t taken = 0;
  std::int64_t ahead = 0;
  std::int64_t place = 0;
  if (mark.snapshot->inputs.empty() ||
      __builtin_add_overflow(from.passed, mark.skip, &taken) ||
      __builtin_mul_overflow(taken, from.num_shards, &ahead) ||
      __builtin_add_overflow(from.round, ahead, &place)) {
    return absl::DataLossError("state: bad position of a shard");
  }
  if (input.finite()) place = std::min(place, input.value());
  ahead = std::max<std::int64_t>(0, place - from.round);
  auto moved = make_ref<Snapshot>();
  Encoder own;
  encode_place(own, {from.round + ahead, to.num_shards(), to.shard_index(), 0});
  moved->own = std::move(own).take();
  moved->inputs.push_back(mark.snapshot->inputs.front().after(ahead));
  return Mark{std::move(moved), 0};
}

StatusOr<std::shared_ptr<const Operator>> make_shard(std::int64_t num_shards,
                                                     std::int64_t index) {
  if (num_shards < 1) {
    return invalid_argument("shard: num_shards must be >= 1, got ", num_shards);
  }
  if (index < 0 || index >= num_shards) {
    return invalid_argument("shard: index must be in [0, ", num_shards,
                            "), got ", index);
  }
  return std::make_shared<Shard>(num_shards, index);
}

}  // namespace penstock::ops
