// window: windows of consecutive elements, as nested datasets.
//
// Window k holds the elements k * shift + j * stride for j < size, as far as
// there are any; with drop_remainder only whole windows are given. An element
// (a, b) becomes a dataset of a's and a dataset of b's. A window with an error
// in it is one error.
//
// A sequencer: it keeps handles of the rows that coming windows need; the
// nested datasets read them in place, so windows that overlap share memory.
// State: how many windows went out; their elements are read again.
#include "penstock/ops/window/window.h"

#include <deque>
#include <limits>

#include "penstock/graph/holds_rows.h"
#include "penstock/ops/slicing.h"
#include "penstock/ops/window/window_source.h"

namespace penstock::ops {
namespace {

struct WindowPiece {
  Rows rows;
  Mark mark;  // of the first row
};

struct WindowsState final : SequencerState {
  PathRef path;
  std::string stage;
  Spec spec;
  std::deque<WindowPiece> pieces;
  std::int64_t held = 0;     // rows
  std::int64_t to_skip = 0;  // rows between two windows
  std::int64_t windows = 0;
};

class WindowOp final : public SequencerOp, public HoldsRows {
 public:
  explicit WindowOp(const WindowOptions& options) : options_(options) {
    if (__builtin_mul_overflow(options.size - 1, options.stride, &span_) ||
        __builtin_add_overflow(span_, 1, &span_)) {
      span_ = std::numeric_limits<std::int64_t>::max();
    }
  }

  std::string_view op() const override { return "window"; }
  Memory memory() const override { return Memory::kKept; }
  std::string describe() const override {
    return absl::StrCat(
        "window(", options_.size, ", shift=", options_.shift,
        options_.stride == 1 ? "" : absl::StrCat(", stride=", options_.stride),
        options_.drop_remainder ? ", drop_remainder=true" : "", ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    if (!in[0].known()) return Spec();
    const Structure* structure = unit_structure(in[0].structure());
    return Spec(structure,
                std::vector<LeafSpec>(structure->num_leaves(),
                                      {DType::kObject, PartialShape(Shape{})}));
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    if (!in[0].finite()) return in[0];
    const std::int64_t n =
        in[0].value() - (options_.drop_remainder ? span_ - 1 : 0);
    return n <= 0 ? 0 : (n - 1) / options_.shift + 1;
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(options_.size));
    fp.add(static_cast<std::uint64_t>(options_.shift));
    fp.add(static_cast<std::uint64_t>(options_.stride));
    fp.add(static_cast<std::uint64_t>(options_.drop_remainder));
  }

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<WindowsState>();
    state->path = context.path;
    state->stage = context.stage->to_string();
    state->spec = context.input_specs[0];
    return state;
  }
  std::int64_t row_bytes(const SequencerState& s) const override {
    std::int64_t bytes = 0;
    for (const WindowPiece& piece : s.as<WindowsState>().pieces) {
      bytes += piece.rows.byte_size();
    }
    return bytes;
  }

  MemoryNeed memory_need(const SequencerState& s) const override {
    return {scaled_bytes(row_bytes(s), span_, s.as<WindowsState>().held),
            "make size smaller"};
  }

  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<WindowsState>();
    while (state.to_skip > 0 && in.available(0) > 0) {
      const Rows rows = in.take(0, state.to_skip);
      state.to_skip -= rows.size();
      if (auto error = last_error(rows)) out.emit(*std::move(error));
    }
    while (state.to_skip == 0 && state.held < span_ && in.available(0) > 0) {
      Mark mark = in.mark(0);
      Rows rows = in.take(0, span_ - state.held);
      state.held += rows.size();
      add(state, std::move(rows), std::move(mark));
    }
    if (state.held < span_) {
      if (!in.ended(0)) {
        std::int64_t rows = 0;
        std::int64_t held = 0;
        if (__builtin_add_overflow(state.to_skip, span_ - state.held, &rows) ||
            __builtin_sub_overflow(options_.shift, rows, &held)) {
          return Step::need(0, std::numeric_limits<std::int64_t>::max());
        }
        return Step::need_each(0, rows, static_cast<double>(options_.shift),
                               held);
      }
      if (state.held == 0 || options_.drop_remainder) return Step::end();
    }
    PS_ASSIGN_OR_RETURN(Block window, make_window_block(state));
    out.emit_block(std::move(window));
    ++state.windows;
    shift(state);
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<WindowsState>();
    writer.own.i64(state.windows);
    writer.own.i64(state.to_skip);
    if (!state.pieces.empty()) {
      writer.set_input(0, state.pieces.front().mark);
    }
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<WindowsState>();
    state.windows = own.i64();
    state.to_skip = own.i64();
    if (state.windows < 0 || state.to_skip < 0) own.fail();
    return absl::OkStatus();
  }

 private:
  /// Windows that overlap take few rows at a time: those that follow each other
  /// in one block stay one piece, or each window would consist of single rows.
  static void add(WindowsState& state, Rows rows, Mark mark) {
    if (!state.pieces.empty()) {
      Rows& last = state.pieces.back().rows;
      if (last.block_ref() == rows.block_ref() && last.contiguous() &&
          rows.contiguous() && last.at(last.size()) == rows.at(0)) {
        last = last.slice(0, last.size() + rows.size());
        return;
      }
    }
    state.pieces.push_back({std::move(rows), std::move(mark)});
  }

  void shift(WindowsState& state) const {
    std::int64_t left = options_.shift;
    while (left > 0 && !state.pieces.empty()) {
      WindowPiece& piece = state.pieces.front();
      const std::int64_t n = std::min(left, piece.rows.size());
      piece.rows = piece.rows.slice(n, piece.rows.size());
      piece.mark = piece.mark.after(n);
      left -= n;
      state.held -= n;
      if (piece.rows.empty()) state.pieces.pop_front();
    }
    state.to_skip = left;
  }

  /// The rows of the window at the front, every stride-th of those held.
  StatusOr<std::vector<Block>> window_rows(const WindowsState& state) const {
    std::vector<Block> blocks;
    std::int64_t next = 0;  // row of the window, counted from its first
    std::int64_t begin = 0;
    for (const WindowPiece& piece : state.pieces) {
      const std::int64_t end =
          std::min(begin + piece.rows.size(), std::min(span_, state.held));
      if (options_.stride == 1) {
        PS_ASSIGN_OR_RETURN(Block block,
                            piece.rows.slice(0, end - begin).materialize());
        blocks.push_back(std::move(block));
      } else {
        std::vector<std::int64_t> list;
        for (; next < end; next += options_.stride) {
          list.push_back(piece.rows.at(next - begin));
        }
        if (!list.empty()) {
          PS_ASSIGN_OR_RETURN(Block block, piece.rows.block().gather(list));
          blocks.push_back(std::move(block));
        }
      }
      begin = end;
    }
    return blocks;
  }

  StatusOr<Block> make_window_block(const WindowsState& state) const {
    const Origins origins(state.path, state.windows);
    PS_ASSIGN_OR_RETURN(std::vector<Block> blocks, window_rows(state));
    ErrorRef first;
    std::int64_t errors = 0;
    const Structure* structure = nullptr;
    bool one_structure = true;
    std::int64_t bytes = 0;
    for (const Block& block : blocks) {
      if (!first && !block.errors().empty()) {
        first = block.errors().front().second;
      }
      errors += static_cast<std::int64_t>(block.errors().size());
      bytes += block.byte_size();
      for (std::int64_t i = 0; i < (block.mixed() ? block.size() : 1); ++i) {
        const Structure* own =
            block.mixed()
                ? block.elements()[static_cast<std::size_t>(i)].structure()
                : block.structure();
        if (structure == nullptr) structure = own;
        one_structure &= own == structure;
      }
    }
    if (errors > 0 || !one_structure) {
      auto error = std::make_shared<ElementError>();
      if (errors > 0) {
        *error = *first;
        error->others += errors - 1;
      } else {
        error->status =
            invalid_argument("the elements of a window differ in structure");
        error->stage = state.stage;
        error->element = origins.at(0).to_string();
      }
      Block block(nullptr, {}, 1, origins);
      block.errors().emplace_back(0, std::move(error));
      return block;
    }
    // What windows share is counted in the first that has it.
    if (options_.shift < span_) {
      bytes = static_cast<std::int64_t>(static_cast<double>(bytes) /
                                        static_cast<double>(span_) *
                                        static_cast<double>(options_.shift));
    }
    const auto rows =
        std::make_shared<const std::vector<Block>>(std::move(blocks));
    Block::Columns columns;
    Status status;
    for_each_unit(structure, 0, [&](std::size_t leaf, const Structure* unit) {
      auto node = make_window_source(rows, leaf, unit,
                                     unit_spec(state.spec, leaf, unit));
      if (!node.ok()) {
        status = node.status();
        return;
      }
      columns.emplace_back(std::vector<Tensor>{
          Tensor::object(make_ref<DatasetObject>(*std::move(node), bytes))});
      bytes = 0;
    });
    PS_RETURN_IF_ERROR(status);
    return Block(unit_structure(structure), std::move(columns), 1, origins);
  }

  static Spec unit_spec(const Spec& spec, std::size_t leaf,
                        const Structure* unit) {
    std::vector<LeafSpec> leaves(unit->num_leaves());
    if (spec.known()) {
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        leaves[i] = spec.leaves()[leaf + i];
      }
    }
    return Spec(unit, std::move(leaves));
  }

  WindowOptions options_;
  std::int64_t span_ = 0;  // rows from a window's first to its last
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_window(WindowOptions options) {
  if (options.size < 1) {
    return invalid_argument("window: size must be >= 1, got ", options.size);
  }
  if (options.shift < 1) {
    return invalid_argument("window: shift must be >= 1, got ", options.shift);
  }
  if (options.stride < 1) {
    return invalid_argument("window: stride must be >= 1, got ",
                            options.stride);
  }
  return std::make_shared<WindowOp>(options);
}

}  // namespace penstock::ops
