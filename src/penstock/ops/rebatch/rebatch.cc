// rebatch: the rows of batches in batches of other sizes, taken in turn.
//
// Gives what unbatch() and batch() give. A sequencer cuts the batches into
// views of their rows and passes them on in whole rounds of sizes; a transform
// behind it joins the views, in parallel: a row is copied once, or not at all
// where its batch stays in one piece. A batch that is an error counts as one
// row that is an error. Dense leaves only; what a ragged leaf becomes can only
// be stacked where its rows have one length.
//
// State: how many rows went out, and how many of the batch that is read again.
#include "penstock/ops/rebatch/rebatch.h"

#include <deque>
#include <numeric>

#include "penstock/ops/batch/batch.h"
#include "penstock/ops/unbatch/unbatch.h"

namespace penstock::ops {
namespace {

struct Sizes {
  std::vector<std::int64_t> list;
  std::int64_t round = 0;  // rows of one of each
  bool drop_remainder = false;

  /// Rows of the whole batches in `rows`, of less than a round.
  std::int64_t whole(std::int64_t rows) const {
    std::int64_t sum = 0;
    for (std::int64_t size : list) {
      if (sum + size > rows) break;
      sum += size;
    }
    return sum;
  }
  std::int64_t batches(std::int64_t rows) const {
    std::int64_t n = rows / round * static_cast<std::int64_t>(list.size());
    rows %= round;
    for (std::int64_t size : list) {
      if (rows < size) break;
      rows -= size;
      ++n;
    }
    return n + (rows > 0 && !drop_remainder ? 1 : 0);
  }
};

/// Rows of one batch that have not gone out yet.
struct BatchPiece {
  Block rows;
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
  Mark mark;  // of the batch
  std::int64_t left() const { return rows.size() - begin; }
};

struct RebatchState final : SequencerState {
  std::string stage;
  std::deque<BatchPiece> pieces;
  std::int64_t held = 0;     // rows
  std::int64_t bytes = 0;    // of the pieces
  std::int64_t passed = 0;   // rows
  std::int64_t skip = 0;     // after a restore: rows of the first batch
  std::int64_t largest = 0;  // batch so far, in rows
};

class Recut final : public Sequencer {
 public:
  explicit Recut(Sizes sizes) : sizes_(std::move(sizes)) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;
    traits.granularity = sizes_.round;
    traits.groups_rows = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<RebatchState>();
    state->stage = context.stage->to_string();
    return state;
  }
  std::int64_t held_bytes(const SequencerState& s) const override {
    return s.as<RebatchState>().bytes;
  }
  MemoryNeed memory_need(const SequencerState& s) const override {
    const auto& state = s.as<RebatchState>();
    return {scaled_bytes(state.bytes, sizes_.round, state.held),
            "make batch_size smaller"};
  }

  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<RebatchState>();
    while (state.held < sizes_.round && in.available(0) > 0) {
      PS_RETURN_IF_ERROR(take(state, in));
    }
    std::int64_t rows = state.held - state.held % sizes_.round;
    const bool last = rows == 0;
    if (last) {
      if (!in.ended(0)) {
        if (state.largest == 0) return Step::need(0);
        return Step::need_each(0, 1, 1.0 / static_cast<double>(state.largest),
                               state.held / state.largest + 1);
      }
      rows = sizes_.drop_remainder ? sizes_.whole(state.held) : state.held;
    }
    out.set_tag(state.passed);
    emit(state, rows, out);
    return last ? Step::end() : Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<RebatchState>();
    writer.own.i64(state.passed);
    writer.own.i64(state.pieces.empty() ? state.skip
                                        : state.pieces.front().begin);
    if (!state.pieces.empty()) {
      writer.set_input(0, state.pieces.front().mark);
    }
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<RebatchState>();
    state.passed = own.i64();
    state.skip = own.i64();
    if (state.passed < 0 || state.skip < 0) own.fail();
    return absl::OkStatus();
  }

 private:
  Status take(RebatchState& state, Inputs& in) const {
    BatchPiece piece;
    piece.mark = in.mark(0);
    const Rows taken = in.take(0, 1);
    const std::int64_t row = taken.at(0);
    const Origin origin = taken.block().origins().at(row);
    ErrorRef error = taken.block().error_ref(row);
    if (!error) {
      auto rows =
          rows_of(taken.block().element(row),
                  OriginPath::extend(origin.path, OriginPath::Kind::kInner,
                                     origin.ordinal));
      if (rows.ok()) {
        piece.rows = *std::move(rows);
        piece.bytes = taken.byte_size();
      } else {
        auto failed = std::make_shared<ElementError>();
        failed->status = rows.status();
        failed->stage = state.stage;
        failed->element = origin.to_string();
        error = std::move(failed);
      }
    }
    if (error) {
      piece.rows = Block(nullptr, {}, 1, Origins(origin.path, origin.ordinal));
      piece.rows.errors().emplace_back(0, std::move(error));
    }
    if (state.skip > piece.rows.size()) {
      return absl::DataLossError(
          "a batch is shorter than when the state was saved");
    }
    state.largest = std::max(state.largest, piece.rows.size());
    piece.begin = std::exchange(state.skip, 0);
    if (piece.left() == 0) return absl::OkStatus();
    state.held += piece.left();
    state.bytes += piece.bytes;
    state.pieces.push_back(std::move(piece));
    return absl::OkStatus();
  }

  static void emit(RebatchState& state, std::int64_t rows, Outputs& out) {
    state.passed += rows;
    state.held -= rows;
    while (rows > 0) {
      BatchPiece& piece = state.pieces.front();
      const std::int64_t n = std::min(rows, piece.left());
      const bool all = n == piece.rows.size();
      out.emit_block(all ? std::move(piece.rows)
                         : piece.rows.slice(piece.begin, piece.begin + n));
      rows -= n;
      piece.begin += n;
      if (all || piece.left() == 0) {
        state.bytes -= piece.bytes;
        state.pieces.pop_front();
      }
    }
  }

  Sizes sizes_;
};

class Rebatch final : public Operator, public Transform {
 public:
  Rebatch(Sizes sizes, std::vector<std::shared_ptr<const Transform>> stackers,
          std::optional<std::int64_t> rows)
      : sizes_(std::move(sizes)), stackers_(std::move(stackers)), rows_(rows) {}

  std::string_view op() const override { return "rebatch"; }
  std::string describe() const override {
    std::string list;
    for (std::int64_t size : sizes_.list) {
      absl::StrAppend(&list, list.empty() ? "" : ", ", size);
    }
    if (sizes_.list.size() > 1) list = "[" + list + "]";
    return absl::StrCat("rebatch(", list,
                        sizes_.drop_remainder ? ", drop_remainder=true" : "",
                        ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    std::optional<std::int64_t> rows;
    PS_ASSIGN_OR_RETURN(Spec spec, row_spec(in[0], rows));
    const bool fixed = sizes_.drop_remainder && sizes_.list.size() == 1;
    for (LeafSpec& leaf : spec.leaves()) {
      leaf.shape =
          leaf.shape.prepended(fixed ? sizes_.list.front() : kUnknownDim);
    }
    return spec;
  }
  /// Counts that no batch fails, as unbatch does.
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    if (in[0] == Cardinality(0)) return in[0];
    if (!rows_ || in[0].is_unknown()) return Cardinality::unknown();
    if (*rows_ == 0) return in[0].finite() ? 0 : Cardinality::unknown();
    std::int64_t n = 0;
    if (in[0].is_infinite() ||
        __builtin_mul_overflow(in[0].value(), *rows_, &n)) {
      return Cardinality::infinite();
    }
    return sizes_.batches(n);
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(sizes_.list.size());
    for (std::int64_t size : sizes_.list) {
      fp.add(static_cast<std::uint64_t>(size));
    }
    fp.add(static_cast<std::uint64_t>(sizes_.drop_remainder));
  }
  std::vector<Part> lower() const override {
    return {{.sequencer = std::make_shared<Recut>(sizes_)},
            {.transform = part_of<Transform>(this)}};
  }

  TransformTraits traits() const override { return {}; }
  Status apply(Block& block, CallContext& context) const override {
    if (sizes_.list.size() == 1) return stackers_[0]->apply(block, context);
    // Blocks are cut between rounds, so the first size is due.
    const std::int64_t first = context.tag / sizes_.round *
                               static_cast<std::int64_t>(stackers_.size());
    std::vector<Block> batches;
    std::int64_t begin = 0;
    for (std::size_t k = 0; begin < block.size(); ++k) {
      const std::size_t turn = k % sizes_.list.size();
      const std::int64_t size = sizes_.list[turn];
      const std::int64_t end = std::min(begin + size, block.size());
      Block group = block.slice(begin, end);
      context.tag = (first + static_cast<std::int64_t>(k)) * size;
      PS_RETURN_IF_ERROR(stackers_[turn]->apply(group, context));
      batches.push_back(std::move(group));
      begin = end;
    }
    PS_ASSIGN_OR_RETURN(block, join_blocks(batches));
    return absl::OkStatus();
  }

 private:
  Sizes sizes_;
  std::vector<std::shared_ptr<const Transform>> stackers_;
  std::optional<std::int64_t> rows_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_rebatch(
    std::vector<std::int64_t> batch_sizes, bool drop_remainder,
    const Spec& input) {
  if (batch_sizes.empty()) {
    return invalid_argument("rebatch: batch_sizes must not be empty, got []");
  }
  Sizes sizes;
  sizes.drop_remainder = drop_remainder;
  for (std::int64_t size : batch_sizes) {
    if (size < 1) {
      return invalid_argument("rebatch: batch_size must be >= 1, got ", size);
    }
    if (__builtin_add_overflow(sizes.round, size, &sizes.round)) {
      return invalid_argument(
          "rebatch: batch_sizes must have a sum below "
          "2^63, got ",
          size, " in it");
    }
  }
  const bool equal = std::equal(batch_sizes.begin() + 1, batch_sizes.end(),
                                batch_sizes.begin());
  if (equal) {
    batch_sizes.resize(1);
    sizes.round = batch_sizes.front();
  }
  sizes.list = std::move(batch_sizes);
  std::optional<std::int64_t> rows;
  auto spec = row_spec(input, rows);
  if (!spec.ok()) return annotate(spec.status(), "rebatch: ");
  std::vector<std::shared_ptr<const Transform>> stackers;
  for (std::int64_t size : sizes.list) {
    PS_ASSIGN_OR_RETURN(const auto batch, make_batch(size, drop_remainder));
    stackers.push_back(batch->lower().back().transform);
  }
  return std::make_shared<Rebatch>(std::move(sizes), std::move(stackers), rows);
}

}  // namespace penstock::ops
