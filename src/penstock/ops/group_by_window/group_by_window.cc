// group_by_window: elements of equal key in windows, each reduced to a dataset.
//
// Four parts: a transform computes the keys, in parallel; a sequencer collects
// rows by key and lets a window out when it is full, what is left at the end
// in key order; the two parts of flat_map call the reduce function, in
// parallel, and put the results in order.
//
// Windows hold rows (handles), never copies. State: per key that has a window
// begun, the number of the element it begins with; after a restore the input is
// read again from the oldest of them on. A rare key makes that long.
#include "penstock/ops/group_by_window/group_by_window.h"

#include <algorithm>
#include <deque>

#include "absl/container/flat_hash_map.h"
#include "penstock/graph/holds_rows.h"
#include "penstock/ops/flat_map/flat_map.h"
#include "penstock/ops/group_by_window/attach.h"

namespace penstock::ops {
namespace {

// Places in the input that are remembered to read again from.
constexpr std::size_t kMaxMarks = 128;

/// The rows of one window as a dataset in memory.
class WindowRows final : public IndexedSourceOp {
 public:
  WindowRows(std::vector<Rows> parts, Spec spec)
      : parts_(std::move(parts)), spec_(std::move(spec)) {
    for (const Rows& part : parts_) {
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + part.size());
    }
  }

  std::string_view op() const override { return "window"; }
  Memory memory() const override { return Memory::kKept; }
  std::string describe() const override {
    return absl::StrCat("window(", size(), " elements)");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return spec_;
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return size();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(size()));
  }
  std::int64_t size() const override { return ends_.back(); }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext&, Block& out) const override {
    if (run.count == 0) return absl::OkStatus();
    std::vector<Rows> picked;
    if (!run.list && run.step == 1 && run.count == size()) {
      picked = parts_;
    } else {
      for (std::int64_t i = 0; i < run.count; ++i) {
        const std::int64_t at = run.at(i);
        const auto part = static_cast<std::size_t>(
            std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
        const std::int64_t row = at - (ends_[part] - parts_[part].size());
        picked.push_back(parts_[part].slice(row, row + 1));
      }
    }
    PS_ASSIGN_OR_RETURN(Block rows, join_rows(picked));
    PS_ASSIGN_OR_RETURN(out, detach(std::move(rows)));
    return absl::OkStatus();
  }

 private:
  std::vector<Rows> parts_;
  std::vector<std::int64_t> ends_;
  Spec spec_;
};

struct Window {
  std::int64_t first = 0;  // number of its first element
  std::int64_t capacity = 0;
  std::int64_t count = 0;
  std::vector<Rows> parts;
};

struct GroupState final : SequencerState {
  std::string stage;
  Spec spec;
  PathRef path;
  std::int64_t absorbed = 0;  // input elements taken
  std::int64_t emitted = 0;   // windows and errors let out
  absl::flat_hash_map<std::int64_t, Window> windows;
  absl::flat_hash_map<std::int64_t, std::int64_t> capacities;
  std::int64_t largest = 1;                         // window so far
  std::deque<std::pair<std::int64_t, Mark>> marks;  // (number, place)
  std::vector<std::int64_t> leftover;  // keys at the end, the last one first
  std::int64_t reading = 0;  // while restoring: the next element's number
  std::int64_t read_to = 0;
};

class Group final : public Sequencer, public HoldsRows {
 public:
  explicit Group(GroupByWindowOptions options) : options_(std::move(options)) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;
    traits.user_code = options_.window_size_func != nullptr;
    // A snapshot costs as much as there are keys.
    traits.snapshot_interval = 8;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<GroupState>();
    state->stage = context.stage->to_string();
    state->spec = context.input_specs[0];
    state->path = context.path;
    state->largest = std::max<std::int64_t>(1, options_.window_size);
    return state;
  }
  std::int64_t row_bytes(const SequencerState& s) const override {
    std::int64_t bytes = 0;
    for (const auto& [key, window] : s.as<GroupState>().windows) {
      for (const Rows& part : window.parts) bytes += part.byte_size();
    }
    return bytes;
  }

  MemoryNeed memory_need(const SequencerState& s) const override {
    // Until the window that lacks the fewest rows is full.
    std::int64_t held = 0;
    std::int64_t lacking = std::numeric_limits<std::int64_t>::max();
    for (const auto& [key, window] : s.as<GroupState>().windows) {
      held += window.count;
      lacking = std::min(lacking, window.capacity - window.count);
    }
    const std::int64_t held_bytes = row_bytes(s);
    return {held_bytes + scaled_bytes(held_bytes, lacking, held),
            "make window_size smaller"};
  }

  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<GroupState>();
    if (state.reading < state.read_to) return read_again(state, in);
    std::int64_t room = out.room();
    while (room > 0 && in.available(0) > 0) {
      note_mark(state, in);
      const Rows rows = in.peek(0, kMaxTaken);
      std::int64_t taken = 0;
      while (taken < rows.size() && room > 0) {
        PS_ASSIGN_OR_RETURN(const bool let_out,
                            absorb(state, rows, taken++, out));
        if (let_out) --room;
      }
      in.take(0, taken);
    }
    if (in.available(0) > 0) return Step::more();
    if (!in.ended(0)) {
      return Step::need_each(0, 1, static_cast<double>(state.largest));
    }
    while (room > 0 && !state.windows.empty()) {
      if (state.leftover.empty()) {
        for (const auto& [key, window] : state.windows) {
          state.leftover.push_back(key);
        }
        std::sort(state.leftover.rbegin(), state.leftover.rend());
      }
      const auto least = state.windows.find(state.leftover.back());
      state.leftover.pop_back();
      PS_RETURN_IF_ERROR(let_out(state, least->first, least->second, out));
      state.windows.erase(least);
      --room;
    }
    return state.windows.empty() ? Step::end() : Step::more();
  }

  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<GroupState>();
    Encoder& own = writer.own;
    own.i64(state.absorbed);
    own.i64(state.emitted);
    std::int64_t oldest = state.absorbed;
    for (const auto& [key, window] : state.windows) {
      oldest = std::min(oldest, window.first);
    }
    std::int64_t from = state.absorbed;
    if (oldest < state.absorbed) {
      from = 0;
      Mark mark;
      for (const auto& [number, place] : state.marks) {
        if (number > oldest) break;
        from = number;
        mark = place;
      }
      writer.set_input(0, mark);
    }
    own.i64(from);
    own.u64(state.windows.size());
    for (const auto& [key, window] : state.windows) {
      own.i64(key);
      own.i64(window.first - from);
    }
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<GroupState>();
    state.absorbed = state.read_to = own.i64();
    state.emitted = own.i64();
    state.reading = own.i64();
    const std::size_t n = own.count(2);
    for (std::size_t i = 0; i < n && own.ok(); ++i) {
      const std::int64_t key = own.i64();
      const std::int64_t first = own.i64() + state.reading;
      if (first < state.reading || first >= state.absorbed) own.fail();
      state.windows[key].first = first;
    }
    if (state.reading < 0 || state.reading > state.absorbed) own.fail();
    return absl::OkStatus();
  }

 private:
  static constexpr std::int64_t kMaxTaken = 4096;

  /// `cause` takes what the user's function threw.
  StatusOr<std::int64_t> capacity(GroupState& state, std::int64_t key,
                                  std::exception_ptr* cause = nullptr) const {
    if (options_.window_size_func == nullptr) return options_.window_size;
    const auto known = state.capacities.find(key);
    if (known != state.capacities.end()) return known->second;
    std::int64_t size = 0;
    try {
      size = options_.window_size_func(key);
    } catch (...) {
      if (cause != nullptr) *cause = std::current_exception();
      return status_of_current_exception();
    }
    if (size < 1) {
      return invalid_argument("window_size_func must give >= 1, it gave ", size,
                              " for key ", key);
    }
    state.capacities[key] = size;
    state.largest = std::max(state.largest, size);
    return size;
  }

  static void hold(Window& window, const Rows& rows, std::int64_t i) {
    window.parts.push_back(rows.slice(i, i + 1));
    ++window.count;
  }

  /// Takes row `i`; true if that let something out.
  StatusOr<bool> absorb(GroupState& state, const Rows& rows, std::int64_t i,
                        Outputs& out) const {
    const Block& block = rows.block();
    const std::int64_t row = rows.at(i);
    const std::int64_t number = state.absorbed++;
    if (ErrorRef error = block.error_ref(row)) {
      ++state.emitted;
      Block failed(nullptr, {}, 1, block.origins().slice(row));
      failed.errors().emplace_back(0, std::move(error));
      out.emit(Rows(BlockRef(make_ref<SharedBlock>(std::move(failed)))));
      return true;
    }
    const std::int64_t key = attached_number(block, row);
    const auto [at, added] = state.windows.try_emplace(key);
    Window& window = at->second;
    if (added) {
      auto error = std::make_shared<ElementError>();
      const StatusOr<std::int64_t> size = capacity(state, key, &error->cause);
      if (!size.ok()) {
        state.windows.erase(at);
        ++state.emitted;
        error->status = size.status();
        error->stage = state.stage;
        error->element = block.origins().at(row).to_string();
        Block failed(nullptr, {}, 1, block.origins().slice(row));
        failed.errors().emplace_back(0, std::move(error));
        out.emit_block(std::move(failed));
        return true;
      }
      window.first = number;
      window.capacity = *size;
    }
    hold(window, rows, i);
    if (window.count < window.capacity) return false;
    PS_RETURN_IF_ERROR(let_out(state, key, window, out));
    state.windows.erase(key);
    return true;
  }

  /// (key, window) as the next element.
  static Status let_out(GroupState& state, std::int64_t key, Window& window,
                        Outputs& out) {
    // The user's function may keep the window beyond the iterator, whose
    // account the rows are charged to: while it is on its way, the window is.
    std::int64_t bytes = 0;
    for (Rows& part : window.parts) {
      bytes += part.byte_size();
      PS_ASSIGN_OR_RETURN(Block block, part.materialize());
      part = Rows(BlockRef(make_ref<SharedBlock>(std::move(block))));
    }
    PS_ASSIGN_OR_RETURN(NodeRef node,
                        Node::make(std::make_shared<WindowRows>(
                                       std::move(window.parts), state.spec),
                                   {}));
    Block::Columns columns;
    columns.emplace_back(Tensor::from<std::int64_t>({key}));
    columns.emplace_back(std::vector<Tensor>{
        Tensor::object(make_ref<DatasetObject>(std::move(node), bytes))});
    out.emit_block(Block(Structure::leaves(2), std::move(columns), 1,
                         Origins(state.path, state.emitted++)));
    return absl::OkStatus();
  }

  static void note_mark(GroupState& state, Inputs& in) {
    auto& marks = state.marks;
    marks.emplace_back(state.absorbed, in.mark(0));
    if (marks.size() < kMaxMarks) return;
    std::int64_t oldest = state.absorbed;
    for (const auto& [key, window] : state.windows) {
      oldest = std::min(oldest, window.first);
    }
    while (marks.size() > 1 && marks[1].first <= oldest) marks.pop_front();
    if (marks.size() < kMaxMarks / 2) return;
    // Every second one is enough to start from.
    std::deque<std::pair<std::int64_t, Mark>> kept;
    for (std::size_t i = 0; i < marks.size(); i += 2) {
      kept.push_back(std::move(marks[i]));
    }
    marks = std::move(kept);
  }

  /// Collects the rows of the windows that were begun, after a restore.
  StatusOr<Step> read_again(GroupState& state, Inputs& in) const {
    if (in.available(0) == 0) {
      if (in.ended(0)) {
        return absl::DataLossError(
            "the input is shorter than when the state was saved");
      }
      return Step::need(0, state.read_to - state.reading);
    }
    state.marks.emplace_back(state.reading, in.mark(0));
    const Rows rows = in.take(0, state.read_to - state.reading);
    for (std::int64_t i = 0; i < rows.size(); ++i, ++state.reading) {
      const std::int64_t row = rows.at(i);
      if (rows.block().error_at(row) != nullptr) continue;
      const std::int64_t key = attached_number(rows.block(), row);
      const auto at = state.windows.find(key);
      if (at == state.windows.end() || state.reading < at->second.first) {
        continue;
      }
      if (at->second.count == 0) {
        PS_ASSIGN_OR_RETURN(at->second.capacity, capacity(state, key));
      }
      hold(at->second, rows, i);
    }
    if (state.reading < state.read_to) return Step::more();
    for (const auto& [key, window] : state.windows) {
      if (window.count == 0 || window.count >= window.capacity) {
        return absl::DataLossError(
            "the key function gives other keys than when the state was "
            "saved");
      }
    }
    return Step::more();
  }

  GroupByWindowOptions options_;
};

class GroupByWindow final : public Operator {
 public:
  GroupByWindow(FunctionRef key, DatasetFunctionRef reduce,
                GroupByWindowOptions options)
      : key_(std::move(key)),
        reduce_(std::move(reduce)),
        options_(std::move(options)) {}

  std::string_view op() const override { return options_.op; }
  std::string describe() const override {
    return absl::StrCat(to_absl(options_.op), "(key_fn, reduce_fn, ",
                        options_.window_size_func
                            ? std::string("window_size_func")
                            : absl::StrCat(options_.window_size),
                        ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    PS_RETURN_IF_ERROR(
        check_number(*key_, inputs[0], "the key function").status());
    const LeafSpec scalar{DType::kInt64, PartialShape(Shape{})};
    const LeafSpec window{DType::kObject, PartialShape(Shape{})};
    return reduce_->output_spec(Spec(Structure::leaves(2), {scalar, window}));
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0] == Cardinality(0) ? in[0] : Cardinality::unknown();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(key_->identity());
    fp.add(reduce_->identity());
    fp.add(static_cast<std::uint64_t>(options_.window_size));
    if (options_.window_size_func) {
      fp.add(options_.window_size_func.target_type().name());
    }
  }
  std::vector<Part> lower() const override {
    std::vector<Part> parts;
    parts.push_back({.transform = make_attach(key_, "the key function")});
    parts.push_back({.sequencer = std::make_shared<Group>(options_)});
    for (Part& part : nested_parts(reduce_, 0, {})) {
      parts.push_back(std::move(part));
    }
    return parts;
  }
  bool cheap() const override { return false; }

 private:
  FunctionRef key_;
  DatasetFunctionRef reduce_;
  GroupByWindowOptions options_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_group_by_window(
    FunctionRef key, DatasetFunctionRef reduce, GroupByWindowOptions options) {
  PS_RETURN_IF_ERROR(check_given(options.op, "key_fn", key));
  PS_RETURN_IF_ERROR(check_given(options.op, "reduce_fn", reduce));
  if (options.window_size != 0 && options.window_size_func != nullptr) {
    return invalid_argument(to_absl(options.op),
                            ": give either window_size or window_size_func");
  }
  if (options.window_size_func == nullptr && options.window_size < 1) {
    return invalid_argument(to_absl(options.op),
                            ": window_size must be >= 1, got ",
                            options.window_size);
  }
  return std::make_shared<GroupByWindow>(std::move(key), std::move(reduce),
                                         std::move(options));
}

}  // namespace penstock::ops
