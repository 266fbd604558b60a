// What an operator is, and the three kinds of work it is made of.
//
// An Operator is one node of the user's graph: immutable, shared, checked when
// it is built. For running it lowers itself to parts:
//   IndexedSource  makes elements from their index, anywhere and in any order;
//   Transform      works on one block, anywhere and in any order;
//   Sequencer      decides order and grouping; one worker runs it at a time.
// None of them owns a thread, a lock or a queue: waiting, ordering and memory
// are the runtime's business.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/base/codec.h"
#include "penstock/base/random.h"
#include "penstock/base/status.h"
#include "penstock/graph/cardinality.h"
#include "penstock/graph/mark.h"
#include "penstock/graph/options.h"
#include "penstock/graph/rows.h"
#include "penstock/graph/turn_order.h"
#include "penstock/memory/block.h"
#include "penstock/memory/spec.h"

namespace penstock {

struct Node;
using NodeRef = std::shared_ptr<const Node>;

/// A stage as it is shown to the user: "map#2", "map#2:decode",
/// "zip#3[1].map#1".
struct StageInfo {
  std::string op;
  int index = 0;
  std::string name;
  std::string prefix;  // of the branch it lies in, "zip#3[1]."
  std::string to_string() const;
};

/// What random values depend on besides the element's origin.
struct Epoch {
  std::uint64_t seed = 0;      // of the dataset, for stages without their own
  std::int64_t iteration = 0;  // of the Dataset object
};

/// Handed to a Transform or source with every block.
class CallContext {
 public:
  const StageInfo* stage = nullptr;
  Epoch epoch;
  /// Salt of the stage: differs between stages, equal between runs.
  std::uint64_t stage_salt = 0;
  const std::atomic<bool>* cancel_flag = nullptr;
  /// Position of the block's first row, where the sequencer in front gave one.
  std::int64_t tag = 0;
  /// Of the enclosing repeats and nested datasets.
  PathRef path;
  /// Offers of batch memory for the rows of this block; may be null.
  class RowSink* sink = nullptr;
  /// Pays for blocks that a transform shares by itself; may be null. It adds
  /// them to `charged_bytes`.
  Charge* reservation = nullptr;
  std::int64_t charged_bytes = 0;
  /// Set while the block takes far longer than it should: a function that calls
  /// row by row may then stop after a row. Null: it may not.
  const std::atomic<bool>* overdue_flag = nullptr;
  /// The rows that were left, if it did.
  std::optional<Block> left;
  /// Takes errors that a policy put a value in the place of; may be null.
  std::vector<ErrorRef>* replaced = nullptr;

  bool cancelled() const {
    return cancel_flag != nullptr &&
           cancel_flag->load(std::memory_order_relaxed);
  }
  bool overdue() const {
    return overdue_flag != nullptr &&
           overdue_flag->load(std::memory_order_relaxed);
  }
  /// Key of the random values of `row`.
  std::uint64_t random_key(const Origins& origins, std::int64_t row) const {
    return mix64(mix64(epoch.seed, stage_salt),
                 mix64(static_cast<std::uint64_t>(epoch.iteration),
                       origins.key_at(row)));
  }
  ErrorRef error(Status status, const Origin& origin,
                 std::exception_ptr cause = nullptr) const;
};

/// Memory of the batch that the rows of a block will become.
class RowSink {
 public:
  virtual ~RowSink() = default;
  /// The slot for the leaf of `row`, or null. Ask once per row.
  virtual struct Placement* offer(std::int64_t row) = 0;
};

// --------------------------------------------------------------------------

struct TransformTraits {
  /// Exactly one element out for each element in, in order.
  bool one_to_one = false;
  /// Only arranges what it is given: no value is read.
  bool arranges = false;
  /// Calls code of the user: unknown cost, may block, may throw.
  bool user_code = false;
  /// May stop when its block is overdue, and leave the rest to others.
  bool may_stop = false;
  /// Gives each element as it is, or an error in its place.
  bool only_checks = false;
  /// Most calls at once; 0 is no cap.
  int max_parallel = 0;
  /// May hand results on as they finish. Unset: as the options say.
  std::optional<bool> deterministic;
};

class Transform {
 public:
  virtual ~Transform() = default;
  virtual TransformTraits traits() const = 0;
  /// Works on `block` in place. A failure of one element belongs into the
  /// block's errors; a failed status means the whole block failed.
  virtual Status apply(Block& block, CallContext& context) const = 0;
};

// --------------------------------------------------------------------------

class IndexedSource {
 public:
  virtual ~IndexedSource() = default;
  /// Number of elements; INT64_MAX when endless.
  virtual std::int64_t size() const = 0;
  /// Elements at the indices of `run`, in that order, with their origins.
  virtual Status read(const IndexRun& run, CallContext& context,
                      Block& out) const = 0;
  /// Holds its elements in memory: a shuffle window over it keeps positions.
  virtual bool in_memory() const { return true; }
  /// Calls code of the user.
  virtual bool user_code() const { return false; }
};

// --------------------------------------------------------------------------

/// What a sequencer's step wants next.
struct Step {
  enum class Kind : std::uint8_t { kMore, kNeed, kEnd };
  Kind kind = Kind::kMore;
  int input = 0;
  std::int64_t rows = 1;
  /// Call again for rows of this input too (it must take some then), or -1.
  int also = -1;
  /// Or when any opened input has rows or ends; all of them can be taken.
  bool any_opened = false;
  /// Input rows that a row of output takes, if that is known, and how many are
  /// held already: where prefetch(n) bounds the work, the rows of all outputs
  /// that there is room for are made side by side, and no others.
  double per_output = 0;
  std::int64_t held = 0;
  /// Or which opened inputs they come from, `input` first. The sequencer's
  /// state keeps it until the next step.
  const TurnOrder* turns = nullptr;

  static Step more() { return {Kind::kMore, 0, 0}; }
  /// Call again when input `i` has a row more, or has ended. `rows` says how
  /// many rows would let it go on to its next output.
  static Step need(int i, std::int64_t rows = 1) {
    return {Kind::kNeed, i, rows};
  }
  /// The same, for outputs that take `per_output` rows each.
  static Step need_each(int i, std::int64_t rows, double per_output,
                        std::int64_t held = 0) {
    Step step = need(i, rows);
    step.per_output = per_output;
    step.held = held;
    return step;
  }
  static Step end() { return {Kind::kEnd, 0, 0}; }
};

/// A choice of a sequencer that keeps no fixed order: the next `rows` elements
/// come from what it knows under `ordinal`.
struct Turn {
  std::int64_t ordinal = 0;
  std::int64_t rows = 0;
};

/// The rows a sequencer may take. Implemented by the runtime.
class Inputs {
 public:
  virtual ~Inputs() = default;
  /// Rows that can be taken now.
  virtual std::int64_t available(int input) const = 0;
  /// True when nothing will follow the available rows.
  virtual bool ended(int input) const = 0;
  /// Takes at most `max` rows, of one piece. Requires available() > 0.
  virtual Rows take(int input, std::int64_t max) = 0;
  /// The rows take() would give, without taking them.
  virtual Rows peek(int input, std::int64_t max) const = 0;
  /// Where the next row that take() gives can be found again.
  virtual Mark mark(int input) const = 0;
  /// Opens a nested dataset as a further input. `restored` is the number
  /// that SnapshotWriter::add_opened gave it, or -1 to start at its start.
  virtual StatusOr<int> open(const NodeRef& dataset, PathRef path,
                             int restored = -1) = 0;
  /// The same with the random values of another epoch than the iterator's,
  /// for what must give the same elements in every epoch (a cache).
  virtual StatusOr<int> open_in(const Epoch& /*epoch*/, const NodeRef& dataset,
                                PathRef path, int restored = -1) {
    return open(dataset, std::move(path), restored);
  }
  /// Of a row that was taken before the state was saved, and is again: that it
  /// cannot be had any more.
  virtual Status check_again(const Rows& /*rows*/, std::int64_t /*row*/) const {
    return absl::OkStatus();
  }
  /// The input is not needed any more. Static inputs may be closed too.
  virtual void close(int input) = 0;
  /// The choice to be made next, while the order of a restored state is
  /// repeated; nothing when the choice is free.
  virtual std::optional<Turn> scripted() const { return std::nullopt; }
};

/// Takes what a sequencer emits in one step: at most one item.
class Outputs {
 public:
  virtual ~Outputs() = default;
  /// Most rows this step should emit; at least 1 when step() is called.
  virtual std::int64_t room() const = 0;
  virtual void emit(Rows rows) = 0;
  /// Emits one element in the form of a block that this step made.
  virtual void emit_block(Block block) = 0;
  /// An error as the next element.
  virtual void emit_error(Status status, Origin origin) = 0;
  /// Position of the first row emitted by this step, for the stage behind.
  virtual void set_tag(std::int64_t tag) = 0;
  /// The choice behind the rows emitted last, scripted or not. Recorded, so
  /// that a restore repeats it.
  virtual void chose(const Turn& /*turn*/) {}
  /// An error that a policy took out, for the iterator's quarantine list.
  virtual void skipped(const ErrorRef& /*error*/) {}
};

class SequencerState {
 public:
  virtual ~SequencerState() = default;
  template <class T>
  T& as() {
    return static_cast<T&>(*this);
  }
  template <class T>
  const T& as() const {
    return static_cast<const T&>(*this);
  }
};

/// Takes an operator's own state, and where its inputs are to be continued
/// if that is not where they are now.
class SnapshotWriter {
 public:
  virtual ~SnapshotWriter() = default;
  Encoder own;
  virtual void set_input(int input, Mark mark) = 0;
  /// Saves the place of an opened input; gives its number for open().
  virtual int add_opened(int input) = 0;
  virtual int add_opened_mark(Mark mark) = 0;
};

struct SequencerContext {
  const StageInfo* stage = nullptr;
  Epoch epoch;
  std::uint64_t stage_salt = 0;
  PathRef path;  // of the enclosing repeats and nested datasets
  std::int64_t memory_budget = 0;
  const std::atomic<bool>* cancel_flag = nullptr;
  /// For steps that bound their time; null: the machine's own.
  const class Clock* clock = nullptr;
  /// Element spec of each input.
  std::span<const Spec> input_specs;
  /// The order may be chosen as it runs (SequencerTraits::deterministic).
  bool unordered = false;
  /// The input datasets, for a sequencer that opens them itself.
  std::vector<NodeRef> input_nodes;
};

struct SequencerTraits {
  int num_inputs = 1;
  /// Looks at values: its input rows must have been computed.
  bool needs_payload = false;
  /// The segment behind may cut what it emits only at multiples of this.
  std::int64_t granularity = 1;
  /// Cuts rows into groups and passes them on as they lie: what a step handles
  /// is blocks, however many rows these have.
  bool groups_rows = false;
  /// Least rows emitted between two snapshots; 0 takes one for each item.
  std::int64_t snapshot_interval = 0;
  bool user_code = false;
  /// Opens its input datasets itself (repeat), by Inputs::open().
  bool opens_inputs = false;
  /// The number of an input becomes part of its elements' origins, which come
  /// out as they are (sample_from_datasets).
  bool own_paths = false;
  /// Only permutes rows: stages in front of it that map one to one may as
  /// well run behind it, so that it holds the cheapest form (a shuffle).
  bool permutes = false;
  /// False: it chooses an order as it runs, tells each choice by chose() and
  /// repeats those of Inputs::scripted(). Unset: as the options say.
  std::optional<bool> deterministic = true;
  /// Each row it emits takes one of every input.
  bool side_by_side = false;
  /// Opened inputs that may be worked on at once; 0 is no cap.
  int max_active = 0;
};

/// What a sequencer that waits for more rows must hold to go on.
struct MemoryNeed {
  /// Judged by the rows it holds; 0: by those that wait at its input.
  std::int64_t bytes = 0;
  /// What the user can do besides raising memory_budget, if anything.
  std::string_view remedy = "";
};

/// What `rows` rows take, if `known` rows take `bytes`; 0 if none are known.
inline std::int64_t scaled_bytes(std::int64_t bytes, std::int64_t rows,
                                 std::int64_t known) {
  constexpr double kMost = std::int64_t{1} << 62;
  if (known <= 0) return 0;
  return static_cast<std::int64_t>(
      std::min(kMost, static_cast<double>(bytes) / static_cast<double>(known) *
                          static_cast<double>(rows)));
}

class Sequencer {
 public:
  virtual ~Sequencer() = default;
  virtual SequencerTraits traits() const = 0;
  virtual StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const = 0;
  /// Takes some rows, emits at most one item, and says how to go on. Called
  /// by one worker at a time; must not block but for user code it runs.
  virtual StatusOr<Step> step(SequencerState& state, Inputs& in,
                              Outputs& out) const = 0;
  /// Everything step() depends on. Called between steps.
  virtual void save(const SequencerState& state,
                    SnapshotWriter& writer) const = 0;
  virtual Status restore(SequencerState& state, Decoder& own) const = 0;
  /// Payload bytes the state keeps alive in other form than as Rows, which
  /// are charged already. Asked after each run of steps: must be cheap.
  virtual std::int64_t held_bytes(const SequencerState&) const { return 0; }
  /// For the error when the budget is too small. Called between steps.
  virtual MemoryNeed memory_need(const SequencerState&) const { return {}; }
};

// --------------------------------------------------------------------------

/// Random access through an operator, for `at(i)`, global shuffles and
/// segments that start at an index.
class IndexInputs {
 public:
  virtual ~IndexInputs() = default;
  virtual std::int64_t size(int input) const = 0;
  virtual Status read(int input, const IndexRun& run,
                      std::vector<Block>& out) = 0;
  /// The same with the random values of another epoch.
  virtual Status read_in(const Epoch& /*epoch*/, int input, const IndexRun& run,
                         std::vector<Block>& out) {
    return read(input, run, out);
  }
};

class IndexedOp {
 public:
  virtual ~IndexedOp() = default;
  /// Output elements of `run`, appended as blocks.
  virtual Status read(const IndexRun& run, IndexInputs& in,
                      CallContext& context, std::vector<Block>& out) const;
  /// Pure mapping of indices of one input: map_run() tells all.
  virtual bool is_map() const { return false; }
  /// Cannot run but by random access (a global shuffle).
  virtual bool needs_random_access() const { return false; }
  /// num_shards when this is a shard, else 0: its state moves to other counts.
  virtual std::int64_t num_shards() const { return 0; }
  virtual std::int64_t shard_index() const { return 0; }
  /// Gives its input over and over: a state of shards behind it moves too.
  virtual bool repeats() const { return false; }
  /// Elements that go into one (a batch), else 0: a state of shards before it
  /// moves too, and the next batch begins at the place it moves to.
  virtual std::int64_t group_size() const { return 0; }
  virtual void map_run(const IndexRun& /*run*/, std::int64_t /*input_size*/,
                       const CallContext& /*context*/,
                       std::vector<IndexRun>& /*out*/) const {}
};

/// One piece of work an operator lowers to; exactly one field is set.
struct Part {
  std::shared_ptr<const Transform> transform = nullptr;
  std::shared_ptr<const Sequencer> sequencer = nullptr;
  std::shared_ptr<const IndexedSource> source = nullptr;
  /// prefetch(n): at most n elements ahead of the next stage.
  std::optional<std::int64_t> limit = std::nullopt;
};

/// Whose memory the elements of an operator lie in.
enum class Memory : std::uint8_t {
  kFresh,   // made for whoever takes them
  kInputs,  // of the input's elements, which are passed on
  kKept,    // of the operator, which may give them again
};

class Operator : public std::enable_shared_from_this<Operator> {
 public:
  virtual ~Operator() = default;
  /// The method's name: "map".
  virtual std::string_view op() const = 0;
  /// One line for explain(): "take(5)".
  virtual std::string describe() const = 0;
  /// Spec of the output; InvalidArgument if the inputs do not fit.
  virtual StatusOr<Spec> output_spec(std::span<const Spec> inputs) const = 0;
  virtual Cardinality cardinality(
      std::span<const Cardinality> inputs) const = 0;
  /// Everything that changes the elements, besides the inputs.
  virtual void add_to(Fingerprint& fingerprint) const = 0;
  virtual std::vector<Part> lower() const = 0;
  /// Null: random access ends here.
  virtual const IndexedOp* indexed() const { return nullptr; }
  /// Why it does, where others of this kind give it; else empty.
  virtual std::string_view why_in_order() const { return {}; }
  /// Only for with_options.
  virtual const Options* options() const { return nullptr; }
  /// Neither calls user code nor reads anything but memory: a few elements
  /// may be made on the spot, by whoever wants them.
  virtual bool cheap() const;
  virtual Memory memory() const { return Memory::kFresh; }

 protected:
  template <class Interface, class Self>
  static std::shared_ptr<const Interface> part_of(const Self* self) {
    return std::shared_ptr<const Interface>(
        self->shared_from_this(), static_cast<const Interface*>(self));
  }
};

// --------------------------------------------------------------------------
// Bases for the common cases: an operator that is one part.

class TransformOp : public Operator, public Transform, public IndexedOp {
 public:
  std::vector<Part> lower() const override {
    return {Part{.transform = part_of<Transform>(this)}};
  }
  const IndexedOp* indexed() const override {
    return traits().one_to_one ? this : nullptr;
  }
  bool cheap() const override { return !traits().user_code; }
  Status read(const IndexRun& run, IndexInputs& in, CallContext& context,
              std::vector<Block>& out) const override;
};

class SequencerOp : public Operator, public Sequencer {
 public:
  std::vector<Part> lower() const override {
    return {Part{.sequencer = part_of<Sequencer>(this)}};
  }
  bool cheap() const override { return !traits().user_code; }
};

class IndexedSourceOp : public Operator,
                        public IndexedSource,
                        public IndexedOp {
 public:
  std::vector<Part> lower() const override {
    return {Part{.source = part_of<IndexedSource>(this)}};
  }
  const IndexedOp* indexed() const override { return this; }
  bool cheap() const override { return in_memory() && !user_code(); }
  Status read(const IndexRun& run, IndexInputs& in, CallContext& context,
              std::vector<Block>& out) const override;
  using IndexedSource::read;
};

}  // namespace penstock
