// pack: several sequences per row of fixed length.
//
// Two parts: a sequencer decides by their lengths which sequences share a row,
// a transform writes the rows, in parallel. `num_open` rows are filled at once;
// a sequence goes into the oldest it fits in, and if there is none the oldest
// row comes out, so that rows come out in the order of their first sequences.
// An element that failed or cannot be packed is an error at once, between the
// rows. State: which of the last input elements lie in which open row; they are
// read again after a restore.
#include "penstock/ops/pack/pack.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "penstock/ops/pack/packed_row.h"

namespace penstock::ops {
namespace {

using Lengths = absl::InlinedVector<std::int64_t, 4>;

struct OpenRow {
  struct Entry {
    std::int64_t ordinal;  // of the input element
    std::int64_t part;
  };
  std::vector<Entry> entries;
  std::vector<PackedRow::Piece> pieces;  // shorter than entries: to be re-read
  Lengths used;
  Mark mark;  // of the first element
  // What all elements of the row are.
  const Structure* structure = nullptr;
  absl::InlinedVector<DType, 4> dtypes;
};

struct PackState : SequencerState {
  PathRef path;
  std::int64_t rows = 0;     // given out
  std::int64_t ordinal = 0;  // of the next input element
  std::int64_t part = 0;     // of it, to be placed next
  std::deque<OpenRow> open;  // oldest first
  std::int64_t bytes = 0;    // of the elements held
  // After a restore: elements before this one are only read for the open rows.
  std::int64_t reread_until = 0;
  Mark reread_from;
  bool rereading = false;
};

class Collect final : public Sequencer {
 public:
  explicit Collect(std::shared_ptr<const PackLayout> layout)
      : layout_(std::move(layout)) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;
    // A snapshot lists what the open rows hold: not for every row.
    traits.snapshot_interval = layout_->options().num_open;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<PackState>();
    state->path = context.path;
    return state;
  }
  std::int64_t held_bytes(const SequencerState& s) const override {
    return s.as<PackState>().bytes;
  }

  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<PackState>();
    if (state.rereading) {
      PS_ASSIGN_OR_RETURN(const bool done, reread(state, in));
      if (!done) {
        return Step::need(0, state.reread_until - state.ordinal + 1);
      }
    }
    for (;;) {
      if (!state.open.empty() && full(state.open.front())) {
        emit(state, out);
        return Step::more();
      }
      if (in.available(0) == 0) {
        // One element at least.
        if (!in.ended(0)) return Step::need_each(0, 1, 1);
        if (state.open.empty() || layout_->options().drop_remainder) {
          return Step::end();
        }
        emit(state, out);
        return Step::more();
      }
      const Rows row = in.peek(0, 1);
      if (ErrorRef error = row.block().error_ref(row.at(0))) {
        advance(state, in);
        emit_error(std::move(error), state, out);
        return Step::more();
      }
      const Element element = row.block().element(row.at(0));
      Lengths lengths;
      Status status = layout_->measure(element, lengths);
      if (status.ok()) {
        status = state.open.empty()
                     ? packed_structure(element.structure()).status()
                     : check_same(element, state.open.front());
      }
      if (!status.ok()) {
        const Origin origin = row.block().origins().at(row.at(0));
        advance(state, in);
        ++state.rows;
        out.emit_error(std::move(status), origin);
        return Step::more();
      }
      const bool empty = std::all_of(lengths.begin(), lengths.end(),
                                     [](std::int64_t n) { return n == 0; });
      const std::int64_t parts = empty ? 0 : layout_->parts(lengths);
      while (state.part < parts) {
        if (!place(state, in, row, element, lengths)) {
          emit(state, out);
          return Step::more();
        }
        ++state.part;
      }
      advance(state, in);
    }
  }

  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<PackState>();
    std::int64_t base = std::max(state.ordinal, state.reread_until);
    const std::int64_t next = base;
    if (state.rereading) {
      base = 0;
      // Before the first step the input stands where it is to be re-read.
      if (state.ordinal > 0) writer.set_input(0, state.reread_from);
    } else if (!state.open.empty()) {
      base = state.open.front().entries.front().ordinal;
      writer.set_input(0, state.open.front().mark);
    }
    writer.own.i64(state.rows);
    writer.own.i64(next - base);
    writer.own.i64(state.part);
    writer.own.u64(state.open.size());
    for (const OpenRow& row : state.open) {
      writer.own.u64(row.entries.size());
      std::int64_t last = base;
      for (const OpenRow::Entry& entry : row.entries) {
        writer.own.i64(entry.ordinal - last);
        writer.own.i64(entry.part);
        last = entry.ordinal;
      }
    }
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<PackState>();
    state.rows = own.i64();
    state.reread_until = own.i64();
    state.part = own.i64();
    if (state.rows < 0 || state.reread_until < 0 || state.part < 0) own.fail();
    const std::uint64_t rows = own.u64();
    if (rows > static_cast<std::uint64_t>(layout_->options().num_open)) {
      own.fail();
    }
    for (std::uint64_t i = 0; i < rows && own.ok(); ++i) {
      OpenRow& row = state.open.emplace_back();
      const std::uint64_t entries = own.u64();
      std::int64_t last = 0;
      for (std::uint64_t k = 0; k < entries && own.ok(); ++k) {
        last += own.i64();
        const std::int64_t part = own.i64();
        if (last < 0 || last > state.reread_until || part < 0) own.fail();
        row.entries.push_back({last, part});
      }
      if (entries == 0) own.fail();
    }
    state.rereading = !state.open.empty();
    return absl::OkStatus();
  }

 private:
  // Takes the element that was looked at.
  static void advance(PackState& state, Inputs& in) {
    (void)in.take(0, 1);
    ++state.ordinal;
    state.part = 0;
  }

  bool full(const OpenRow& row) const {
    for (std::size_t i = 0; i < row.used.size(); ++i) {
      if (row.used[i] < layout_->length(i)) return false;
    }
    return true;
  }

  static Status check_same(const Element& element, const OpenRow& row) {
    bool same = element.structure() == row.structure;
    for (std::size_t i = 0; same && i < element.size(); ++i) {
      same = element[i].dtype() == row.dtypes[i];
    }
    if (same) return absl::OkStatus();
    const PackedRow::Piece& other = row.pieces.front();
    return invalid_argument(
        "the element is ", Spec::of(element).to_string(),
        ", but others of the row are ",
        Spec::of(other.row.block().element(other.row.at(0))).to_string());
  }

  void put(PackState& state, OpenRow& row, const Rows& element_row,
           const Element& element, const Lengths& lengths,
           std::int64_t part) const {
    if (row.pieces.empty()) {
      row.structure = element.structure();
      row.used.assign(lengths.size(), 0);
      for (std::size_t i = 0; i < element.size(); ++i) {
        row.dtypes.push_back(element[i].dtype());
      }
    }
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      row.used[i] += layout_->part_length(lengths, i, part);
    }
    row.pieces.push_back({element_row, part});
    state.bytes += element_row.byte_size();
  }

  // False if the oldest row must come out first.
  bool place(PackState& state, const Inputs& in, const Rows& row,
             const Element& element, const Lengths& lengths) const {
    const auto fits = [&](const OpenRow& open) {
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (open.used[i] + layout_->part_length(lengths, i, state.part) >
            layout_->length(i)) {
          return false;
        }
      }
      return true;
    };
    auto to = std::find_if(state.open.begin(), state.open.end(), fits);
    if (to == state.open.end()) {
      const auto open = static_cast<std::int64_t>(state.open.size());
      if (open == layout_->options().num_open) return false;
      state.open.emplace_back().mark = in.mark(0);
      to = state.open.end() - 1;
    }
    to->entries.push_back({state.ordinal, state.part});
    put(state, *to, row, element, lengths, state.part);
    return true;
  }

  // Fills the open rows of a restored state; false if it needs more input.
  StatusOr<bool> reread(PackState& state, Inputs& in) const {
    if (state.ordinal == 0) state.reread_from = in.mark(0);
    for (;;) {
      // The element that was being split is looked at, not taken.
      const bool last = state.ordinal == state.reread_until;
      if (last && state.part == 0) break;
      if (in.available(0) == 0) {
        if (!in.ended(0)) return false;
        return absl::FailedPreconditionError(
            "cannot be restored: the input ended before the saved place");
      }
      Mark mark = in.mark(0);
      const Rows row = in.peek(0, 1);
      for (OpenRow& open : state.open) {
        while (open.pieces.size() < open.entries.size() &&
               open.entries[open.pieces.size()].ordinal == state.ordinal) {
          const Element element = row.block().error_at(row.at(0)) == nullptr
                                      ? row.block().element(row.at(0))
                                      : Element();
          Lengths lengths;
          if (!element.defined() || !layout_->measure(element, lengths).ok()) {
            return absl::FailedPreconditionError(
                "cannot be restored: the input gives other elements now");
          }
          if (open.pieces.empty()) open.mark = mark;
          put(state, open, row, element, lengths,
              open.entries[open.pieces.size()].part);
        }
      }
      if (last) break;
      (void)in.take(0, 1);
      ++state.ordinal;
    }
    for (const OpenRow& open : state.open) {
      if (open.pieces.size() < open.entries.size()) {
        return absl::DataLossError("state of pack: rows out of order");
      }
    }
    state.rereading = false;
    state.reread_from = {};
    return true;
  }

  void emit(PackState& state, Outputs& out) const {
    OpenRow row = std::move(state.open.front());
    state.open.pop_front();
    for (const PackedRow::Piece& piece : row.pieces) {
      state.bytes -= piece.row.byte_size();
    }
    Block::Columns columns;
    columns.emplace_back(std::vector<Tensor>{Tensor::object(
        Ref<Object>(make_ref<PackedRow>(std::move(row.pieces))))});
    out.emit_block(Block(Structure::leaf(), std::move(columns), 1,
                         Origins(state.path, state.rows++)));
  }

  static void emit_error(ErrorRef error, PackState& state, Outputs& out) {
    Block block(nullptr, {}, 1, Origins(state.path, state.rows++));
    block.errors().emplace_back(0, std::move(error));
    out.emit_block(std::move(block));
  }

  std::shared_ptr<const PackLayout> layout_;
};

class Write final : public Transform {
 public:
  explicit Write(std::shared_ptr<const PackLayout> layout)
      : layout_(std::move(layout)) {}

  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    BlockBuilder builder;
    builder.reserve(block.size());
    for (std::int64_t i = 0; i < block.size(); ++i) {
      if (ErrorRef error = block.error_ref(i)) {
        builder.add_error(std::move(error));
        continue;
      }
      const Element row = block.element(i);
      auto written =
          layout_->write(static_cast<const PackedRow&>(*row[0].object()));
      if (written.ok()) {
        builder.add(*std::move(written));
      } else {
        builder.add_error(
            context.error(written.status(), block.origins().at(i)));
      }
    }
    Origins origins = block.origins();
    PS_ASSIGN_OR_RETURN(block, builder.finish());
    block.set_origins(std::move(origins));
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<const PackLayout> layout_;
};

class Pack final : public Operator {
 public:
  explicit Pack(PackOptions options)
      : layout_(std::make_shared<const PackLayout>(std::move(options))) {}

  std::string_view op() const override { return "pack"; }
  std::string describe() const override {
    const PackOptions& options = layout_->options();
    std::string text = "pack(";
    const char* separator = "";
    for (const std::int64_t length : options.lengths) {
      absl::StrAppend(&text, separator, length);
      separator = ", ";
    }
    if (options.num_open != 1) {
      absl::StrAppend(&text, ", num_open=", options.num_open);
    }
    if (options.split_long) absl::StrAppend(&text, ", split_long");
    if (options.drop_remainder) absl::StrAppend(&text, ", drop_remainder");
    return text + ")";
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    return layout_->output_spec(in[0]);
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0] == Cardinality(0) || in[0].is_infinite()
               ? in[0]
               : Cardinality::unknown();
  }
  void add_to(Fingerprint& fp) const override {
    const PackOptions& options = layout_->options();
    fp.add(options.lengths.size());
    for (const std::int64_t length : options.lengths) {
      fp.add(static_cast<std::uint64_t>(length));
    }
    fp.add(static_cast<std::uint64_t>(options.num_open));
    fp.add(static_cast<std::uint64_t>(options.split_long));
    fp.add(static_cast<std::uint64_t>(options.drop_remainder));
    for (const Tensor& value : options.padding_values) {
      fp.add(value.defined() ? value.to_string() : "");
    }
  }
  std::vector<Part> lower() const override {
    return {{.sequencer = std::make_shared<Collect>(layout_)},
            {.transform = std::make_shared<Write>(layout_)}};
  }

 private:
  std::shared_ptr<const PackLayout> layout_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_pack(PackOptions options) {
  if (options.lengths.empty()) {
    return invalid_argument("pack: lengths must not be empty");
  }
  for (const std::int64_t length : options.lengths) {
    if (length < 1 || length > std::numeric_limits<std::int32_t>::max()) {
      return invalid_argument("pack: length must be in [1, 2^31), got ",
                              length);
    }
  }
  if (options.num_open < 1) {
    return invalid_argument("pack: num_open must be >= 1, got ",
                            options.num_open);
  }
  for (const Tensor& value : options.padding_values) {
    if (value.defined() &&
        (value.rank() != 0 || value.dtype() == DType::kObject)) {
      return invalid_argument("pack: padding_values must be of rank 0, got ",
                              value.to_string());
    }
  }
  return std::make_shared<Pack>(std::move(options));
}

}  // namespace penstock::ops
