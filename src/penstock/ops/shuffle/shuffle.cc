// shuffle: the elements in random order, from a window or over everything.
//
// shuffle(n) is a sequencer with a window of n slots. It fills the window, then
// lets a random slot out and puts the next element in its place. An entry
// leaves at the latest when it is 4 windows old; that bounds what a restore
// must read again to 5 windows. The order depends on seed, epoch and element
// numbers only, never on blocks or slots' contents.
//
// State: what came in and went out, and which input elements the slots hold: by
// their age, which is 0 for the slot that waits for the next one.
// After a restore those are read again from the input.
//
// shuffle(kGlobal) maps indices through a permutation that is computed: no
// state, no memory; only over a chain with random access.
#include "penstock/ops/shuffle/shuffle.h"

#include <algorithm>
#include <deque>

#include "penstock/base/permutation.h"
#include "penstock/ops/shuffle/window.h"

namespace penstock::ops {

std::uint64_t order_key(std::optional<std::uint64_t> seed, bool reshuffle,
                        const Epoch& epoch, std::uint64_t stage_salt,
                        const PathRef& path) {
  const std::uint64_t base =
      seed ? mix64(0x73687566u, *seed) : mix64(epoch.seed, stage_salt);
  if (!reshuffle) return base;
  return mix64(base, mix64(static_cast<std::uint64_t>(epoch.iteration),
                           path_hash(path)));
}

namespace {

constexpr std::int64_t kMaxAge = 4;  // windows
constexpr std::uint64_t kMaxEncodedAge = std::uint64_t{1} << 62;

class ShuffleState final : public SequencerState {
 public:
  std::uint64_t key = 0;
  std::int64_t absorbed = 0;  // elements that came in
  std::int64_t emitted = 0;
  Window window;
  NarrowInts numbers;           // of the element in each slot, or to come there
  std::int64_t free_slot = -1;  // let out, and the next element's
  /// Slots whose entries may come of age, oldest first; they hold numbers up to
  /// `elder`, or something younger by now.
  std::vector<std::int64_t> elders;
  std::size_t next_elder = 0;
  std::int64_t elder = 0;
  /// Where in the input an element and what follows can be found again.
  std::deque<std::pair<std::int64_t, Mark>> marks;

  // While restoring: elements still to be read again.
  std::vector<std::pair<std::int64_t, std::int64_t>> missing;
  std::size_t next_missing = 0;
  std::int64_t reading = 0;  // number of the next input element
};

class WindowShuffle final : public Sequencer {
 public:
  explicit WindowShuffle(const ShuffleOptions& options) : options_(options) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.permutes = true;
    // A snapshot costs as much as the window is long. What comes between two of
    // them is read again besides the age of the oldest entry (4 windows), the
    // distance of the marks (1/16) and what one step emits beyond: less than 5
    // windows in all.
    traits.snapshot_interval = std::max<std::int64_t>(64, size() / 2);
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<ShuffleState>();
    state->window.expect(size());
    state->key = order_key(options_.seed, options_.reshuffle_each_iteration,
                           context.epoch, context.stage_salt, context.path);
    return state;
  }
  std::int64_t held_bytes(const SequencerState& s) const override {
    const auto& state = s.as<ShuffleState>();
    return state.window.bytes() + state.numbers.bytes();
  }
  MemoryNeed memory_need(const SequencerState& s) const override {
    return {
        scaled_bytes(held_bytes(s), size(), s.as<ShuffleState>().window.size()),
        "make buffer_size smaller"};
  }

  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<ShuffleState>();
    if (state.reading < state.absorbed) return read_again(state, in);
    // Fill.
    while (state.window.size() < size() && in.available(0) > 0) {
      note_mark(state, in);
      const Rows rows = in.take(0, size() - state.window.size());
      for (std::int64_t i = 0; i < rows.size(); ++i) {
        state.window.put(state.window.size(), rows, i);
        state.numbers.push_back(state.absorbed++, size());
        if (state.absorbed % size() == 0) find_elders(state);
      }
      state.reading = state.absorbed;
    }
    if (state.window.size() < size() && !in.ended(0)) {
      return Step::need(0, size() - state.window.size() - 1 + out.room());
    }
    // Exchange.
    std::int64_t room = out.room();
    if (state.free_slot < 0 && state.window.size() == size()) {
      let_out(state);
      --room;
    }
    while (room > 0 && state.free_slot >= 0 && in.available(0) > 0) {
      note_mark(state, in);
      const Rows rows = in.take(0, room);
      for (std::int64_t i = 0; i < rows.size(); ++i) {
        state.window.put(state.free_slot, rows, i);
        if (++state.absorbed % size() == 0) find_elders(state);
        let_out(state);
      }
      room -= rows.size();
      state.reading = state.absorbed;
    }
    // Drain.
    if (in.available(0) == 0 && in.ended(0)) {
      while (state.free_slot >= 0 || (room > 0 && state.window.size() > 0)) {
        if (state.free_slot < 0) {
          let_out(state);
          --room;
        }
        const auto slot = static_cast<std::size_t>(state.free_slot);
        state.window.shrink_into(state.free_slot);
        state.numbers.set(slot, state.numbers.back());
        state.numbers.pop_back();
        state.free_slot = -1;
      }
    }
    PS_RETURN_IF_ERROR(state.window.flush(out));
    if (in.available(0) > 0) return Step::more();
    if (!in.ended(0)) return Step::need(0, std::max<std::int64_t>(1, room));
    return state.window.size() > 0 ? Step::more() : Step::end();
  }

  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<ShuffleState>();
    Encoder& own = writer.own;
    own.i64(state.absorbed);
    own.i64(state.emitted);
    std::int64_t oldest = state.absorbed;
    const std::size_t held = state.numbers.size();
    for (std::size_t i = 0; i < held; ++i) {
      oldest = std::min(oldest, state.numbers[i]);
    }
    std::int64_t from = state.absorbed;
    if (!state.numbers.empty()) {
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
    own.u64(held);
    // By their age: most entries are young, and so short.
    const auto age = [&](std::size_t i) {
      return static_cast<std::uint64_t>(state.absorbed - state.numbers[i]);
    };
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < held; ++i) bytes += Encoder::u64_size(age(i));
    own.reserve(bytes);
    for (std::size_t i = 0; i < held; ++i) own.u64(age(i));
  }

  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<ShuffleState>();
    state.absorbed = own.i64();
    state.emitted = own.i64();
    state.reading = own.i64();
    const std::size_t held = own.count();
    if (state.reading > state.absorbed ||
        static_cast<std::int64_t>(held) > size()) {
      own.fail();
      return absl::OkStatus();
    }
    const std::int64_t from = state.reading;
    for (std::size_t slot = 0; slot < held; ++slot) {
      const std::uint64_t age = own.u64();
      if (age == 0 && state.free_slot < 0) {
        state.free_slot = static_cast<std::int64_t>(slot);
        state.numbers.push_back(state.absorbed);
        continue;
      }
      const std::int64_t number =
          state.absorbed - static_cast<std::int64_t>(
                               std::min<std::uint64_t>(age, kMaxEncodedAge));
      if (!own.ok() || number < from || number >= state.absorbed) {
        own.fail();
        return absl::OkStatus();
      }
      state.numbers.push_back(number);
      state.missing.emplace_back(number, static_cast<std::int64_t>(slot));
    }
    if (state.missing.empty()) {
      // Nothing is read again that would make the slots.
      state.numbers.clear();
      state.free_slot = -1;
    } else {
      state.window.reserve(static_cast<std::int64_t>(held));
    }
    std::sort(state.missing.begin(), state.missing.end());
    for (std::size_t i = 1; i < state.missing.size(); ++i) {
      if (state.missing[i].first == state.missing[i - 1].first) own.fail();
    }
    find_elders(state);
    return absl::OkStatus();
  }

 private:
  std::int64_t size() const { return options_.buffer_size; }

  void let_out(ShuffleState& state) const {
    state.free_slot = pick(state);
    state.window.let_out(state.free_slot);
    state.numbers.set(static_cast<std::size_t>(state.free_slot),
                      state.absorbed);
  }

  std::int64_t pick(ShuffleState& state) const {
    // Entries that have come of age go first.
    const std::int64_t due = state.absorbed - kMaxAge * size();
    while (state.next_elder < state.elders.size()) {
      const std::int64_t slot = state.elders[state.next_elder];
      const auto at = static_cast<std::size_t>(slot);
      const std::int64_t number =
          at < state.numbers.size() ? state.numbers[at] : state.absorbed;
      if (number > due && number <= state.elder) break;
      ++state.next_elder;
      if (number > state.elder) continue;  // another came in its place
      ++state.emitted;
      return slot;
    }
    // One 64-bit number per element, found by its count: no state to save.
    const auto k = static_cast<std::uint64_t>(state.emitted++);
    const auto block = philox(state.key, 0, k >> 1);
    const std::uint64_t bits =
        (k & 1) ? block[2] | (static_cast<std::uint64_t>(block[3]) << 32)
                : block[0] | (static_cast<std::uint64_t>(block[1]) << 32);
    return static_cast<std::int64_t>(
        (static_cast<unsigned __int128>(bits) *
         static_cast<std::uint64_t>(state.window.size())) >>
        64);
  }

  /// Once per window of input: the entries that will come of age before the
  /// next time.
  void find_elders(ShuffleState& state) const {
    state.elders.clear();
    state.next_elder = 0;
    const std::int64_t now = state.absorbed - state.absorbed % size();
    state.elder = now - (kMaxAge - 1) * size();
    const auto number = [&](std::int64_t slot) {
      return state.numbers[static_cast<std::size_t>(slot)];
    };
    const auto held = static_cast<std::int64_t>(state.numbers.size());
    std::size_t count = 0;
    for (std::int64_t slot = 0; slot < held; ++slot) {
      count += number(slot) <= state.elder ? 1 : 0;
    }
    state.elders.reserve(count);
    for (std::int64_t slot = 0; slot < held; ++slot) {
      if (number(slot) <= state.elder) state.elders.push_back(slot);
    }
    std::sort(
        state.elders.begin(), state.elders.end(),
        [&](std::int64_t a, std::int64_t b) { return number(a) < number(b); });
  }

  void note_mark(ShuffleState& state, Inputs& in) const {
    auto& marks = state.marks;
    // A mark every 1/16 window is enough; marks older than any entry go.
    const std::int64_t spacing = std::max<std::int64_t>(1, size() / 16);
    if (!marks.empty() && state.absorbed - marks.back().first < spacing) return;
    marks.emplace_back(state.absorbed, in.mark(0));
    const std::int64_t oldest = state.absorbed - (kMaxAge + 1) * size();
    while (marks.size() > 1 && marks[1].first <= oldest) marks.pop_front();
  }

  /// Reads the held elements again after a restore.
  StatusOr<Step> read_again(ShuffleState& state, Inputs& in) const {
    if (in.available(0) == 0) {
      if (in.ended(0)) {
        return absl::DataLossError(
            "the input is shorter than when the state was saved");
      }
      return Step::need(0, state.absorbed - state.reading);
    }
    if (state.marks.empty() || state.marks.back().first < state.reading) {
      state.marks.emplace_back(state.reading, in.mark(0));
    }
    const Rows rows = in.take(0, state.absorbed - state.reading);
    for (std::int64_t i = 0; i < rows.size(); ++i, ++state.reading) {
      if (state.next_missing < state.missing.size() &&
          state.missing[state.next_missing].first == state.reading) {
        state.window.put(state.missing[state.next_missing++].second, rows, i);
      } else {
        PS_RETURN_IF_ERROR(in.check_again(rows, i));
      }
    }
    return Step::more();
  }

  ShuffleOptions options_;
};

class Shuffle final : public Operator, public IndexedOp {
 public:
  explicit Shuffle(const ShuffleOptions& options) : options_(options) {}

  std::string_view op() const override { return "shuffle"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    std::string text = "shuffle(";
    text += global() ? "GLOBAL" : absl::StrCat(options_.buffer_size);
    if (options_.seed) absl::StrAppend(&text, ", seed=", *options_.seed);
    if (!options_.reshuffle_each_iteration) {
      text += ", reshuffle_each_iteration=false";
    }
    return text + ")";
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    return in[0];
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0];
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(options_.buffer_size));
    fp.add(static_cast<std::uint64_t>(options_.seed.has_value()));
    fp.add(options_.seed.value_or(0));
    fp.add(static_cast<std::uint64_t>(options_.reshuffle_each_iteration));
  }
  std::vector<Part> lower() const override {
    return {{.sequencer = std::make_shared<WindowShuffle>(options_)}};
  }

  const IndexedOp* indexed() const override {
    return global() ? this : nullptr;
  }
  bool is_map() const override { return true; }
  bool needs_random_access() const override { return true; }
  void map_run(const IndexRun& run, std::int64_t input_size,
               const CallContext& context,
               std::vector<IndexRun>& out) const override {
    const Permutation permutation(
        order_key(options_.seed, options_.reshuffle_each_iteration,
                  context.epoch, context.stage_salt, run.path),
        input_size);
    std::vector<std::int64_t> list(static_cast<std::size_t>(run.count));
    if (run.list) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        list[i] = permutation((*run.list)[i]);
      }
    } else {
      permutation.map(run.begin, run.step, list);
    }
    IndexRun mapped;
    mapped.path = run.path;
    mapped.count = run.count;
    mapped.list =
        std::make_shared<const std::vector<std::int64_t>>(std::move(list));
    out.push_back(std::move(mapped));
  }

 private:
  bool global() const { return options_.buffer_size == kGlobal; }
  ShuffleOptions options_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_shuffle(ShuffleOptions options) {
  if (options.buffer_size != kGlobal && options.buffer_size < 1) {
    return invalid_argument(
        "shuffle: buffer_size must be >= 1 or kGlobal, got ",
        options.buffer_size);
  }
  return std::make_shared<Shuffle>(options);
}

}  // namespace penstock::ops
