// merge: nested datasets one after the other, or in turns.
//
// A sequencer over what Expand gives. `cycle_length` datasets are open at a
// time; each gives `block_length` elements, then the next one has its turn.
// One that has ended passes its turn on; the next outer element takes its place
// when the turn comes round again. Rows that were expanded are passed on as
// they lie; the other datasets are opened as inputs, those of the whole cycle
// and a few more early, so that they run in parallel. Without a fixed order
// `cycle_length` datasets are kept open and those that have elements give them,
// at most `block_length` in a row; a restore repeats the turns that were taken.
//
// State: the turn, and per open dataset, those opened early too, the number of
// its outer element and how far it was read. After a restore the outer elements
// are read again (and their function is called again) from the oldest open one
// on.
#include "penstock/ops/flat_map/merge.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "penstock/graph/holds_rows.h"
#include "penstock/graph/looks_ahead.h"
#include "penstock/ops/flat_map/expand.h"

namespace penstock::ops {
namespace {

// Datasets opened beyond those whose turn has come: these at least, and where
// they are short, as many as give so many elements.
constexpr std::int64_t kSpare = 2;
constexpr std::int64_t kSpareElements = 4;
// With a very long cycle not all of it is opened at once.
constexpr std::int64_t kMaxOpenedEarly = 64;
constexpr std::size_t kMaxPlaces = 64;
constexpr std::int64_t kChunkRows = 4096;
// Outer elements to have ready at least where they become datasets that are
// opened: each may hold what its function has read, and nobody counts that.
constexpr std::int64_t kLeastReady = 16;
// After so many that were read on the spot the next ones will be, too.
constexpr std::int64_t kAllPlain = 8;
// Pieces in one item: the stage behind takes them one by one.
constexpr int kMaxParts = 64;

/// An outer element whose dataset is being read.
struct Slot {
  bool used = false;
  std::int64_t number = 0;  // of the outer element
  Mark mark;                // where it can be found again
  // Expanded: rows [next, end) of a block, of those from `begin` on.
  BlockRef rows;
  std::int64_t begin = 0;
  std::int64_t next = 0;
  std::int64_t end = 0;
  int input = -1;                          // opened
  std::shared_ptr<const Charge> argument;  // of what was opened
};

/// Outer elements that have arrived and not yet got a slot.
struct Chunk {
  Rows rows;
  Mark mark;            // of the first row
  std::int64_t number;  // of the first row
  std::int64_t used = 0;
};

/// A slot as it was saved.
struct Missing {
  std::int64_t number;
  std::size_t slot;
  bool opened;
  std::int64_t place;  // rows taken, or the number to restore it by
};

struct MergeState final : SequencerState {
  std::string stage;
  bool unordered = false;

  std::deque<Chunk> chunks;
  std::int64_t next_number = 0;  // of the first outer element without a slot
  std::int64_t queued = 0;       // outer elements in `chunks`
  std::int64_t scanned = 0;      // those before it were opened if need be
  std::deque<std::pair<std::int64_t, int>> early;  // (number, input) opened

  std::vector<Slot> slots;
  std::size_t used_slots = 0;
  std::size_t position = 0;  // whose turn it is
  std::int64_t taken = 0;    // elements of this turn
  // Since it was made or restored: outer elements, and what they gave.
  std::int64_t filled = 0;
  std::int64_t emitted = 0;
  std::int64_t plain = 0;  // outer elements since the last that was opened
  TurnOrder turns;         // what the last step waits for

  // While restoring: outer elements [reading, read_to) to be read again.
  std::vector<Missing> missing;
  std::size_t next_missing = 0;
  std::int64_t reading = 0;
  std::int64_t read_to = 0;
  // And (number, place) of those that had been opened before their turn.
  std::vector<std::pair<std::int64_t, int>> early_places;
};

/// Joins rows of one block that are emitted one after the other.
class Emitter {
 public:
  explicit Emitter(Outputs& out) : out_(out) {}

  void add(const BlockRef& block, std::int64_t begin, std::int64_t end) {
    if (!(block == block_)) {
      flush();
      block_ = block;
      begin_ = begin;
      end_ = end;
      return;
    }
    if (list_.empty()) {
      if (begin == end_) {
        end_ = end;
        return;
      }
      for (std::int64_t r = begin_; r < end_; ++r) list_.push_back(r);
    }
    for (std::int64_t r = begin; r < end; ++r) list_.push_back(r);
  }
  void emit(Rows rows) {
    flush();
    out_.emit(std::move(rows));
    ++parts_;
  }
  bool full() const { return parts_ >= kMaxParts; }
  void flush() {
    if (!block_) return;
    if (list_.empty()) {
      out_.emit(Rows(block_).slice(begin_, end_));
    } else {
      out_.emit(Rows::listed(block_, std::exchange(list_, {})));
    }
    block_.reset();
    ++parts_;
  }

 private:
  Outputs& out_;
  int parts_ = 0;
  BlockRef block_;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::vector<std::int64_t> list_;
};

/// One row of what Expand gave.
struct Outer {
  explicit Outer(const Rows& rows, std::int64_t i)
      : block(rows.block()), row(rows.at(i)) {
    failed = block.columns().size() != 2 || block.error_at(row) != nullptr;
    if (failed) return;
    const std::int64_t* pair =
        block.column(0).tensor().as<std::int64_t>().data() + 2 * row;
    first = pair[0];
    second = pair[1];
  }
  const Expansion& expansion() const {
    return static_cast<const Expansion&>(
        *block.column(1).rows()[static_cast<std::size_t>(row)].object());
  }
  bool opened() const { return !failed && first < 0; }
  Expansion::Nested& nested() const {
    return expansion().open[static_cast<std::size_t>(second)];
  }

  const Block& block;
  std::int64_t row;
  bool failed;
  std::int64_t first = 0;
  std::int64_t second = 0;
};

class Merge final : public Sequencer, public HoldsRows, public LooksAhead {
 public:
  explicit Merge(MergeOptions options) : options_(options) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;
    traits.deterministic = options_.deterministic;
    traits.max_active = options_.max_active;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<MergeState>();
    state->stage = context.stage->to_string();
    state->unordered = context.unordered;
    return state;
  }
  std::int64_t row_bytes(const SequencerState& s) const override {
    std::int64_t bytes = 0;
    for (const Slot& slot : s.as<MergeState>().slots) {
      if (slot.rows && !slot.rows->block.empty()) {
        bytes += slot.rows->charge.bytes() * (slot.end - slot.begin) /
                 slot.rows->block.size();
      }
    }
    return bytes;
  }

  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<MergeState>();
    if (state.reading < state.read_to) return read_again(state, in);
    if (state.unordered) return in_any_order(state, in, out);
    if (!state.early_places.empty()) return open_again(state, in);
    open_early(state, in);
    Emitter emitter(out);
    Step step = in_turn(state, in, out.room(), emitter);
    emitter.flush();
    // While one is waited for, further ones are opened as they come.
    if (step.kind == Step::Kind::kNeed && state.queued < wanted(state)) {
      step.also = 0;
    }
    return step;
  }

  std::int64_t rows_worth_having(const SequencerState& s) const override {
    const auto& state = s.as<MergeState>();
    if (state.plain >= kAllPlain) return kAllRows;
    const std::int64_t all = std::max(kLeastReady, wanted(state));
    return std::max<std::int64_t>(1, all - state.queued);
  }

  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<MergeState>();
    Encoder& own = writer.own;
    own.i64(state.next_number);
    own.u64(state.position);
    own.i64(state.taken);
    // Reading again starts at the oldest open element, or at the first
    // without a slot.
    std::int64_t from = state.next_number;
    const Mark* mark = nullptr;
    Mark queued;
    if (!state.chunks.empty()) {
      const Chunk& chunk = state.chunks.front();
      queued = chunk.mark.after(chunk.used);
      mark = &queued;
    }
    for (const Slot& slot : state.slots) {
      if (slot.used && slot.number < from) {
        from = slot.number;
        mark = &slot.mark;
      }
    }
    if (mark != nullptr) writer.set_input(0, *mark);
    own.i64(from);
    own.u64(state.slots.size());
    for (const Slot& slot : state.slots) {
      own.boolean(slot.used);
      if (!slot.used) continue;
      own.i64(slot.number - from);
      own.boolean(slot.input >= 0);
      own.i64(slot.input >= 0 ? writer.add_opened(slot.input)
                              : slot.next - slot.begin);
    }
    own.u64(state.early.size());
    for (const auto& [number, input] : state.early) {
      own.i64(number - state.next_number);
      own.i64(input >= 0 ? writer.add_opened(input) : -1);
    }
  }

  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<MergeState>();
    state.next_number = own.i64();
    state.position = own.u64();
    state.taken = own.i64();
    state.reading = own.i64();
    state.read_to = state.scanned = state.next_number;
    const std::size_t slots = own.count();
    state.slots.resize(slots);
    for (std::size_t i = 0; i < slots; ++i) {
      if (!own.boolean()) continue;
      Missing missing{};
      missing.number = own.i64() + state.reading;
      missing.slot = i;
      missing.opened = own.boolean();
      missing.place = own.i64();
      if (missing.number < state.reading ||
          missing.number >= state.next_number || missing.place < 0) {
        own.fail();
      }
      state.missing.push_back(missing);
    }
    const std::size_t early = own.count(2);
    std::int64_t least = 0;
    for (std::size_t i = 0; i < early; ++i) {
      const std::int64_t ahead = own.i64();
      const std::int64_t place = own.i64();
      if (ahead < least || ahead >= kMaxOpenedEarly + kSpareElements ||
          place >= std::numeric_limits<int>::max()) {
        own.fail();
        break;
      }
      least = ahead + 1;
      if (place >= 0) {
        state.early_places.emplace_back(state.next_number + ahead,
                                        static_cast<int>(place));
      }
    }
    if (state.reading < 0 || state.reading > state.next_number ||
        state.position > slots || state.taken < 0 ||
        state.taken >= options_.block_length ||
        (!state.unordered &&
         static_cast<std::int64_t>(slots) > options_.cycle_length)) {
      own.fail();
    }
    std::sort(state.missing.begin(), state.missing.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    for (std::size_t i = 1; i < state.missing.size(); ++i) {
      if (state.missing[i].number == state.missing[i - 1].number) own.fail();
    }
    return absl::OkStatus();
  }

 private:
  enum class Fill { kFilled, kWait, kEnd };

  // --- outer elements -------------------------------------------------------
  static bool pull(MergeState& state, Inputs& in) {
    if (in.available(0) == 0) return false;
    Mark mark = in.mark(0);
    Rows rows = in.take(0, kChunkRows);
    const std::int64_t n = rows.size();
    state.chunks.push_back(
        {std::move(rows), std::move(mark), state.next_number + state.queued});
    state.queued += n;
    return true;
  }

  /// Puts the next outer element into `slot`.
  static Fill fill(MergeState& state, Inputs& in, Slot& slot) {
    if (state.chunks.empty() && !pull(state, in)) {
      return in.ended(0) ? Fill::kEnd : Fill::kWait;
    }
    Chunk& chunk = state.chunks.front();
    const std::int64_t i = chunk.used++;
    assign(state, in, slot, chunk.rows, i, chunk.mark.after(i),
           state.next_number, -1);
    ++state.next_number;
    ++state.filled;
    --state.queued;
    if (chunk.used == chunk.rows.size()) state.chunks.pop_front();
    return Fill::kFilled;
  }

  static void assign(MergeState& state, Inputs& in, Slot& slot,
                     const Rows& rows, std::int64_t i, Mark mark,
                     std::int64_t number, int restored) {
    slot.used = true;
    slot.number = number;
    slot.mark = std::move(mark);
    ++state.used_slots;
    const Outer outer(rows, i);
    state.plain = outer.opened() ? 0 : state.plain + 1;
    if (outer.opened()) {
      Expansion::Nested& nested = outer.nested();
      slot.argument = std::move(nested.argument);
      if (!state.early.empty() && state.early.front().first == number) {
        slot.input = state.early.front().second;
        state.early.pop_front();
        if (slot.input >= 0) return;
      }
      auto opened = in.open(nested.node, nested.path, restored);
      if (opened.ok()) {
        slot.input = *opened;
        nested.node.reset();
      } else {
        slot.rows = error_rows(state, opened.status(),
                               outer.block.origins().at(outer.row));
        slot.end = 1;
      }
    } else if (outer.failed) {
      slot.rows = rows.block_ref();
      slot.begin = slot.next = outer.row;
      slot.end = outer.row + 1;
    } else {
      slot.rows = outer.expansion().rows;
      slot.begin = slot.next = outer.first;
      slot.end = outer.second;
    }
  }

  static BlockRef error_rows(const MergeState& state, Status status,
                             const Origin& origin) {
    auto error = std::make_shared<ElementError>();
    error->status = std::move(status);
    error->stage = state.stage;
    error->element = origin.to_string();
    Block block(nullptr, {}, 1, Origins(origin.path, origin.ordinal));
    block.errors().emplace_back(0, std::move(error));
    return BlockRef(make_ref<SharedBlock>(std::move(block)));
  }

  static void release(MergeState& state, Inputs& in, Slot& slot) {
    if (slot.input >= 0) in.close(slot.input);
    slot = {};
    --state.used_slots;
  }

  /// Opens datasets whose turn is near, so that they run already.
  /// Outer elements to have at hand beyond those with a slot.
  std::int64_t wanted(const MergeState& state) const {
    const std::int64_t unused =
        options_.cycle_length - static_cast<std::int64_t>(state.used_slots);
    return std::min(unused, kMaxOpenedEarly) + spare(state);
  }

  static std::int64_t spare(const MergeState& state) {
    return static_cast<std::int64_t>(
        std::clamp(opened_per_output(state) * kSpareElements, 1.0 * kSpare,
                   1.0 * kSpareElements));
  }

  static double opened_per_output(const MergeState& state) {
    return state.emitted == 0 ? 0
                              : static_cast<double>(state.filled) /
                                    static_cast<double>(state.emitted);
  }

  void open_early(MergeState& state, Inputs& in) const {
    const std::int64_t enough = wanted(state);
    while (state.queued < enough && pull(state, in)) {
    }
    state.scanned = std::max(state.scanned, state.next_number);
    const std::int64_t end = state.next_number + std::min(enough, state.queued);
    for (const Chunk& chunk : state.chunks) {
      const std::int64_t chunk_end = chunk.number + chunk.rows.size();
      for (; state.scanned < std::min(end, chunk_end); ++state.scanned) {
        open_ahead(state, in, chunk, state.scanned, -1);
      }
      if (state.scanned >= end) break;
    }
  }

  static void open_ahead(MergeState& state, Inputs& in, const Chunk& chunk,
                         std::int64_t number, int place) {
    const Outer outer(chunk.rows, number - chunk.number);
    if (!outer.opened()) return;
    Expansion::Nested& nested = outer.nested();
    auto opened = in.open(nested.node, nested.path, place);
    if (opened.ok()) nested.node.reset();
    // What is wrong with it is said when its turn comes.
    state.early.emplace_back(number, opened.ok() ? *opened : -1);
  }

  /// After a restore: those that had been opened early continue, before any
  /// other is opened.
  static StatusOr<Step> open_again(MergeState& state, Inputs& in) {
    const std::int64_t last = state.early_places.back().first;
    while (state.next_number + state.queued <= last) {
      if (pull(state, in)) continue;
      if (in.ended(0)) return changed();
      return Step::need(0, last + 1 - state.next_number - state.queued);
    }
    for (const auto& [number, place] : state.early_places) {
      const auto chunk = std::find_if(
          state.chunks.begin(), state.chunks.end(),
          [&](const Chunk& c) { return number < c.number + c.rows.size(); });
      open_ahead(state, in, *chunk, number, place);
    }
    state.scanned = last + 1;
    state.early_places.clear();
    return Step::more();
  }

  // --- their elements -------------------------------------------------------
  struct Read {
    std::int64_t rows = 0;
    bool ended = false;
  };
  /// Passes at most `max` elements of `slot` on. Neither rows nor the end: it
  /// has to be waited for.
  static Read read(Slot& slot, Inputs& in, std::int64_t max, Emitter& emitter) {
    if (slot.input < 0) {
      const std::int64_t n = std::min(max, slot.end - slot.next);
      if (n <= 0) return {0, true};
      emitter.add(slot.rows, slot.next, slot.next + n);
      slot.next += n;
      return {n, false};
    }
    if (in.available(slot.input) == 0) return {0, in.ended(slot.input)};
    Rows rows = in.take(slot.input, max);
    const std::int64_t n = rows.size();
    emitter.emit(std::move(rows));
    return {n, false};
  }

  void count(MergeState& state, std::int64_t rows) const {
    state.taken += rows;
    if (state.taken == options_.block_length) pass_on(state);
  }
  static void pass_on(MergeState& state) {
    ++state.position;
    state.taken = 0;
  }
  std::size_t cycle() const {
    return static_cast<std::size_t>(options_.cycle_length);
  }

  /// More of the one that has its turn: its elements, or an outer element that
  /// takes its place.
  Step need_more(MergeState& state, std::size_t position, std::int64_t rows,
                 std::int64_t turn_left) const {
    TurnOrder& turns = state.turns;
    turns.rows = options_.block_length;
    turns.rows_left = turn_left;
    turns.cycle = options_.cycle_length;
    turns.any_order = state.unordered;
    turns.opened_per_output = opened_per_output(state);
    turns.inputs.clear();
    std::int64_t number = state.next_number;
    auto early = state.early.begin();
    const auto add = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (i < state.slots.size() && state.slots[i].used) {
          turns.inputs.push_back(place(state.slots[i].input));
        } else if (number == state.next_number + state.queued) {
          turns.inputs.push_back(TurnOrder::kToOpen);
        } else {
          // Places that are free are taken in order.
          const bool opened =
              early != state.early.end() && early->first == number;
          turns.inputs.push_back(place(opened ? early++->second : -1));
          ++number;
        }
      }
    };
    add(position, std::max(state.slots.size(), std::min(cycle(), kMaxPlaces)));
    add(0, position);
    turns.next.clear();
    for (; early != state.early.end() && early->first == number++; ++early) {
      if (early->second < 0) break;
      turns.next.push_back(early->second);
    }
    const Slot& slot = state.slots[position];
    Step step = Step::need(slot.used ? slot.input : 0, rows);
    step.turns = &turns;
    return step;
  }
  static int place(int input) {
    return input >= 0 ? input : TurnOrder::kAtHand;
  }

  Step in_turn(MergeState& state, Inputs& in, std::int64_t room,
               Emitter& emitter) const {
    while (room > 0 && !emitter.full()) {
      if (state.position >= cycle()) state.position = 0;
      if (state.position == state.slots.size()) state.slots.emplace_back();
      Slot& slot = state.slots[state.position];
      if (!slot.used) {
        const Fill filled = fill(state, in, slot);
        if (filled == Fill::kWait) {
          return need_more(state, state.position, 1, options_.block_length);
        }
        if (filled == Fill::kEnd) {
          state.slots.erase(state.slots.begin() +
                            static_cast<std::ptrdiff_t>(state.position));
          if (state.slots.empty()) return Step::end();
          if (state.position >= state.slots.size()) state.position = 0;
          continue;
        }
      }
      const std::int64_t max =
          std::min(room, options_.block_length - state.taken);
      const Read got = read(slot, in, max, emitter);
      if (got.ended) {
        release(state, in, slot);
        pass_on(state);
      } else if (got.rows == 0) {
        return need_more(state, state.position, max,
                         options_.block_length - state.taken);
      } else {
        room -= got.rows;
        state.emitted += got.rows;
        count(state, got.rows);
      }
    }
    return Step::more();
  }

  // --- in any order ---------------------------------------------------------
  static Slot& unused_slot(MergeState& state) {
    for (Slot& slot : state.slots) {
      if (!slot.used) return slot;
    }
    return state.slots.emplace_back();
  }

  static Read take_turn(Slot& slot, Inputs& in, std::int64_t max,
                        Emitter& emitter, Outputs& out) {
    const Read got = read(slot, in, max, emitter);
    if (got.rows > 0) out.chose({slot.number, got.rows});
    return got;
  }

  StatusOr<Step> in_any_order(MergeState& state, Inputs& in,
                              Outputs& out) const {
    Emitter emitter(out);
    std::int64_t room = out.room();
    PS_ASSIGN_OR_RETURN(std::optional<Step> step,
                        repeat_turns(state, in, out, room, emitter));
    if (!step) step = take_turns(state, in, out, room, emitter);
    emitter.flush();
    return *step;
  }

  /// Takes the turns of a restored state; nothing when all are taken. More
  /// datasets than the cycle are open for a while, where the end of one was
  /// known when the next was opened.
  StatusOr<std::optional<Step>> repeat_turns(MergeState& state, Inputs& in,
                                             Outputs& out, std::int64_t& room,
                                             Emitter& emitter) const {
    while (const std::optional<Turn> turn = in.scripted()) {
      if (room <= 0 || emitter.full()) return Step::more();
      while (state.next_number <= turn->ordinal) {
        const Fill filled = fill(state, in, unused_slot(state));
        if (filled == Fill::kWait) return Step::need(0);
        if (filled == Fill::kEnd) return changed();
      }
      const auto slot = std::find_if(
          state.slots.begin(), state.slots.end(),
          [&](const Slot& s) { return s.used && s.number == turn->ordinal; });
      if (slot == state.slots.end()) return changed();
      const Read got =
          take_turn(*slot, in, std::min(room, turn->rows), emitter, out);
      if (got.ended) return changed();
      if (got.rows == 0) return Step::need(slot->input, turn->rows);
      room -= got.rows;
    }
    return std::optional<Step>();
  }

  static Status changed() {
    return absl::DataLossError(
        "the datasets are shorter than when the state was saved");
  }

  Step take_turns(MergeState& state, Inputs& in, Outputs& out,
                  std::int64_t room, Emitter& emitter) const {
    Fill filled = Fill::kFilled;
    for (bool any = true; any;) {
      while (filled == Fill::kFilled &&
             static_cast<std::int64_t>(state.used_slots) <
                 options_.cycle_length) {
        filled = fill(state, in, unused_slot(state));
      }
      any = false;
      for (std::size_t n = state.slots.size(); n > 0; --n) {
        if (room <= 0 || emitter.full()) return Step::more();
        if (state.position >= state.slots.size()) state.position = 0;
        Slot& slot = state.slots[state.position++];
        if (!slot.used) continue;
        const Read got = take_turn(
            slot, in, std::min(room, options_.block_length), emitter, out);
        room -= got.rows;
        any |= got.ended || got.rows > 0;
        if (got.ended) release(state, in, slot);
      }
    }
    // Whoever is still open has nothing at hand.
    for (std::size_t i = 0; i < state.slots.size(); ++i) {
      if (!state.slots[i].used) continue;
      Step step = need_more(state, i, 1, options_.block_length);
      step.any_opened = true;
      if (filled == Fill::kWait) step.also = 0;
      return step;
    }
    return filled == Fill::kEnd ? Step::end() : Step::need(0);
  }

  /// Reads the open outer elements again after a restore.
  StatusOr<Step> read_again(MergeState& state, Inputs& in) const {
    if (in.available(0) == 0) {
      if (in.ended(0)) {
        return absl::DataLossError(
            "the input is shorter than when the state was saved");
      }
      return Step::need(0, state.read_to - state.reading);
    }
    const Mark mark = in.mark(0);
    const Rows rows = in.take(0, state.read_to - state.reading);
    for (std::int64_t i = 0; i < rows.size(); ++i, ++state.reading) {
      if (state.next_missing == state.missing.size()) continue;
      const Missing& missing = state.missing[state.next_missing];
      if (missing.number != state.reading) continue;
      ++state.next_missing;
      Slot& slot = state.slots[missing.slot];
      assign(state, in, slot, rows, i, mark.after(i), state.reading,
             missing.opened ? static_cast<int>(missing.place) : -1);
      if ((slot.input >= 0) != missing.opened) {
        return absl::DataLossError(
            "the function gives another dataset than when the state was "
            "saved");
      }
      if (!missing.opened) {
        slot.next = std::min(slot.end, slot.begin + missing.place);
      }
    }
    return Step::more();
  }

  MergeOptions options_;
};

}  // namespace

std::shared_ptr<const Sequencer> make_merge(MergeOptions options) {
  return std::make_shared<Merge>(options);
}

}  // namespace penstock::ops
