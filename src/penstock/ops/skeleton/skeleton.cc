// skeleton: every element `times` times. Copy this folder to start an operator.
//
// A file opens like this: what comes out, which kind of operator it is, what
// its state is, what its limits are. This one is a sequencer that passes rows
// on without touching their payload, and over an indexed chain a mapping of
// indices. State: how many copies of the current element have gone out; the
// element itself is read again. Copies share their origin, and so their random
// numbers.
#include "penstock/ops/skeleton/skeleton.h"

namespace penstock::ops {
// Everything but make_skeleton() lives in an unnamed namespace.
namespace {

// SequencerOp: an operator that is one sequencer. Others: TransformOp (each
// element by itself; see ops/filter), IndexedSourceOp (ops/range), or Operator
// with several parts in lower() (ops/batch). IndexedOp adds random access.
class Skeleton final : public SequencerOp, public IndexedOp {
 public:
  explicit Skeleton(std::int64_t times) : times_(times) {}

  // --- what it is: known when the graph is built ---------------------------
  std::string_view op() const override { return "skeleton"; }
  std::string describe() const override {
    return absl::StrCat("skeleton(", times_, ")");
  }
  // As narrow as it is true; InvalidArgument if the inputs do not fit. The name
  // of the operator is put in front of the message.
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    return inputs[0];
  }
  // True, or unknown. at(i) and global shuffles rely on it.
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    if (times_ == 0) return 0;
    if (!in[0].finite()) return in[0];
    std::int64_t n = 0;
    return __builtin_mul_overflow(in[0].value(), times_, &n)
               ? Cardinality::unknown()
               : Cardinality(n);
  }
  // All that changes the elements: a state of another graph is refused.
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(times_));
  }

  // --- running it -----------------------------------------------------------
  SequencerTraits traits() const override {
    SequencerTraits traits;
    // It does not look at values, so rows may come that nobody has computed
    // yet (Rows::is_lazy); an operator that calls rows.block() says
    // needs_payload = true.
    traits.num_inputs = 1;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext&) const override {
    return std::make_unique<Copies>();
  }
  // Takes some rows, emits at most one item, says how to go on. One worker at
  // a time calls it: no lock. It never waits: it asks, and is called again.
  // Errors are rows like others: they are copied too, and no function of the
  // user would be called for one.
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<Copies>();
    if (times_ == 0) return Step::end();
    if (in.available(0) == 0) {
      return in.ended(0) ? Step::end() : Step::need(0);
    }
    // Looked at, not taken: until its last copy is out, the input's place
    // (which every snapshot holds) stays in front of the element.
    const Rows rows = in.peek(0, out.room());
    std::vector<std::int64_t> list;
    std::int64_t done = 0;
    while (done < rows.size() &&
           static_cast<std::int64_t>(list.size()) < out.room()) {
      list.push_back(rows.at(done));
      if (++state.copies == times_) {
        state.copies = 0;
        ++done;
      }
    }
    out.emit(Rows::listed(rows.block_ref(), std::move(list)));
    if (done > 0) (void)in.take(0, done);
    return Step::more();
  }
  // Everything step() depends on but the input's place, which is saved by
  // itself. Positions, not payload: what an operator holds is read again
  // (SnapshotWriter::set_input; see ops/shuffle).
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    writer.own.i64(s.as<Copies>().copies);
  }
  // From bytes that anyone may have written: check what would do harm.
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& copies = s.as<Copies>().copies;
    copies = own.i64();
    if (copies < 0 || copies >= times_) own.fail();
    return absl::OkStatus();
  }

  // --- random access --------------------------------------------------------
  // Leave these out if the output index does not tell the input index.
  const IndexedOp* indexed() const override { return this; }
  bool is_map() const override { return true; }
  void map_run(const IndexRun& run, std::int64_t, const CallContext&,
               std::vector<IndexRun>& out) const override {
    std::vector<std::int64_t> list;
    list.reserve(static_cast<std::size_t>(run.count));
    for (std::int64_t i = 0; i < run.count; ++i) {
      list.push_back(run.at(i) / times_);
    }
    IndexRun mapped;
    mapped.path = run.path;
    mapped.count = run.count;
    mapped.list =
        std::make_shared<const std::vector<std::int64_t>>(std::move(list));
    out.push_back(std::move(mapped));
  }

 private:
  struct Copies : SequencerState {
    std::int64_t copies = 0;
  };
  std::int64_t times_;
};

}  // namespace

// Arguments are checked here: operator, parameter, rule, value.
StatusOr<std::shared_ptr<const Operator>> make_skeleton(std::int64_t times) {
  if (times < 0) {
    return invalid_argument("skeleton: times must be >= 0, got ", times);
  }
  return std::make_shared<Skeleton>(times);
}

}  // namespace penstock::ops
