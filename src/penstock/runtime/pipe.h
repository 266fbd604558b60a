// The two kinds of pipes a plan is made of: segments and sequencers.
//
// All methods but run() are called under the Run's lock.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "penstock/graph/holds_rows.h"
#include "penstock/graph/looks_ahead.h"
#include "penstock/graph/node.h"
#include "penstock/runtime/exchange.h"
#include "penstock/runtime/run.h"
#include "penstock/runtime/width_search.h"

namespace penstock {

/// How much the consumer of a pipe wants.
struct Demand {
  /// Rows it would take now; kUnlimited when it just works ahead.
  std::int64_t rows = kUnlimited;
  /// The iterator's consumer waits for exactly this.
  bool critical = false;
};

/// Blocks that are timed stage by stage, and on the CPU's clock, lie so far
/// apart at least, but for the first and for long ones: such a block takes 2 us
/// more.
constexpr std::int64_t kTimedApartNs = 4'000'000;

class Pipe {
 public:
  explicit Pipe(Run& run) : run_(run) {}
  virtual ~Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  /// Claims work here or further upstream, nearest first.
  virtual bool find(const Demand& demand, ClaimKind kind, Work& work) = 0;
  /// Without the lock.
  virtual void run(Work& work) = 0;
  virtual void complete(Work& work) = 0;
  /// Without the lock, after run(): records what it did.
  virtual void trace(const Work& work, TraceWriter& trace) const = 0;
  /// Nothing will be appended to out() any more.
  virtual bool no_more() const = 0;
  virtual void collect_stats(std::vector<PipeStats>& out,
                             std::int64_t now) const = 0;
  /// One line per pipe, sources first.
  virtual void explain(std::string& text, const std::string& indent) const = 0;
  virtual void for_each_segment(
      const std::function<void(SegmentPipe&)>& visit) = 0;
  /// Adds the labels of stages whose user code runs, sources first.
  virtual void running(std::vector<std::string>& labels) const = 0;
  /// Work in flight here or upstream.
  virtual bool idle() const = 0;

  bool exhausted() const { return out.empty() && no_more(); }
  /// The place of the first element, for the one who consumes it. Null means a
  /// start from scratch; an unordered stage upstream needs more, because it may
  /// have to repeat its order. Not kept: it would keep all that followed.
  virtual Mark take_first_mark() = 0;
  /// Rows that may be made beyond those the consumer has, where that is
  /// bounded.
  virtual std::int64_t rows_ahead() const { return out.limit; }

  Exchange out;

 protected:
  /// Rows that may be started now, given what is under way.
  std::int64_t allowance(const Demand& demand, std::int64_t extra) const;
  /// Rows that are asked for. A consumer that works ahead takes what is there,
  /// element by element.
  static std::int64_t wanted(const Demand& demand) {
    return demand.rows == kUnlimited ? 1 : demand.rows;
  }
  /// The next stage has room for more.
  bool has_credit() const;

  Run& run_;
};

/// An indexed source with the index mappings above it.
struct IndexChain {
  struct Map {
    const IndexedOp* op;
    std::int64_t input_size;
    Stage* stage;
  };
  std::vector<Map> maps;  // outermost first
  NodeRef base;
  std::string base_prefix;
  Stage* base_stage = nullptr;
  std::int64_t size = 0;
  std::vector<NodeRef> keep_alive;
  PathRef path;
  Epoch epoch;
  // Of the outermost map but repeats, if it is a shard; and the size of what
  // is repeated, 0 without repeats.
  std::int64_t num_shards = 1;
  std::int64_t shard_index = 0;
  std::int64_t period = 0;
  bool user_code = false;

  Status read(const IndexRun& run, const std::atomic<bool>* cancel_flag,
              std::vector<Block>& out) const;
};

/// A chain of transforms that one worker runs over one block while it is hot
/// in cache. Fed by an index chain or by another pipe.
class SegmentPipe final : public Pipe {
 public:
  struct Link {
    std::shared_ptr<const Transform> transform;
    TransformTraits traits;
    Stage* stage;
    bool last = true;  // of the parts of its stage: its rows are counted
    std::vector<Stage*> joined;  // stages whose work it does besides
    Stage* draws = nullptr;      // whose random values it draws, if not its own

    Stage* draws_for() const { return draws != nullptr ? draws : stage; }
  };

  explicit SegmentPipe(Run& run) : Pipe(run) {}

  bool find(const Demand& demand, ClaimKind kind, Work& work) override;
  void run(Work& work) override;
  void complete(Work& work) override;
  void trace(const Work& work, TraceWriter& trace) const override;
  bool no_more() const override;
  void collect_stats(std::vector<PipeStats>& out,
                     std::int64_t now) const override;
  void explain(std::string& text, const std::string& indent) const override;
  void for_each_segment(
      const std::function<void(SegmentPipe&)>& visit) override;
  void running(std::vector<std::string>& labels) const override;
  bool idle() const override;
  Mark take_first_mark() override;
  std::int64_t rows_ahead() const override;
  /// Counts the time since the last sampled block as its stages'.
  void share_time() const;

  // Set by the planner.
  std::unique_ptr<Pipe> input;
  PathRef path;
  Epoch epoch;
  std::optional<IndexChain> chain;
  std::vector<Link> links;
  std::int64_t granularity = 1;  // of the input's items
  std::int64_t align = 1;        // rows of the batch behind
  bool into_batches = false;     // row i of the output is row i of the batches
  int cap = 0;                   // explicit num_parallel_calls
  bool ordered = true;
  bool input_ordered = true;  // items of the input may be joined
  bool user_code = false;
  int filters = 0;                 // transforms that are not one to one
  std::vector<std::string> notes;  // rewrites, for explain()
  std::int64_t end_index = 0;
  bool from_index = false;
  /// Its strings go to the caller as they are.
  bool strings_for_caller = false;

  // Elastic width, for stages found to block.
  bool blocking = false;
  int width = 0;
  std::int64_t tuned_at = 0;
  std::int64_t tuned_calls = 0;
  WidthSearch width_search;
  /// Whether calls of `stage` are part of its work.
  bool calls_of(const Stage* stage) const;
  /// Both of all segments that call the stages which block.
  void grow_width(int blocked_calls, int all_calls);
  void start_width(int calls);
  /// Unless another of its stages blocks.
  void leave_elastic_lane();
  void tune(std::int64_t now);

  std::string label() const;

  /// What the rows are made of, as far as it is known before the first one.
  void expect_rows(std::span<const LeafSpec> leaves);
  /// The same of what it gives: elements of unknown size are begun one by one.
  void expect_bytes(const Spec& spec);
  /// The same of what one of its links but the last gives.
  void expect_passing(const Spec& spec);
  /// Or as other segments of the same stage gave: nested datasets are many.
  void expect_as_before();

  /// Makes this an unordered segment that continues at `mark`.
  Status start_unordered(const Mark& mark);

 private:
  // Input rows of an unordered segment that were claimed together.
  struct OpenClaim {
    std::int64_t rows;
    Mark mark;  // of the input
    bool delivered = false;
  };
  // By the ordinal of their first row.
  using OpenClaims = std::map<std::int64_t, OpenClaim>;
  // Input rows that a restored state says something about, by ordinal.
  struct Scripted {
    std::int64_t ordinal;
    std::int64_t rows;
    bool drop;     // they had been handed on
    SlotRef slot;  // else: their place in the order
  };

  struct GivenBack {
    SlotRef slot;
    Work::Rest rest;
    Charge charge;
  };
  std::deque<GivenBack> given_back_;
  bool may_give_back(std::size_t link) const;
  bool one_to_one(std::size_t begin, std::size_t end) const;
  void claim_given_back(std::int64_t rows, Work& work);

  bool stands_still();
  std::int64_t seen_calls_ = -1;  // when that was asked last, and since when
  std::int64_t seen_calls_at_ = 0;

  /// Calls that run at once when nothing bounds them.
  std::int64_t calls_at_once() const;
  /// Rows that may be made beyond prefetch(n), so that a map is as wide as it
  /// would be without.
  std::int64_t beyond_limit(const Demand& demand) const;
  /// What follows has all that it may have ready.
  bool has_enough() const;
  std::int64_t block_rows() const;
  /// False when the rows were only dropped.
  bool claim_input(std::int64_t rows, bool critical, Work& work);
  std::int64_t last_rows(std::int64_t rows) const;
  double bytes_to_claim() const;
  double known_bytes(const Spec& spec) const;
  Stage* last_stage() const;
  Mark output_mark(Work& work) const;
  Mark input_mark(const Work& work) const;
  Mark behind_filters(Mark mark) const;
  std::int64_t scripted_limit(std::int64_t rows) const;
  void abandon_script();
  void deliver(Slot& slot);
  Ref<const Snapshot> take_snapshot(Ref<Delivery> next) const;
  void split_claim(Slot& slot, std::int64_t rows, Slot& rest);
  void close_claim(OpenClaims::iterator claim);
  void learn(const Work& work);
  void account_wait(int reason);
  StatusOr<Block> materialize(Work& work);
  bool only_checks() const;
  /// The rows that came in, if they go out as they are; else none.
  Rows passed_on(const Work& work) const;
  void refuse_oversized(Block& block) const;

  // Memory of the batches behind that are being filled, by their number. Used
  // while the results are known to hold a large tensor of one shape.
  struct BatchMemory {
    Ref<Buffer> buffer;
    std::int64_t rows_left = 0;
    Charge charge;  // for those; claims pay for the others
  };
  void claim_batch_memory(Work& work, bool critical);
  void learn_row_shape(const Block& block);
  std::map<std::int64_t, BatchMemory> batch_memory_;
  LeafSpec row_spec_;  // of the largest leaf; kInvalid: not known, or varies
  std::int64_t row_bytes_ = 0;

  // How time divides between input and links, by the last sampled block; CPU
  // time by the last one that kept its core.
  absl::InlinedVector<double, 4> shares_;
  absl::InlinedVector<double, 4> cpu_shares_;
  double cpu_ns_per_row_ = 0;

  // Unordered segments only.
  // From the first claim that is not handed on; those handed on that lie side
  // by side are one.
  OpenClaims open_claims_;
  std::deque<Scripted> script_;
  std::int64_t ordinal_ = 0;  // of the next input row
  std::int64_t scripted_pending_ = 0;
  Ref<Delivery> last_delivery_;
  Mark restored_;  // of the next output row, while the script lasts
  Mark first_;

  enum Wait { kNone, kInput, kOutput, kMemory };

  // What each block changes, in two lines of the cache: mostly another core
  // has changed them last.
 public:
  alignas(64) int active = 0;

 private:
  int wait_reason_ = kNone;
  std::int64_t wait_since_ = 0;
  std::int64_t claims_ = 0;
  mutable std::int64_t unshared_ns_ = 0;
  mutable std::int64_t unshared_rows_ = 0;
  double ns_per_row_ = 0;
  double bytes_per_row_ = 0;
  double bytes_per_kept_row_ = 0;  // behind filters: of a row that came out

 public:
  std::int64_t completed_calls = 0;
  std::int64_t next_index = 0;

 private:
  std::int64_t waits_[4] = {};
  std::int64_t rows_target_ = 0;
  std::int64_t claimed_rows_ = 0;
  // What it holds besides while it works on a row: results of one link are
  // made from those of the one before.
  double passing_per_row_ = 0;
  std::int64_t sampled_at_ = 0;
};

class SequencerPipe final : public Pipe {
 public:
  SequencerPipe(Run& run, std::shared_ptr<const Sequencer> op, Stage* stage);
  ~SequencerPipe() override;

  bool find(const Demand& demand, ClaimKind kind, Work& work) override;
  void run(Work& work) override;
  void complete(Work& work) override;
  void trace(const Work& work, TraceWriter& trace) const override;
  bool no_more() const override { return ended_; }
  void collect_stats(std::vector<PipeStats>& out,
                     std::int64_t now) const override;
  void explain(std::string& text, const std::string& indent) const override;
  void for_each_segment(
      const std::function<void(SegmentPipe&)>& visit) override;
  void running(std::vector<std::string>& labels) const override;
  bool idle() const override;
  Mark take_first_mark() override { return std::move(first_); }

  /// Makes the state, and restores it from `mark` if that has a snapshot.
  Status start(const SequencerContext& context, const Mark& mark);
  void add_input(std::unique_ptr<Pipe> pipe, const Mark& mark);
  /// Whether it keeps the order, unless its operator says; before start().
  void inherit_order(bool deterministic) {
    if (!traits_.deterministic) traits_.deterministic = deterministic;
  }
  /// Plans a nested dataset; set by the planner.
  std::function<StatusOr<std::unique_ptr<Pipe>>(
      const NodeRef&, const Epoch&, const PathRef&, const Mark&, bool bounded)>
      plan_nested;
  Epoch epoch;           // of nested datasets; set by the planner
  bool bounded = false;  // upstream of a prefetch(n)
  bool last = true;      // of the parts of its stage: its rows are counted

 private:
  friend class PipeInputs;
  friend class PipeOutputs;
  friend class PipeSnapshot;
  struct Input {
    Pipe* pipe = nullptr;  // null when closed
    std::deque<Item> items;
    std::int64_t rows = 0;
    std::int64_t bytes = 0;
    bool ended = false;
    bool closing = false;  // closed by the running step
    Mark tail;             // of what follows the items
    Mark next() const { return items.empty() ? tail : items.front().mark; }
  };

  bool has_rows(int input) const {
    return input >= 0 && pipes_[static_cast<std::size_t>(input)] != nullptr &&
           pipes_[static_cast<std::size_t>(input)]->out.ready_rows() > 0;
  }
  /// An opened input has something that the last step has not seen.
  bool opened_has_news() const;
  /// Opened inputs with work in flight.
  int active_inputs() const;
  void append_delivery(std::int64_t ordinal, std::int64_t rows);
  /// Lets input 0 run as far ahead as the last step found worth while.
  void bound_first_input();
  void refill(Input& input, std::int64_t wanted);
  std::int64_t affordable_rows(const Demand& demand) const;
  /// Rows of the input it needs that so many rows of output take, as far as
  /// that is known.
  std::int64_t rows_for(std::int64_t outputs) const;
  /// Claims work for so many outputs on the inputs that take turns.
  bool find_in_turns(std::int64_t outputs, bool critical, ClaimKind kind,
                     Work& work);
  bool find_drawn(std::int64_t outputs, bool critical, ClaimKind kind,
                  Work& work);
  bool find_in_any_order(std::int64_t outputs, ClaimKind kind, Work& work);
  /// The same behind one that has begun all of its rows: those of the next.
  bool find_one_by_one(std::int64_t outputs, ClaimKind kind, Work& work);
  /// Claims work on an input until it has made so many rows.
  bool find_rows(int input, std::int64_t rows, bool critical, ClaimKind kind,
                 Work& work);
  /// May a call be started there, of as many inputs as may be worked on?
  bool startable(std::size_t i) const;
  /// Rows of an input that are made or on their way.
  std::int64_t made(int input) const;
  Ref<const Snapshot> take_snapshot(bool at_start = false);
  StatusOr<Step> take_step(Inputs& in, Outputs& out);
  void fail(Status status, Work& work, bool restore_failed = false);

  std::shared_ptr<const Sequencer> op_;
  SequencerTraits traits_;
  Stage* stage_;
  std::unique_ptr<SequencerState> state_;
  std::vector<Spec> input_specs_;

  // Owned by the running step; otherwise guarded by the lock.
  std::deque<Input> inputs_;
  std::vector<Mark> restored_opened_;
  std::deque<Mark> restored_openings_;  // of what will be opened next
  Ref<Opening> last_opening_ = make_ref<Opening>(Mark{});
  // Of a sequencer that chooses its order: what it chose, and what a restored
  // state says it is to choose.
  bool unordered_ = false;
  Ref<Delivery> last_delivery_;
  std::deque<Turn> script_;
  Ref<const Snapshot> snapshot_;
  std::int64_t since_snapshot_ = 0;
  Charge held_;  // for what the state keeps alive
  const HoldsRows* holds_rows_ = nullptr;
  const LooksAhead* looks_ahead_ = nullptr;
  std::int64_t noted_kept_ = 0;  // by the run, while it waits for input
  void note_kept(std::int64_t bytes);
  bool critical_ = false;  // when its step was claimed
  Mark first_;

  // Guarded by the lock.
  std::vector<std::unique_ptr<Pipe>> pipes_;  // by input number
  std::vector<std::pair<int, std::unique_ptr<Pipe>>> opened_;  // by this step
  std::vector<int> closed_;                                    // by this step
  bool running_ = false;
  bool ended_ = false;
  Step need_ = Step::more();
  std::int64_t room_ = 0;
  std::int64_t user_room_ = 1;  // rows that user code makes in one claim
  double bytes_per_row_ = 0;    // that the last claim made
  std::int64_t wait_since_ = 0;
  std::int64_t wait_input_ns_ = 0;
  // Of the running step.
  std::int64_t claims_ = 0;
  std::int64_t sampled_at_ = -kTimedApartNs;
  bool long_claims_ = false;
  double cpu_share_ = 1;  // guarded by the lock
};

/// Turns a graph into pipes. `bounded`: a prefetch(n) lies downstream;
/// `outer`: what was given behind the graph.
StatusOr<std::unique_ptr<Pipe>> plan(Run& run, const NodeRef& node,
                                     const std::string& prefix,
                                     const Epoch& epoch, PathRef path,
                                     const Mark& mark, bool bounded,
                                     const InheritedOptions& outer = nullptr);

}  // namespace penstock
